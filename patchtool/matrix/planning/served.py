"""The ``served`` part of ``ci/matrix.toml``: models that an NPU host serves, and what must be measured of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from patchtool.matrix.cell import Cell, Colour, Mode, Test, Tier
from patchtool.matrix.planning.row_keys import read_modes, read_subsets, read_timeout
from patchtool.matrix.planning.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from patchtool.matrix.planning.cells import SeriesStates
    from patchtool.matrix.planning.row_keys import Requires, Subsets

VISIBLE = "ASCEND_RT_VISIBLE_DEVICES"
"""Which NPUs a process sees, by number; what a scheduler set here before is all that there is."""
MODE_FLAGS: Mapping[Mode, tuple[str, ...]] = {Mode.EAGER: ("--disable-cuda-graph",), Mode.GRAPH: ()}
"""What makes a server of any release run in a mode; graphs are its default."""


@dataclass(frozen=True)
class Accuracy:
    """A dataset that evalscope runs against a served model.

    Args:
        dataset: evalscope's name of it.
        threshold: The lowest score that passes, 0 to 1.
        drop: How far below the unmodified release it may be.
        limit: Samples per subset; 0 for all.
        thinking: Whether the model thinks aloud.
        max_tokens: Of an answer.
    """

    dataset: str
    threshold: float
    drop: float = 0.0
    limit: int = 0
    thinking: bool = False
    max_tokens: int = 32768


@dataclass(frozen=True)
class Speed:
    """A load that ``sglang.bench_serving`` puts on a served model.

    Args:
        prompts: How many requests.
        input_tokens: Of each.
        output_tokens: Of each.
        concurrency: Requests under way at a time.
        ttft: The highest time to first token that passes, as a ratio to the unmodified release.
        throughput: The lowest output throughput that passes, as a ratio.
    """

    prompts: int
    input_tokens: int
    output_tokens: int
    concurrency: int
    ttft: float
    throughput: float


@dataclass(frozen=True)
class ModelRow:
    """A model that is served, pristine and patched.

    Args:
        name: Of the row.
        model: Path or name that the server loads.
        flags: Of the server.
        environment: Variables of the server.
        devices: NPUs it needs.
        modes: What it is served in, each measured by itself.
        patches: Subsets of the series that are measured; none for the whole series.
        timeout: Seconds a measurement may take; 0 for the tier's.
        accuracy: What is measured of its answers.
        speed: What is measured of its pace.
        source: Where the thresholds come from.
    """

    name: str
    model: str
    flags: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    devices: int = 1
    modes: tuple[Mode, ...] = (Mode.GRAPH,)
    patches: Subsets = ()
    timeout: float = 0.0
    accuracy: tuple[Accuracy, ...] = ()
    speed: tuple[Speed, ...] = ()
    source: str = ""

    @property
    def measurements(self) -> dict[str, Accuracy | Speed]:
        """What is measured, by the name that cells have for it."""
        speeds = {f"speed-{each.input_tokens}-{each.output_tokens}-{each.concurrency}": each for each in self.speed}
        return {**{each.dataset: each for each in self.accuracy}, **speeds}


@dataclass(frozen=True)
class Commands:
    """The programs of a served run; ``{python}``, ``{host}`` and ``{port}`` are filled in.

    Args:
        server: Starts the tree's server; the model and the row's flags follow.
        evaluate: evalscope.
        speed: The load generator.
    """

    server: tuple[str, ...] = ("{python}", "-m", "sglang.launch_server", "--host", "{host}", "--port", "{port}")
    evaluate: tuple[str, ...] = ("{python}", "-m", "evalscope.cli.cli")
    speed: tuple[str, ...] = ("{python}", "-m", "sglang.bench_serving")


@dataclass(frozen=True)
class ServedConfig:
    """All of it.

    Args:
        models: Rows.
        commands: The programs.
        start_timeout: Seconds a server may take to be healthy.
    """

    models: tuple[ModelRow, ...] = ()
    commands: Commands = field(default_factory=Commands)
    start_timeout: float = 1800.0


def parse_served(data: bytes, where: str) -> ServedConfig:
    """Read the part where the rest of the file was read before, as on a node.

    Args:
        data: The whole file's bytes.
        where: Its name, for messages.

    Raises:
        InputError: Names file and line, and the rule.
    """
    return read_served(Table.parse(data, where), None)


def read_served(table: Table, requires: Requires | None) -> ServedConfig:
    """Read the part.

    Args:
        table: The whole file.
        requires: What each patch of the series requires; None where that was looked at before.

    Raises:
        InputError: Names file and line, and the rule.
    """
    return next((_served(each, requires) for each in table.tables("served")), ServedConfig())


def _served(table: Table, requires: Requires | None) -> ServedConfig:
    shared = tuple(table.get("flags", list, []))
    variables = _variables(table, "environment")
    served = ServedConfig(
        tuple(_model(each, shared, variables, requires) for each in table.tables("model")),
        next((_commands(each) for each in table.tables("commands")), Commands()),
        read_timeout(table, "start-timeout") or ServedConfig.start_timeout,
    )
    table.only()
    return served


def _commands(table: Table) -> Commands:
    usual = Commands()
    found = Commands(
        tuple(table.get("server", list, list(usual.server))),
        tuple(table.get("evaluate", list, list(usual.evaluate))),
        tuple(table.get("speed", list, list(usual.speed))),
    )
    table.only()
    return found


def _model(table: Table, shared: tuple[str, ...], variables: Mapping[str, str], requires: Requires | None) -> ModelRow:
    row = ModelRow(
        name=table.get("name", str),
        model=table.get("model", str),
        flags=(*shared, *table.get("flags", list, [])),
        environment={**variables, **_variables(table, "environment")},
        devices=table.get("devices", int, 1),
        modes=read_modes(table, ModelRow.modes),
        patches=read_subsets(table, requires),
        timeout=read_timeout(table),
        accuracy=tuple(_accuracy(each) for each in table.tables("accuracy")),
        speed=tuple(_speed(each) for each in table.tables("speed")),
        source=table.get("source", str, ""),
    )
    table.only()
    if not (row.accuracy or row.speed):
        raise table.wrong(
            None, f"nothing is measured of {row.name}", hint="add [[served.model.accuracy]] or [[served.model.speed]]"
        )
    if row.devices < 1:
        raise table.wrong("devices", f"devices must be a number of NPUs, at least 1, not {row.devices}")
    if VISIBLE in row.environment:
        raise table.wrong("environment", f"{VISIBLE} is chosen for each run", hint="say how many: devices = 2")
    if fixed := [flag for flag in MODE_FLAGS[Mode.EAGER] if flag in row.flags]:
        raise table.wrong("flags", f"{fixed[0]} is a mode's", hint='modes = ["eager"] in the row says it')
    return row


def _accuracy(table: Table) -> Accuracy:
    found = Accuracy(
        dataset=table.get("dataset", str),
        threshold=table.get("threshold", float),
        drop=table.get("drop", float, 0.0),
        limit=table.get("limit", int, 0),
        thinking=table.get("thinking", bool, False),
        max_tokens=table.get("max-tokens", int, 32768),
    )
    table.only()
    if not 0 <= found.threshold <= 1:
        raise table.wrong("threshold", "threshold is a score from 0 to 1")
    return found


def _speed(table: Table) -> Speed:
    found = Speed(
        prompts=table.get("prompts", int),
        input_tokens=table.get("input-tokens", int),
        output_tokens=table.get("output-tokens", int),
        concurrency=table.get("concurrency", int),
        ttft=table.get("ttft", float),
        throughput=table.get("throughput", float),
    )
    table.only()
    return found


def _variables(table: Table, key: str) -> dict[str, str]:
    found = table.raw(key) or {}
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise table.wrong(key, f"{key} must be a table of texts")
    return dict(found)


def served_cells(series: SeriesStates, matrix: ServedConfig, path: Path) -> tuple[Cell, ...]:
    """One cell per subset, mode and measurement of every model row.

    Args:
        series: As it stands on the release.
        matrix: What the matrix file says of served models.
        path: The matrix file; it travels with the cells as a test's file does.
    """
    return tuple(
        Cell(series.release, subset, Tier.NPU, _test(row, name, mode, path), Colour.GREEN, timeout=row.timeout)
        for row in matrix.models
        for subset in _subsets(row, series)
        for mode in row.modes
        for name in row.measurements
    )


def _subsets(row: ModelRow, series: SeriesStates) -> tuple[tuple[str, ...], ...]:
    made = [series.standing(subset) for subset in row.patches if not series.unmade(subset)]
    return tuple(dict.fromkeys(made)) if row.patches else (series.applied,)


def _test(row: ModelRow, name: str, mode: Mode, path: Path) -> Test:
    name = f"{row.name}::{name}[{mode.value}]"
    return Test(name, str(path), name, mode=mode, tiers=(Tier.NPU,), devices=row.devices)


def measurement_of(cell: Cell) -> str:
    """Name the measurement of its row that a cell is."""
    return cell.test.function.partition("::")[2].rpartition("[")[0]

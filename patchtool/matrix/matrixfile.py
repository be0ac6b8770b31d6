"""``ci/matrix.toml``: which cells there are, which are known to be red, and the models that an NPU host serves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from patchtool.domain.release import Release
from patchtool.matrix.cell import Tier
from patchtool.matrix.plan import KnownRed
from patchtool.matrix.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

PIN = "pin"
"""Stands for the pinned release."""
PROOFS, ABLATION = "proofs", "ablation"
_MODES = ("eager", "graph")


@dataclass(frozen=True)
class Group:
    """Cells: every release with every patch subset and every test of a tier and of some modes.

    Args:
        releases: Without ``v``, or ``pin``.
        patches: ``proofs``, ``ablation``, or subsets of the series.
        tier: What they run on.
        modes: Only tests of these modes and those of none; empty for all.
    """

    releases: tuple[str, ...]
    patches: str | tuple[tuple[str, ...], ...]
    tier: Tier
    modes: tuple[str, ...] = ()


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
        accuracy: What is measured of its answers.
        speed: What is measured of its pace.
        source: Where the thresholds come from.
    """

    name: str
    model: str
    flags: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    devices: int = 1
    accuracy: tuple[Accuracy, ...] = ()
    speed: tuple[Speed, ...] = ()
    source: str = ""


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
class MatrixFile:
    """All of it.

    Args:
        groups: Cells.
        models: Rows of the npu tier.
        known: Cells that upstream itself makes red.
        timeouts: Seconds a cell may take.
        import_timeout: Seconds a tree's imports may take.
        start_timeout: Seconds a server may take to be healthy.
        commands: The programs of served runs.
    """

    groups: tuple[Group, ...]
    models: tuple[ModelRow, ...]
    known: tuple[KnownRed, ...]
    timeouts: Mapping[Tier, float]
    import_timeout: float = 180.0
    start_timeout: float = 1800.0
    commands: Commands = field(default_factory=Commands)


def parse_matrix(data: bytes, where: str) -> MatrixFile:
    """Read the file.

    Args:
        data: Its bytes.
        where: Its name, for messages.

    Raises:
        InputError: Names file and line, and the rule.
    """
    top = Table.parse(data, where)
    shared = tuple(str(flag) for flag in top.get("server-flags", list, []))
    variables = _variables(top, "server-environment")
    groups = tuple(_group(table) for table in top.tables("cells"))
    models = tuple(_model(table, shared, variables) for table in top.tables("model"))
    known = tuple(_known(table) for table in top.tables("known-red"))
    commands = Commands()
    for table in top.tables("commands"):
        commands = Commands(
            server=tuple(table.get("server", list, list(commands.server))),
            evaluate=tuple(table.get("evaluate", list, list(commands.evaluate))),
            speed=tuple(table.get("speed", list, list(commands.speed))),
        )
        table.only()
    timeouts, importing, starting = {}, 180.0, 1800.0
    for table in top.tables("timeouts"):
        timeouts = {tier: table.get(tier.value, float) for tier in Tier if table.raw(tier.value) is not None}
        importing, starting = table.get("import", float, importing), table.get("start", float, starting)
        table.only()
    top.only()
    return MatrixFile(groups, models, known, timeouts, importing, starting, commands)


def _group(table: Table) -> Group:
    found = table.raw("patches")
    explicit = isinstance(found, list) and all(isinstance(each, list) for each in found)
    if found not in (PROOFS, ABLATION) and not explicit:
        rule = f'patches must be "{PROOFS}", "{ABLATION}" or a list of lists of patches'
        raise table.wrong("patches", rule)
    modes = table.get("modes", list, [])
    if set(modes) - set(_MODES):
        raise table.wrong("modes", f"modes are {' and '.join(_MODES)}")
    tier = table.get("tier", str)
    if tier not in [each.value for each in Tier]:
        raise table.wrong("tier", f"{tier!r} is not a tier", hint=f"tiers: {', '.join(each.value for each in Tier)}")
    releases = tuple(each if each == PIN else Release.parse(each).version for each in table.get("releases", list))
    table.only()
    patches = found if isinstance(found, str) else tuple(tuple(map(str, each)) for each in found)
    return Group(releases, patches, Tier(tier), tuple(modes))


def _known(table: Table) -> KnownRed:
    release = Release.parse(table.get("release", str)).version
    known = KnownRed(release, table.get("test", str), table.get("reason", str))
    table.only()
    return known


def _model(table: Table, shared: tuple[str, ...], variables: Mapping[str, str]) -> ModelRow:
    row = ModelRow(
        name=table.get("name", str),
        model=table.get("model", str),
        flags=(*shared, *table.get("flags", list, [])),
        environment={**variables, **_variables(table, "environment")},
        devices=table.get("devices", int, 1),
        accuracy=tuple(_accuracy(each) for each in table.tables("accuracy")),
        speed=tuple(_speed(each) for each in table.tables("speed")),
        source=table.get("source", str, ""),
    )
    table.only()
    if not (row.accuracy or row.speed):
        raise table.wrong(None, f"nothing is measured of {row.name}", hint="add [[model.accuracy]] or [[model.speed]]")
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

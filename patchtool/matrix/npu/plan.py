"""What a run of served models would do: every command, variable and minute, and what is missing before it can start."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from patchtool.matrix.npu.detect import find_npu
from patchtool.matrix.npu.environment import npu_environment
from patchtool.matrix.npu.needs import Need, needs
from patchtool.matrix.npu.served_group import served_groups
from patchtool.matrix.options import VISIBLE_NPUS
from patchtool.matrix.planning.served_models import Accuracy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchtool.domain import documents
    from patchtool.domain.release import Release
    from patchtool.matrix.cell import Cell
    from patchtool.matrix.npu.served_group import ServedGroup
    from patchtool.matrix.options import RunOptions

_PORT, _FOLDER, _TREE = "PORT", "FOLDER", "TREE"
"""Stand in commands for what is known when they are started."""


class PlannedRuns(NamedTuple):
    """A benchmark's runs on one server.

    Args:
        name: The benchmark.
        dataset: What it is measured on.
        command: Of one run; PORT and FOLDER are known when it starts.
        runs: How often.
        minutes: Estimate for all runs.
    """

    name: str
    dataset: str
    command: tuple[str, ...]
    runs: int
    minutes: float


class PlannedServer(NamedTuple):
    """A server of one tree, and what it is measured with.

    Args:
        release: The tree's release.
        patches: The tree's subset.
        mode: ``eager`` or ``graph``.
        row: The name of the model's row in the matrix file.
        model: What is loaded.
        devices: Number of NPUs.
        command: The server's.
        environment: All of its variables; TREE is the folder that has the tree's ``sglang/``.
        minutes: Estimate until it is healthy.
        benchmarks: What it is measured with.
    """

    release: Release
    patches: tuple[str, ...]
    mode: str
    row: str
    model: str
    devices: int
    command: tuple[str, ...]
    environment: dict[str, str]
    minutes: float
    benchmarks: tuple[PlannedRuns, ...]


class ServedPlan(NamedTuple):
    """The servers of a run, in order, and what the host must have."""

    servers: tuple[PlannedServer, ...] = ()
    needs: tuple[Need, ...] = ()

    @property
    def minutes(self) -> float:
        """Estimate for everything."""
        return sum(each.minutes + sum(runs.minutes for runs in each.benchmarks) for each in self.servers)


def plan_served(cells: Sequence[Cell], options: RunOptions, *, devices: Path = Path("/dev")) -> ServedPlan:
    """Plan cells of served models; only the detection of NPUs is run.

    Args:
        cells: Cells of the npu tier; others than of served models are left out.
        options: How they are to be run.
        devices: Folder of device files.
    """
    served = [cell for cell in cells if cell.test.path.endswith(".toml")]
    if not served:
        return ServedPlan()
    npu = find_npu(options.python, devices=devices, probe_always=True)
    servers: list[PlannedServer] = []
    wanted: dict[Need, None] = {}
    for release in dict.fromkeys(cell.release for cell in served):
        groups = served_groups([cell for cell in served if cell.release == release], options)
        servers += [server for group in groups for server in _servers(group)]
        wanted |= dict.fromkeys(needs(release, groups, npu))
    return ServedPlan(tuple(servers), tuple(wanted))


def _servers(group: ServedGroup) -> Iterator[PlannedServer]:
    model, count = group.model, group.model.runs
    for patches in group.trees:
        runs = [
            PlannedRuns(
                name,
                benchmark.dataset if isinstance(benchmark, Accuracy) else f"{benchmark.prompts} random prompts",
                tuple(group.benchmark_command(name, _PORT, _FOLDER, 1)),
                count,
                count * benchmark.minutes,
            )
            for name, benchmark in group.benchmarks.items()
        ]
        yield PlannedServer(
            group.cells[0].release,
            patches,
            group.mode.value,
            model.name,
            group.model_path,
            model.devices,
            tuple(group.server_command(_PORT)),
            npu_environment(
                Path(_FOLDER), Path(_TREE), {**model.environment, VISIBLE_NPUS: f"{model.devices} that are free"}
            ),
            group.config.start_minutes,
            tuple(runs),
        )


def plan_document(cells: Sequence[Cell], served: ServedPlan) -> documents.TestPlan:
    """Return the document of a plan.

    Args:
        cells: All cells that would be run.
        served: What of them needs servers.
    """
    return {
        "cells": dict(Counter(cell.tier.value for cell in cells)),
        "servers": [
            {
                "release": server.release.tag,
                "patches": list(server.patches),
                "mode": "eager" if server.mode == "eager" else "graph",
                "row": server.row,
                "model": server.model,
                "devices": server.devices,
                "command": list(server.command),
                "environment": server.environment,
                "minutes": server.minutes,
                "benchmarks": [
                    {
                        "name": runs.name,
                        "dataset": runs.dataset,
                        "command": list(runs.command),
                        "runs": runs.runs,
                        "minutes": runs.minutes,
                    }
                    for runs in server.benchmarks
                ],
            }
            for server in served.servers
        ],
        "needs": [
            {"what": need.what, "wanted": need.wanted, "found": need.found, "missing": need.missing or None}
            for need in served.needs
        ],
        "minutes": served.minutes,
    }

"""Settings that all executors share, and how they group cells into batches."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from patchtool.matrix.cell import Tier
from patchtool.matrix.options import RunOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchtool.domain.release import Release
    from patchtool.matrix.cell import Cell
    from patchtool.matrix.running.fingerprint import Fingerprint

MIN_BATCH = 6
"""A worker pays a tree's imports once; for fewer cells than this, a second worker costs more than it saves."""


@dataclass(frozen=True)
class ExecutorSettings:
    """How an executor runs.

    Args:
        options: How a worker runs its cells.
        workers: Number of workers at a time; 0 for the number of cores.
        address: Of the cluster; ``local`` starts one, empty uses the running one.
        node_python: Interpreter of the cells on a cluster's nodes; empty for the node's own.
        node_cache: Folder where a node keeps unpacked trees; empty for the user's cache there.
        expected: What a node's interpreter must be; None for the same as the one here.
        retries: How often a cell is started again after its worker was lost.
        start_timeout: Seconds in which a busy cluster must start something, before the rest is given up.
    """

    options: RunOptions = field(default_factory=RunOptions)
    workers: int = 0
    address: str = ""
    node_python: str = ""
    node_cache: str = ""
    expected: Fingerprint | None = None
    retries: int = 2
    start_timeout: float = 120.0


@dataclass(frozen=True)
class Batch:
    """Cells of one release, tier and number of NPUs, which one worker runs one after another."""

    release: Release
    tier: Tier
    cells: tuple[Cell, ...]

    @property
    def resources(self) -> dict[str, float]:
        """What it requires of a node."""
        return resources(self.tier, self.cells[0].test.devices)


def resources(tier: Tier, devices: int) -> dict[str, float]:
    """Return what a batch requires of a cluster's node; Ray counts the ``NPU``s of Ascend hosts by itself."""
    return {"NPU": devices} if tier is Tier.NPU else {"CPU": 1}


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def make_batches(cells: Sequence[Cell], workers: int) -> tuple[Batch, ...]:
    """Group cells into one batch per release, tier and number of NPUs, split further while workers would be idle.

    No part is smaller than ``MIN_BATCH``. On the npu tier every served model is a batch of its own.

    Args:
        cells: In the order they are to be run.
        workers: Number of workers at a time.
    """
    groups: dict[tuple[Release, Tier, int, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        # the cells of a served model share its servers, and another model may be served on another node
        row = f"{cell.test.path}/{cell.test.function.partition('::')[0]}" if cell.tier is Tier.NPU else ""
        groups[cell.release, cell.tier, cell.test.devices, row].append(cell)
    workers_per_group = max(1, workers // max(1, len(groups)))
    batches: list[Batch] = []
    for (release, tier, *_), group in groups.items():
        parts = 1 if tier is Tier.NPU else max(1, min(workers_per_group, len(group) // MIN_BATCH))
        size = -(-len(group) // parts)
        batches += [Batch(release, tier, tuple(group[at : at + size])) for at in range(0, len(group), size)]
    return tuple(batches)

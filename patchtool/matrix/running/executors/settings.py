"""What executors are told, and how they share cells out."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from patchtool.domain.errors import InputError
from patchtool.matrix.cell import Tier
from patchtool.matrix.options import RunOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from patchtool.domain.release import Release
    from patchtool.matrix.cell import Cell
    from patchtool.matrix.release_trees import ReleaseTrees
    from patchtool.matrix.running.fingerprint import Fingerprint

SMALLEST = 6
"""A worker pays a tree's imports once; below this many cells a second worker costs more than it saves."""


def needs(tier: Tier, devices: int) -> dict[str, float]:
    """What a batch asks of a cluster's node; Ray counts the ``NPU``s of Ascend hosts by itself."""
    return {"NPU": devices} if tier is Tier.NPU else {"CPU": 1}


@dataclass(frozen=True)
class ExecutorSettings:
    """How an executor runs.

    Args:
        options: How a worker runs its cells.
        workers: How many at a time; 0 for as many as there are cores.
        address: Of the cluster; ``local`` starts one, empty takes the running one.
        node_python: Interpreter of the cells on a cluster's nodes; empty for the node's own.
        node_cache: Where a node keeps unpacked trees; empty for the user's cache there.
        expected: What a node's interpreter must look like; None for like the one here.
        retries: How often a cell is started again after its worker was lost.
        start_timeout: Seconds without any sign of life before what has not started is given up.
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
    """Cells that one worker runs one after another, on one release and tier, all on as many NPUs."""

    release: Release
    tier: Tier
    cells: tuple[Cell, ...]

    @property
    def needs(self) -> dict[str, float]:
        """What it asks of a node."""
        return needs(self.tier, self.cells[0].test.devices)


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def subjects_of(cells: Sequence[Cell], subjects: Sequence[ReleaseTrees]) -> Mapping[Release, ReleaseTrees]:
    """The subjects by release.

    Raises:
        InputError: A cell's release or subset is not among them.
    """
    found = {subject.release: subject for subject in subjects}
    for cell in cells:
        subject = found.get(cell.release)
        if subject is None or (cell.patches and cell.patches not in subject.overlays):
            raise InputError(f"no tree was given for {cell.id}")
    return found


def share_out(cells: Sequence[Cell], workers: int) -> tuple[Batch, ...]:
    """Make batches: one per release, tier and number of NPUs, cut further while workers would be idle.

    The parts stay large enough to be worth a worker.

    Args:
        cells: In the order they are wanted.
        workers: How many can run at a time.
    """
    groups: dict[tuple[Release, Tier, int], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell.release, cell.tier, cell.test.devices].append(cell)
    each = max(1, workers // max(1, len(groups)))
    batches: list[Batch] = []
    for (release, tier, _), group in groups.items():
        parts = max(1, min(each, len(group) // SMALLEST))
        size = -(-len(group) // parts)
        batches += [Batch(release, tier, tuple(group[at : at + size])) for at in range(0, len(group), size)]
    return tuple(batches)

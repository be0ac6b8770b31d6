"""Running cells of every tier."""

from __future__ import annotations

import threading
from concurrent.futures import Future, wait
from functools import partial
from typing import TYPE_CHECKING

from patchtool.domain.errors import InputError
from patchtool.matrix.cell import Cell, CellResult, Outcome, Tier
from patchtool.matrix.npu import run_npu
from patchtool.matrix.options import RunOptions
from patchtool.matrix.running.local import run_emulated
from patchtool.matrix.static import run_static
from patchtool.matrix.static.patched_tree import PatchedTree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from patchtool.matrix.release_trees import ReleaseTrees


def run_cells(
    cells: Sequence[Cell], subjects: Sequence[ReleaseTrees], options: RunOptions | None = None
) -> Iterator[CellResult]:
    """Run cells, cheap tiers first, and give each result as it comes.

    Args:
        cells: What to run.
        subjects: The trees of every release among them.
        options: How.

    Raises:
        InputError: A cell's release or subset is not among the subjects.
    """
    chosen = options or RunOptions()
    trees = {subject.release: subject for subject in subjects}
    for cell in cells:
        subject = trees.get(cell.release)
        if subject is None or (cell.patches and cell.patches not in subject.overlays):
            raise InputError(f"no tree was given for {cell.id}")
    for cell in _of(Tier.STATIC, cells):
        subject = trees[cell.release]
        tree = PatchedTree(subject.tree, subject.overlays.get(cell.patches, {}))
        yield _within(cell.timeout or chosen.timeout, partial(run_static, cell, tree), cell)
    for release in dict.fromkeys(cell.release for cell in cells):
        group = [cell for cell in _of(Tier.EMULATED, cells) if cell.release == release]
        if group:
            yield from run_emulated(group, trees[release], chosen)
        group = [cell for cell in _of(Tier.NPU, cells) if cell.release == release]
        if group:
            yield from run_npu(group, trees[release], chosen)


def _within(seconds: float, run: Callable[[], CellResult], cell: Cell) -> CellResult:
    """Wait for a cell that runs in this process; a thread that is given up ends with the process at the latest."""
    said: Future[CellResult] = Future()

    def work() -> None:
        try:
            said.set_result(run())
        except BaseException as error:  # noqa: BLE001  raised where the result is read
            said.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    done, _ = wait([said], seconds)
    return said.result() if done else CellResult(cell, Outcome.TIMEOUT, seconds, f"no answer within {seconds:g} s")


def _of(tier: Tier, cells: Sequence[Cell]) -> list[Cell]:
    return [cell for cell in cells if cell.tier is tier]

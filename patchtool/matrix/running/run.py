"""Running cells of every tier on this machine."""

from __future__ import annotations

import threading
from concurrent.futures import Future, wait
from functools import partial
from typing import TYPE_CHECKING

from patchtool.matrix.cell import Cell, CellResult, Outcome, Tier
from patchtool.matrix.npu import run_npu
from patchtool.matrix.options import RunOptions
from patchtool.matrix.release_trees import trees_by_release
from patchtool.matrix.running.local import run_emulated
from patchtool.matrix.static import run_static
from patchtool.matrix.static.patched_tree import PatchedTree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from patchtool.matrix.release_trees import ReleaseTrees


def run_cells(
    cells: Sequence[Cell], trees: Sequence[ReleaseTrees], options: RunOptions | None = None
) -> Iterator[CellResult]:
    """Run cells, cheap tiers first, and yield each result as soon as it is known.

    Args:
        cells: What to run.
        trees: The trees of every release among them.
        options: How to run them.

    Raises:
        InputError: There is no tree for a cell's release and subset.
    """
    options = options or RunOptions()
    by_release = trees_by_release(cells, trees)
    for cell in cells:
        if cell.tier is Tier.STATIC:
            release = by_release[cell.release]
            tree = PatchedTree(release.tree, release.overlays.get(cell.patches, {}), release.package)
            yield _with_timeout(cell.timeout or options.timeout, partial(run_static, cell, tree), cell)
    for number in dict.fromkeys(cell.release for cell in cells):
        for tier, run in ((Tier.EMULATED, run_emulated), (Tier.NPU, run_npu)):
            group = [cell for cell in cells if (cell.tier, cell.release) == (tier, number)]
            if group:
                yield from run(group, by_release[number], options)


def _with_timeout(seconds: float, run: Callable[[], CellResult], cell: Cell) -> CellResult:
    """Run a cell in a thread of this process; one that times out is abandoned and ends with the process."""
    future: Future[CellResult] = Future()

    def work() -> None:
        try:
            future.set_result(run())
        except BaseException as error:  # noqa: BLE001  raised where the result is read
            future.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    done, _ = wait([future], seconds)
    return future.result() if done else CellResult(cell, Outcome.TIMEOUT, seconds, f"no answer within {seconds:g} s")

"""Running a batch where it is: the part that a machine of one's own and a cluster's node have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchtool.matrix.cell import Tier
from patchtool.matrix.local import run_cells

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from patchtool.matrix.cell import CellResult
    from patchtool.matrix.executors.settings import Batch
    from patchtool.matrix.local import Options, Subject


def run_batch(
    batch: Batch, subject: Subject, options: Options, stopped: Callable[[], bool] | None = None
) -> Iterator[CellResult]:
    """Run the cells of a batch one after another.

    Args:
        batch: The cells.
        subject: Their trees, on this machine.
        options: How.
        stopped: Asked while waiting; once it is true what runs is ended.
    """
    if batch.tier is Tier.NPU:
        from patchtool.matrix.npu import run_npu_cells

        yield from run_npu_cells(batch.cells, subject, options, stopped)
        return
    yield from run_cells(batch.cells, [subject], options, stopped)

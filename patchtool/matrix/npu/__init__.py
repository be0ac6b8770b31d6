"""The tier of real NPUs. Nothing here has run on one; the tests run the machinery around it, faults included."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.matrix.cell import CellResult, Outcome
from patchtool.matrix.npu.detect import find_npu

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from patchtool.matrix.cell import Cell
    from patchtool.matrix.release_trees import ReleaseTrees
    from patchtool.matrix.running.local import Options

__all__ = ["find_npu", "run_npu"]

_UNBUILT = "behavioural tests do not run on a real NPU yet: the rig maps the NPU to the CPU"


def run_npu(
    cells: Sequence[Cell],
    subject: ReleaseTrees,
    options: Options,
    *,
    stopped: Callable[[], bool] = bool,
    devices: Path = Path("/dev"),
) -> Iterator[CellResult]:
    """Run cells on the NPUs of this machine; without any, every cell is skipped and says why.

    Args:
        cells: Of one release.
        subject: Its trees.
        options: How; the time of a measurement is the matrix file's.
        stopped: Asked while waiting.
        devices: Where device files are.
    """
    found = find_npu(options.python, devices=devices)
    served = []
    for cell in cells:
        if not found.usable:
            yield CellResult(cell, Outcome.SKIPPED, 0.0, found.reason)
        elif not cell.test.path.endswith(".toml"):
            yield CellResult(cell, Outcome.SKIPPED, 0.0, _UNBUILT)
        elif cell.test.devices > len(found.devices):
            words = f"needs {cell.test.devices} NPUs, and {len(found.devices)} can be seen here"
            yield CellResult(cell, Outcome.SKIPPED, 0.0, f"{words}: {found.reason}")
        else:
            served.append(cell)
    if served:
        from patchtool.matrix.npu.rows import run_rows

        # asked again for every row: what is free changes in the hours that a row takes
        yield from run_rows(served, subject, options, stopped, lambda: find_npu(options.python, devices=devices))

"""The tier of real NPUs: a model is served from the pristine and from the patched tree, and both are measured.

In: cells of model rows and the trees of their release, on a host with free NPUs.
Out: results with scores, times to first token and throughputs, compared with thresholds and with the pristine release.
Invariants: without NPUs a cell is skipped, never passed; every server and client ends with its cell, also on an
interrupt. None of it was ever run on a real NPU: the tests run it against small servers and clients that fail.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.matrix.cell import CellResult, Outcome
from patchtool.matrix.npu.detect import find_npu

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from patchtool.matrix.cell import Cell
    from patchtool.matrix.options import RunOptions
    from patchtool.matrix.release_trees import ReleaseTrees

__all__ = ["find_npu", "run_npu"]

_UNBUILT = "behavioural tests do not run on a real NPU yet: the emulation maps the NPU to the CPU"


def run_npu(
    cells: Sequence[Cell],
    subject: ReleaseTrees,
    options: RunOptions,
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
        from patchtool.matrix.npu.served_run import run_rows

        # asked again for every row: what is free changes in the hours that a row takes
        yield from run_rows(served, subject, options, stopped, lambda: find_npu(options.python, devices=devices))

"""The tier of real NPUs. Nothing here has run on one; the tests run the machinery around it, faults included."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchtool.matrix.cell import CellResult, Outcome
from patchtool.matrix.npu.detect import DEVICES, detect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from patchtool.matrix.cell import Cell
    from patchtool.matrix.local import Options, Subject

_UNBUILT = "behavioural tests do not run on a real NPU yet: the rig maps the NPU to the CPU"


def run_npu_cells(
    cells: Sequence[Cell],
    subject: Subject,
    options: Options,
    stopped: Callable[[], bool] | None = None,
    devices: str = DEVICES,
) -> Iterator[CellResult]:
    """Run cells on the NPUs of this machine; without any, every cell is skipped and says why.

    Args:
        cells: Of one release.
        subject: Its trees.
        options: How.
        stopped: Asked while waiting.
        devices: Pattern of the device files.
    """
    missing = detect(options.python, devices).missing
    served = [cell for cell in cells if cell.test.path.endswith(".toml")]
    for cell in cells:
        if missing:
            yield CellResult(cell, Outcome.SKIPPED, 0.0, missing)
        elif cell not in served:
            yield CellResult(cell, Outcome.ERROR, 0.0, _UNBUILT)
    if served and not missing:
        from patchtool.matrix.npu.rows import run_rows

        yield from run_rows(served, subject, options, stopped or bool)

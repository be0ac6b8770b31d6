"""The tier of real NPUs: a model is served from the pristine and from the patched tree, and both are measured.

In: cells of served models and the trees of their release, on a host with free NPUs.
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
    from collections.abc import Iterator, Sequence

    from patchtool.matrix.cell import Cell
    from patchtool.matrix.npu.detect import Npu
    from patchtool.matrix.options import RunOptions
    from patchtool.matrix.release_trees import ReleaseTrees

__all__ = ["find_npu", "run_npu"]

_NOT_SUPPORTED = "behavioural tests cannot run on a real NPU yet: the emulation maps the NPU to the CPU"


def run_npu(
    cells: Sequence[Cell], trees: ReleaseTrees, options: RunOptions, *, devices: Path = Path("/dev")
) -> Iterator[CellResult]:
    """Run cells on the NPUs of this machine; without any, every cell is skipped with the reason.

    Args:
        cells: Cells of one release.
        trees: The release's trees.
        options: How to run them.
        devices: Folder of device files.
    """
    npu = find_npu(options.python, devices=devices)
    served = []
    for cell in cells:
        if not npu.usable:
            yield CellResult(cell, Outcome.SKIPPED, 0.0, npu.reason)
        elif not cell.test.path.endswith(".toml"):
            yield CellResult(cell, Outcome.SKIPPED, 0.0, _NOT_SUPPORTED)
        elif cell.test.devices > len(npu.devices):
            reason = f"needs {cell.test.devices} NPUs, and {len(npu.devices)} can be seen here: {npu.reason}"
            yield CellResult(cell, Outcome.SKIPPED, 0.0, reason)
        elif conflict := _version_conflict(cell, npu):
            yield CellResult(cell, Outcome.SKIPPED, 0.0, conflict)
        else:
            served.append(cell)
    if served:
        from patchtool.matrix.npu.served_run import run_served

        # detected again for every model, because other users come and go in the hours that one takes
        yield from run_served(served, trees, options, lambda: find_npu(options.python, devices=devices))


def _version_conflict(cell: Cell, npu: Npu) -> str:
    """Why the installed torch_npu cannot run a cell; a node that serves no model needs nothing of this."""
    from patchtool.matrix.npu.needs import version_conflict
    from patchtool.matrix.npu.served_group import config_of

    return version_conflict(config_of(cell.test.path).stack_of(cell.release), npu)

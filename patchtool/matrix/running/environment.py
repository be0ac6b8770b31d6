"""The complete environment of a cell, so that a cell runs the same on every machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from patchtool.emulation import FULL_PRECISION
from patchtool.matrix.options import VISIBLE_NPUS

if TYPE_CHECKING:
    from pathlib import Path

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TORCH_NUM_THREADS")
_INHERITED = ("PATH", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "LD_LIBRARY_PATH")
"""Where programs and libraries are, and settings for CPUs that OpenBLAS misjudges."""


def cell_environment(code: Path, home: Path, cache: Path | None) -> dict[str, str]:
    """Return every variable of a cell's process.

    Args:
        code: The folder that holds ``patchtool/``.
        home: A folder that cells may write to.
        cache: Folder for compiled bytecode; None writes none.
    """
    bytecode = {"PYTHONDONTWRITEBYTECODE": "1"} if cache is None else {"PYTHONPYCACHEPREFIX": str(cache)}
    return {
        **{name: os.environ[name] for name in _INHERITED if name in os.environ},
        **dict.fromkeys(_THREADS, "1"),
        **bytecode,
        "HOME": str(home),
        "TMPDIR": str(home),
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": str(code),
        "PYTHONHASHSEED": "0",
        "PYTHONNOUSERSITE": "1",
        "HF_HUB_OFFLINE": "1",
        # torch would import an installed torch_npu by itself, which fails without CANN
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
        VISIBLE_NPUS: "",
        "CUDA_VISIBLE_DEVICES": "",
        "TRITON_INTERPRET": "1",
        **FULL_PRECISION,
    }

"""The whole environment of a cell, so that two machines run the same thing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TORCH_NUM_THREADS")


def cell_environment(code: Path, home: Path, cache: Path | None) -> dict[str, str]:
    """Every variable a cell sees; nothing of the caller's but the search path for programs and CPU quirks.

    Args:
        code: The folder that holds ``patchtool/``.
        home: A folder that cells may write to.
        cache: Where compiled bytecode is kept; None for nowhere.
    """
    bytecode = {"PYTHONDONTWRITEBYTECODE": "1"} if cache is None else {"PYTHONPYCACHEPREFIX": str(cache)}
    kept = ("PATH", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "LD_LIBRARY_PATH")
    return {
        **{name: os.environ[name] for name in kept if name in os.environ},
        **dict.fromkeys(_THREADS, "1"),
        **bytecode,
        "HOME": str(home),
        "TMPDIR": str(home),
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": str(code),
        "PYTHONHASHSEED": "0",
        "PYTHONNOUSERSITE": "1",
        "HF_HUB_OFFLINE": "1",
        # torch would import an installed torch_npu by itself, and that fails without CANN
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
        "ASCEND_RT_VISIBLE_DEVICES": "",
        "CUDA_VISIBLE_DEVICES": "",
        "TRITON_INTERPRET": "1",
        # exact comparisons need states in full precision
        "SGLANG_MAMBA_CONV_DTYPE": "float32",
        "SGLANG_MAMBA_SSM_DTYPE": "float32",
    }

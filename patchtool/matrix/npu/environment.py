"""The complete environment of a process on an NPU host."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_INHERITED = (
    "PATH",
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
    "LANG",
    "HF_HOME",
    "MODELSCOPE_CACHE",
    "HF_ENDPOINT",
    "TOOLCHAIN_HOME",
)
_INHERITED_PREFIXES = ("ASCEND_", "ATB_", "HCCL_", "CANN_", "NNAL_")
"""What CANN's ``set_env.sh`` exports, and the devices that a scheduler assigned."""


def npu_environment(home: Path, tree: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return every variable of a process: the vendor's, the locations of caches, and those of the matrix file.

    Args:
        home: A folder the process may write to.
        tree: The folder that holds the ``sglang/`` to import, before any installed one.
        extra: Variables of the matrix file.
    """
    inherited = {k: v for k, v in os.environ.items() if k in _INHERITED or k.startswith(_INHERITED_PREFIXES)}
    return {
        **inherited,
        "HOME": os.environ.get("HOME", str(home)),  # its cache holds the models
        "TMPDIR": str(home),
        "LC_ALL": "C.UTF-8",
        # CANN's own Python packages are on this path too
        "PYTHONPATH": os.pathsep.join([str(tree), *filter(None, [inherited.get("PYTHONPATH")])]),
        "PYTHONUNBUFFERED": "1",
        "PYTHONPYCACHEPREFIX": str(home / "bytecode"),
        **(extra or {}),
    }

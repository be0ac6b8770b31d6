"""The whole environment of a process on a real NPU host."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_KEPT = (
    "PATH",
    "LD_LIBRARY_PATH",
    "PYTHONPATH",
    "LANG",
    "HF_HOME",
    "MODELSCOPE_CACHE",
    "HF_ENDPOINT",
    "TOOLCHAIN_HOME",
)
_STACK = ("ASCEND_", "ATB_", "HCCL_", "CANN_", "NNAL_")
"""What CANN's ``set_env.sh`` exports, and which devices a scheduler handed out."""


def npu_environment(home: Path, tree: Path | None, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Every variable: the vendor's stack as it is set up here, where caches are, and what is asked for.

    Args:
        home: A folder the process may write to.
        tree: The folder that holds the ``sglang/`` to import, before any installed one; None for none.
        extra: Variables of the matrix file.
    """
    kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith(_STACK)}
    # CANN puts its own Python packages on the path, so the tree comes before them and not in their place
    paths = [*([str(tree)] if tree else []), *filter(None, [kept.get("PYTHONPATH", "")])]
    return {
        **kept,
        "HOME": os.environ.get("HOME", str(home)),  # models are found in its cache
        "TMPDIR": str(home),
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONUNBUFFERED": "1",
        "PYTHONPYCACHEPREFIX": str(home / "bytecode"),
        **(extra or {}),
    }

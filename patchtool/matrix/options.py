"""How cells are run, as every tier and executor reads it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class RunOptions:
    """How to run.

    Args:
        python: The interpreter of the cells, with what upstream imports.
        timeout: Seconds a cell may take that does not say so itself.
        import_timeout: Seconds a tree's imports may take.
        fork: Import once per tree and worker; off, every cell imports its own.
        jobs: Workers side by side.
        cache: Where compiled bytecode is kept; None for nowhere.
    """

    python: str = sys.executable
    timeout: float = 60.0
    import_timeout: float = 180.0
    fork: bool = field(default_factory=lambda: hasattr(os, "fork"))
    jobs: int = 1
    cache: Path | None = None

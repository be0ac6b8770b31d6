"""How cells are run: the options that all tiers and executors share."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

VISIBLE_NPUS = "ASCEND_RT_VISIBLE_DEVICES"
"""The variable that lists the NPUs a process sees; a scheduler may have set it for this one."""


@dataclass(frozen=True)
class RunOptions:
    """How to run cells.

    Args:
        python: The interpreter of the cells, which has the packages that upstream imports.
        timeout: Seconds for a cell without a timeout of its own; of its own time, see ``running/own_time.py``.
        import_timeout: Seconds for a tree's imports, of their own time.
        fork: Import once per tree and worker; otherwise every cell gets a new process.
        jobs: Number of workers at a time.
        cache: Folder for compiled bytecode; None writes none.
        models: Folder of models, looked for there by the last part of their names.
        datasets: Folder of datasets, so that nothing is downloaded.
        measurements: Folder that keeps logs and measurements of served models; None keeps none.
        resume: Use the measurements that an earlier run completed.
    """

    python: str = sys.executable
    timeout: float = 60.0
    import_timeout: float = 180.0
    fork: bool = field(default_factory=lambda: hasattr(os, "fork"))
    jobs: int = 1
    cache: Path | None = None
    models: Path | None = None
    datasets: Path | None = None
    measurements: Path | None = None
    resume: bool = False

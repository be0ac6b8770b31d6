"""Computing something once on the tree as it is without its patches, for the cells of one worker."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchtool.emulation.overlay import ModuleOverlay
from patchtool.emulation.runner import where
from patchtool.emulation.upstream import UnsupportedReleaseError

if TYPE_CHECKING:
    from collections.abc import Callable


def cached_on_pristine(name: str, compute: Callable[[], Any]) -> Any:
    """Compute in a child of this process, and keep the answer in the worker's scratch folder.

    Args:
        name: Of the answer.
        compute: Gives something that JSON can hold.

    Raises:
        UnsupportedReleaseError: It could not be computed. What does not even run here without patches can say nothing
            with them.
    """
    kept = Path(tempfile.gettempdir(), f"{name}.json")
    if not kept.exists():
        child = os.fork()
        if child == 0:
            _compute(kept, compute)
        _, status = os.waitpid(child, 0)
        if not kept.exists():
            log = kept.with_suffix(".log")
            why = log.read_text() if log.exists() else f"its process ended with {os.waitstatus_to_exitcode(status)}"
            raise UnsupportedReleaseError(f"{name} on the pristine release: {why}")
    return json.loads(kept.read_bytes())


def _take_patches_off() -> None:
    for overlay in [finder for finder in sys.meta_path if isinstance(finder, ModuleOverlay)]:
        if held := overlay.files.keys() & sys.modules.keys():
            raise RuntimeError(f"{min(held)} was imported with its patches before")
        sys.meta_path.remove(overlay)


def _compute(kept: Path, compute: Callable[[], Any]) -> None:
    """Leave an answer or the reason why there is none, and end this process."""
    try:
        _take_patches_off()
        part = kept.with_suffix(".part")
        part.write_text(json.dumps(compute()))
        part.replace(kept)
    except BaseException as error:  # noqa: BLE001  also SystemExit of upstream
        kept.with_suffix(".log").write_text(where(error))
    finally:
        os._exit(0)

"""Computing a value on the tree without its overlay, once for all tests of a worker."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchtool.emulation.overlay import ModuleOverlay, record_imports, unload
from patchtool.emulation.runner import describe
from patchtool.emulation.upstream import UnsupportedReleaseError

if TYPE_CHECKING:
    from collections.abc import Callable


def cached_on_pristine(name: str, compute: Callable[[], Any]) -> Any:
    """Compute a value in a forked child without the overlay, and cache it in the worker's temporary folder.

    Args:
        name: Name of the value in the cache.
        compute: Returns a JSON value.

    Raises:
        UnsupportedReleaseError: It could not be computed. A test that does not run on the pristine release proves
            nothing on a patched one.
    """
    cached = Path(tempfile.gettempdir(), f"{name}.json")
    if not cached.exists():
        child = os.fork()
        if child == 0:
            _compute(cached, compute)
        _, status = os.waitpid(child, 0)
        if not cached.exists():
            log = cached.with_suffix(".log")
            why = log.read_text() if log.exists() else f"its process ended with {os.waitstatus_to_exitcode(status)}"
            raise UnsupportedReleaseError(f"{name} on the pristine release: {why}")
    return json.loads(cached.read_bytes())


def _remove_overlays() -> None:
    """Unload what was imported with an overlay, so that it is imported from the tree."""
    for overlay in [finder for finder in sys.meta_path if isinstance(finder, ModuleOverlay)]:
        sys.meta_path.remove(overlay)
        with record_imports() as importers:
            unload(overlay.files, importers)


def _compute(cached: Path, compute: Callable[[], Any]) -> None:
    """Write the value, or the error to a log, and exit."""
    try:
        _remove_overlays()
        part = cached.with_suffix(".part")
        part.write_text(json.dumps(compute()))
        part.replace(cached)
    except BaseException as error:  # noqa: BLE001  upstream may also raise SystemExit
        cached.with_suffix(".log").write_text(describe(error))
    finally:
        os._exit(0)

"""Running one test function in this process, on a tree with an overlay of patched files."""

from __future__ import annotations

import runpy
import sys
import time
import traceback
import warnings
from itertools import takewhile
from typing import TYPE_CHECKING

from patchtool.emulation.overlay import ModuleOverlay
from patchtool.emulation.stubs import ACCESSED_STUBS
from patchtool.emulation.testing import NUMBERS, MismatchError
from patchtool.emulation.upstream import UnsupportedReleaseError

if TYPE_CHECKING:
    from pathlib import Path

_FRAMES = 3


def run_test(tree: Path, overlay: Path, file: Path, function: str, since: str = "") -> dict[str, object]:
    """Run a test function.

    Args:
        tree: The folder that holds ``sglang/``.
        overlay: The patched files, in the tree's layout; empty for the pristine release.
        file: The test's file.
        function: The name of the function.
        since: The module that was imported last before the test; none for a process of its own.

    Returns:
        ``outcome``, ``seconds``, ``detail``, ``numbers``, ``looked_at``: stub attributes without reference that
        upstream looked up, and ``loaded``: the files of the tree that were imported since, relative to it.
    """
    finder = ModuleOverlay(overlay, tree)
    sys.meta_path.insert(0, finder)
    warnings.simplefilter("ignore")
    started = time.monotonic()
    outcome, detail = "passed", ""
    try:
        runpy.run_path(str(file))[function]()
        finder.check()
    except MismatchError as error:
        outcome, detail = "failed", str(error)
    except UnsupportedReleaseError as error:
        outcome, detail = "skipped", str(error)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("sglang."):
            outcome, detail = "skipped", f"this release has no {error.name}"
        else:
            outcome, detail = "error", describe(error)
    except BaseException as error:  # noqa: BLE001  upstream may also raise SystemExit
        outcome, detail = "error", describe(error)
    return {
        "outcome": outcome,
        "detail": detail,
        "seconds": time.monotonic() - started,
        "numbers": dict(NUMBERS),
        "looked_at": sorted(f"{module}.{name}" for module, names in ACCESSED_STUBS.items() for name in names),
        "loaded": loaded_files(tree, overlay, since=since),
    }


def loaded_files(*roots: Path, since: str = "") -> list[str]:
    """List the files of imported modules that are below one of these folders, relative to it, sorted.

    Args:
        roots: The folders.
        since: Leave out this module and all that were imported before it. A fork that looks at those copies the pages
            of memory that they are on.
    """
    recent = takewhile(lambda name: name != since, reversed(sys.modules))
    files = {str(getattr(sys.modules[name], "__file__", "")) for name in list(recent)}
    prefixes = [f"{root}/" for root in roots]
    return sorted({file[len(prefix) :] for prefix in prefixes for file in files if file.startswith(prefix)})


def describe(error: BaseException) -> str:
    """Format an error with its innermost frames."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    path = " > ".join(f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in frames)
    return f"{type(error).__name__}: {error} ({path})"

"""Running one test in this process, on a tree with an overlay of patched files."""

from __future__ import annotations

import importlib.util
import sys
import time
import traceback
import warnings
from typing import TYPE_CHECKING

from patchtool.emulation import testing
from patchtool.emulation.overlay import ModuleOverlay
from patchtool.emulation.stubs import ACCESSED_STUBS
from patchtool.emulation.upstream import UnsupportedReleaseError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_FRAMES = 3


def run_test(tree: Path, overlay: Path, file: Path, function: str) -> dict[str, object]:
    """Run a test function.

    Args:
        tree: The folder that holds ``sglang/``.
        overlay: The patched files, in the tree's layout; empty for the pristine release.
        file: The test's file.
        function: The function in it.

    Returns:
        ``outcome``, ``seconds``, ``detail``, ``numbers``, and ``looked_at``: attributes of stand-ins that have no
        reference and that upstream named.
    """
    changed = ModuleOverlay(overlay, tree)
    sys.meta_path.insert(0, changed)
    warnings.simplefilter("ignore")
    started = time.monotonic()
    outcome, detail = "passed", ""
    try:
        _load(file, function)()
        changed.check()
    except testing.MismatchError as error:
        outcome, detail = "failed", str(error)
    except UnsupportedReleaseError as error:
        outcome, detail = "skipped", str(error)
    except ModuleNotFoundError as error:
        missing = (error.name or "").startswith("sglang.")
        outcome, detail = ("skipped", f"this release has no {error.name}") if missing else ("error", where(error))
    except BaseException as error:  # noqa: BLE001  also SystemExit of upstream: anything else is no verdict
        outcome, detail = "error", where(error)
    return {
        "outcome": outcome,
        "detail": detail,
        "seconds": time.monotonic() - started,
        "numbers": dict(testing.NUMBERS),
        "looked_at": sorted(f"{module}.{name}" for module, names in ACCESSED_STUBS.items() for name in names),
    }


def _load(file: Path, function: str) -> Callable[[], None]:
    spec = importlib.util.spec_from_file_location(f"patchtool_test_{file.stem}", file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file.name} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    test: Callable[[], None] = getattr(module, function)
    return test


def where(error: BaseException) -> str:
    """The error and the innermost frames that led to it."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    path = " > ".join(f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in frames)
    return f"{type(error).__name__}: {error} ({path})"

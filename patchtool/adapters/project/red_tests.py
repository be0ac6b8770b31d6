"""Which tests were once seen red where they must be: what makes their green on other releases worth something."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from patchtool.adapters.files import atomic_write
from patchtool.domain.errors import EnvironmentFault

FILE = "proven-red.json"


def proven_red(folder: Path, tests: Mapping[str, Path]) -> set[str]:
    """Those tests that were seen red before, as long as their file is what it was then.

    Args:
        folder: Where the memory is kept.
        tests: File of each test by its name.
    """
    known = _load(folder)
    return {name for name, path in tests.items() if known.get(name) == _digest(path)}


def remember_red(folder: Path, tests: Mapping[str, Path], seen: Iterable[str]) -> None:
    """Keep that tests were seen red; losing it costs a run on a release that needs the patches."""
    known = _load(folder)
    new = known | {name: _digest(tests[name]) for name in seen if name in tests}
    if new == known:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        atomic_write(folder / FILE, json.dumps(new, indent=1, sort_keys=True).encode(), durable=False)
    except (OSError, EnvironmentFault):
        return  # a store that cannot be written to forgets


def _load(folder: Path) -> dict[str, str]:
    try:
        told = json.loads((folder / FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    return {str(k): str(v) for k, v in told.items()} if isinstance(told, dict) else {}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()

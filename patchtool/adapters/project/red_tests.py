"""Remember which tests failed where they must: a test that has never failed proves nothing by passing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from patchtool.adapters.files import atomic_write
from patchtool.domain.errors import EnvironmentFault

_FILE = "proven-red.json"


def tests_seen_red(folder: Path, tests: Mapping[str, Path]) -> set[str]:
    """Find the tests that were seen red and whose file has not changed since.

    Args:
        folder: The folder of the record.
        tests: File of each test, by its name.
    """
    known = _load(folder)
    return {name for name, path in tests.items() if known.get(name) == _digest(path)}


def record_red(folder: Path, tests: Mapping[str, Path], seen: Iterable[str]) -> None:
    """Record tests that were seen red; a lost record costs a run on a release that needs the patches."""
    known = _load(folder)
    new = known | {name: _digest(tests[name]) for name in seen if name in tests}
    if new == known:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        atomic_write(folder / _FILE, json.dumps(new, indent=1, sort_keys=True).encode(), durable=False)
    except (OSError, EnvironmentFault):
        return  # a read-only store records nothing


def _load(folder: Path) -> dict[str, str]:
    try:
        document = json.loads((folder / _FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    return {str(k): str(v) for k, v in document.items()} if isinstance(document, dict) else {}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()

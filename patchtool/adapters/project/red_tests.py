"""Remember which tests failed where they must: a test that has never failed proves nothing by passing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from patchtool.adapters.files import atomic_write
from patchtool.domain.errors import EnvironmentFault


def tests_seen_red(file: Path, tests: Mapping[str, Path]) -> set[str]:
    """Find the tests that were seen red and whose file has not changed since.

    Args:
        file: The record; it need not exist.
        tests: File of each test, by its name.
    """
    known = _load(file)
    return {name for name, path in tests.items() if known.get(name) == _digest(path)}


def record_red(file: Path, tests: Mapping[str, Path], seen: Iterable[str]) -> None:
    """Record tests that were seen red; a lost record costs a run on a release that needs the patches."""
    known = _load(file)
    new = known | {name: _digest(tests[name]) for name in seen if name in tests}
    if new == known:
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(file, json.dumps(new, indent=1, sort_keys=True).encode(), durable=False)
    except (OSError, EnvironmentFault):
        return  # a read-only store records nothing


def _load(file: Path) -> dict[str, str]:
    try:
        document = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return {str(k): str(v) for k, v in document.items()} if isinstance(document, dict) else {}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()

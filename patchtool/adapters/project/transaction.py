"""Write several files of a folder as one transaction, which a later run rolls back after a kill."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from patchtool.adapters.files import atomic_write, safe_join
from patchtool.domain.errors import EnvironmentFault

_JOURNAL = ".patchtool-writing.json"


def write_all(root: Path, contents: Mapping[str, bytes | None]) -> list[str]:
    """Write every file, or none; first roll back what a killed run left.

    Args:
        root: The folder.
        contents: New bytes by path below it; None removes the file.

    Returns:
        Paths that changed.

    Raises:
        EnvironmentFault: A file cannot be written; all are as before.
    """
    _roll_back(root)
    before = {path: file.read_bytes() if (file := safe_join(root, path)).is_file() else None for path in contents}
    changed = [path for path, data in contents.items() if before[path] != data]
    if not changed:
        return []
    originals = {path: None if (data := before[path]) is None else b64encode(data).decode() for path in changed}
    atomic_write(root / _JOURNAL, json.dumps(originals).encode())
    try:
        for path in changed:
            _put(safe_join(root, path), contents[path])
    except (OSError, EnvironmentFault) as error:
        _roll_back(root)
        raise EnvironmentFault(f"{root} cannot be written", hint="nothing was changed", cause=str(error)) from error
    (root / _JOURNAL).unlink()
    return changed


def _roll_back(root: Path) -> None:
    journal = root / _JOURNAL
    with suppress(FileNotFoundError):
        for path, original in json.loads(journal.read_bytes()).items():
            _put(safe_join(root, path), None if original is None else b64decode(original))
        journal.unlink()  # last, so that a kill before it repeats the rollback


def _put(target: Path, data: bytes | None) -> None:
    if data is None:
        with suppress(FileNotFoundError, NotADirectoryError):
            target.unlink()
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(target, data)

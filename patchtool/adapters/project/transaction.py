"""Writing several files of one folder together: all of them, or none, also when the run is killed in the middle."""

from __future__ import annotations

import json
import os
from base64 import b64decode, b64encode
from collections.abc import Mapping
from pathlib import Path

from patchtool.adapters.files import atomic_write, safe_join
from patchtool.domain.errors import EnvironmentFault

JOURNAL = ".patchtool-writing.json"


def write_all(root: Path, contents: Mapping[str, bytes]) -> list[str]:
    """Write files, or leave them all as they are.

    Args:
        root: The folder.
        contents: New bytes by path below it.

    Returns:
        Paths that changed.

    Raises:
        EnvironmentFault: A file cannot be written; all are as before.
    """
    recover(root)
    old = {path: _read(safe_join(root, path)) for path in contents}
    changed = [path for path, data in contents.items() if old[path] != data]
    if not changed:
        return []
    told = {path: None if (data := old[path]) is None else b64encode(data).decode() for path in changed}
    atomic_write(root / JOURNAL, json.dumps(told).encode())
    try:
        for path in changed:
            target = safe_join(root, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(target, contents[path])
    except (OSError, EnvironmentFault) as error:
        recover(root)
        raise EnvironmentFault(f"{root} cannot be written", hint="nothing was changed", cause=str(error)) from error
    (root / JOURNAL).unlink()
    return changed


def recover(root: Path) -> list[str]:
    """Put back what a killed run left half written.

    Returns:
        Paths that were put back; empty when there was nothing to do.
    """
    journal = root / JOURNAL
    try:
        told = json.loads(journal.read_bytes())
    except FileNotFoundError:
        return []
    for path, data in told.items():
        target = safe_join(root, path)
        if data is None:
            target.unlink(missing_ok=True)
        else:
            atomic_write(target, b64decode(data))
    os.unlink(journal)  # noqa: PTH108 -- last: until here the next run puts back again
    return sorted(told)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None

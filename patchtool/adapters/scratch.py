"""Folders for temporary files; those of killed runs are removed by later ones."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.adapters.files import is_at, uninterrupted

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCRATCH = ".patchtool-scratch-"


@contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """Make a folder for temporary files, removed at the end; those of killed runs in the same place are removed first.

    Args:
        parent: It is created if it is missing; by default the system's folder for temporary files.
    """
    import shutil

    if parent is None:
        import tempfile  # late: its import takes longer than a cached verb may take

        parent = Path(tempfile.gettempdir())
    parent.mkdir(parents=True, exist_ok=True)
    for leftover in parent.glob(f"{_SCRATCH}*"):
        if (handle := _lock_free_folder(leftover)) is not None:
            shutil.rmtree(leftover, ignore_errors=True)
            os.close(handle)
    handle = None
    while handle is None:
        folder = parent / f"{_SCRATCH}{os.urandom(6).hex()}"
        folder.mkdir(mode=0o700)
        handle = _lock_free_folder(folder)  # None if another run took it for a leftover in between
    try:
        yield folder
    finally:
        with uninterrupted():
            shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def _lock_free_folder(folder: Path) -> int | None:
    """Lock a folder that no process has locked, and give the handle; None if it is locked, gone or of another user."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if is_at(handle, folder):
                return handle
        os.close(handle)
    return None

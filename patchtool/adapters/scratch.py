"""Folders for temporary files; those of killed runs are removed by later ones."""

from __future__ import annotations

import atexit
import fcntl
import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.adapters.files import is_at
from patchtool.adapters.folders import uninterrupted

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCRATCH = ".patchtool-scratch-"
_OPEN: dict[Path, int] = {}
"""Folders in use, and the process that made each."""


@contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """Make a folder for temporary files, removed at the end; those of killed runs in the same place are removed first.

    Args:
        parent: It is created if it is missing; by default the system's folder for temporary files.
    """
    parent = parent or _temporary_folder()
    parent.mkdir(parents=True, exist_ok=True)
    remove_left_folders(parent)
    handle = None
    try:
        with uninterrupted():
            while handle is None:
                folder = parent / f"{_SCRATCH}{os.urandom(6).hex()}"
                handle = _new_folder(folder)
            _OPEN[folder] = os.getpid()
        yield folder
    finally:
        if handle is not None:
            try:
                _remove(folder, handle)
            except BaseException:  # a signal, which another thread may let in before anything is removed
                if folder in _OPEN:
                    _remove(folder, handle)
                raise


def remove_left_folders(parent: Path | None = None) -> None:
    """Remove the folders of killed runs; see `scratch_folder`."""
    for leftover in (parent or _temporary_folder()).glob(f"{_SCRATCH}*"):
        with suppress(OSError):  # another user's
            if (handle := _lock_free_folder(leftover)) is not None:
                _remove(leftover, handle)


@atexit.register
def _remove_open() -> None:
    """Remove the folders in use: a generator that holds one is not closed where the process ends at once."""
    import shutil

    while _OPEN:
        folder, process = _OPEN.popitem()
        if process == os.getpid():
            shutil.rmtree(folder, ignore_errors=True)


def _temporary_folder() -> Path:
    """The first usual folder for temporary files that can be written; `tempfile` writes to it to find out."""
    named = (os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    usual = [*filter(None, named), "/tmp", "/var/tmp", "/usr/tmp"]  # noqa: S108 -- the folder inside is ours
    writable = (name for name in usual if Path(name).is_dir() and os.access(name, os.W_OK | os.X_OK))
    return Path(next(writable, os.curdir)).absolute()


def _new_folder(folder: Path) -> int | None:
    """Make and lock a folder; None if another run took it for a leftover in between."""
    try:
        folder.mkdir(mode=0o700)
        return _lock_free_folder(folder)
    except FileExistsError:
        raise
    except BaseException:  # a signal too, which another thread may let in
        with suppress(FileNotFoundError):
            folder.rmdir()
        raise


def _lock_free_folder(folder: Path) -> int | None:
    """Lock a folder that no process has locked, and give the handle; None if it is locked or gone."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if is_at(handle, folder):
            handle, locked = -1, handle
            return locked
    except BlockingIOError:
        pass
    finally:
        if handle >= 0:
            os.close(handle)
    return None


def _remove(folder: Path, handle: int) -> None:
    """Remove a locked folder; what a passing error leaves is tried once more, and then left to a later run."""
    with uninterrupted():
        for _ in range(2):
            if not folder.exists():
                break
            import shutil

            shutil.rmtree(folder, ignore_errors=True)
        _OPEN.pop(folder, None)
        os.close(handle)

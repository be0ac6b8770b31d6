"""Atomic writes, safe joins of untrusted paths, and locks between processes."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from patchtool.adapters.folders import opened, staged
from patchtool.domain.errors import EnvironmentFault, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_Opener: TypeAlias = "Callable[[Path, int, int], int]"
LOCK_TIMEOUT = 60.0
"""Seconds to wait for another run, unless the user says otherwise."""
_POLL = 0.05


def _say_nothing(_: str) -> None:
    pass


on_waiting: Callable[[str], None] = _say_nothing
"""Called once with a sentence when a lock is waited for; the command line shows it."""
held_locks: set[int] = set()
"""Handles of the locks of this process. Programs that it starts inherit them: while one of them survives a killed
run and still writes, the lock is held."""


def safe_join(root: Path, path: str, *, follow: bool = False, real: set[str] | None = None) -> Path:
    """Join a folder and an untrusted path, and refuse a result outside of the folder.

    Args:
        root: The folder; it may itself be reached through symlinks.
        path: Relative, with forward slashes; the file need not exist.
        follow: Allow symlinks in the folder to lead out of it; for reading only.
        real: Folders that are known not to be symlinks, for a reader of many paths; those that are found are added.

    Raises:
        RefusedError: The path is empty or absolute, has ``..``, a backslash or NUL, or leads out through a symlink.
    """
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts or path.startswith("/") or ".." in parts or "\\" in path or "\0" in path:
        raise RefusedError(f"{path!r} is not a path inside {root}")
    joined = Path(f"{os.fspath(root)}/{'/'.join(parts)}")  # `joinpath` takes three times as long
    if follow:
        return joined
    known = set() if real is None else real
    prefix = os.fspath(root)
    for depth, part in enumerate(parts, start=1):
        prefix = f"{prefix}/{part}"
        if prefix in known:
            continue
        # Only a symlink can lead out; resolving every path takes ten times as long as looking for one.
        if not os.path.islink(prefix):  # noqa: PTH114
            if depth < len(parts):
                known.add(prefix)
        elif not _resolved(joined).is_relative_to(root.resolve()):
            raise RefusedError(
                f"{path!r} leads out of {root} through a symlink", hint="replace the symlink by a real folder"
            )
    return joined


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except RuntimeError:  # before Python 3.13, a loop of symlinks
        return Path("/")


def staged_name(path: Path) -> Path:
    """Where a file's next content is written."""
    return path.with_name(staged(path.name))


def stage(path: Path, data: bytes, mode: int | None = None) -> None:
    """Write a file's next content beside it; see `Folder.stage`."""
    with opened(path.parent) as folder:
        folder.stage(path.name, data, mode)


def atomic_write(path: Path, data: bytes, mode: int = 0o644, *, durable: bool = True) -> None:
    """Write a file so that a reader finds either the old bytes or the new ones, even after a power failure.

    What a killed process leaves beside the file is removed by the next write of it.

    Args:
        path: The file; its folder must exist. A symlink is replaced, not followed.
        data: The whole content.
        mode: Permission bits; the umask is not applied.
        durable: Wait until the bytes are on disk. False for a cache whose reader detects a truncated file.

    Raises:
        EnvironmentFault: The disk is full, the folder is read-only, …; the old file is untouched.
    """
    try:
        with opened(path.parent) as folder:
            folder.write(path.name, data, mode, durable=durable)
    except OSError as error:
        hint = "make room there, or make it writable; then run it again"
        raise EnvironmentFault(f"cannot write {path}", hint=hint, cause=str(error)) from error


def is_at(handle: int, path: Path) -> bool:
    """Whether an open file is still the one at a path."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


@contextmanager
def made_folder(folder: Path) -> Iterator[None]:
    """Make a folder and those above it; where the block fails, those that were made are removed again.

    Args:
        folder: It may exist. What somebody else has put into a folder stays, and the folder with it.

    Raises:
        NotADirectoryError: A file is in the way.
    """
    if file := next((each for each in (folder, *folder.parents) if each.exists() and not each.is_dir()), None):
        raise NotADirectoryError(errno.ENOTDIR, f"{file} is in the way: it is not a folder", str(folder))
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for each in missing:
            with suppress(OSError):
                each.rmdir()
        raise


def sync_folder(path: Path) -> None:
    """Bring renames in a folder to disk."""
    with opened(path) as folder:
        folder.sync()


@contextmanager
def locked(
    path: Path, timeout: float = LOCK_TIMEOUT, *, shared: bool = False, opener: _Opener = os.open
) -> Iterator[None]:
    """Hold a lock between the processes of a machine; the system releases it when the holder dies.

    Args:
        path: A folder, or a lock file, which is created and not removed.
        timeout: Seconds to wait for another holder.
        shared: Whether other holders of a shared lock are let in.
        opener: Opens it, given path, flags and permissions.

    Raises:
        EnvironmentFault: Another process holds it for longer than `timeout`, or the folder cannot be written.
    """
    try:
        if not path.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
        handle = _acquire(path, timeout, fcntl.LOCK_SH if shared else fcntl.LOCK_EX, opener)
    except OSError as error:
        hint = f"check that {path.parent} is a folder that you can write to"
        raise EnvironmentFault(f"cannot lock {path}", hint=hint, cause=str(error)) from error
    held_locks.add(handle)
    try:
        yield
    finally:
        held_locks.discard(handle)
        os.close(handle)


def _acquire(path: Path, timeout: float, kind: int, opener: _Opener) -> int:
    deadline, told = time.monotonic() + timeout, False
    while True:
        flags = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        handle = opener(path, flags | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
            if is_at(handle, path):  # else the holder before us removed it
                handle, acquired = -1, handle
                return acquired
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
            holder = _holder(handle)
            if time.monotonic() >= deadline:
                raise EnvironmentFault(
                    f"{path} is locked by {holder}, still after {timeout:g} s",
                    hint="wait for that run to end, or give a longer --lock-timeout",
                ) from None
            if not told:
                on_waiting(f"waiting for {holder}, which has {path} locked")
                told = True
            time.sleep(_POLL)
        finally:
            if handle >= 0:
                os.close(handle)


def _holder(handle: int) -> str:
    """The process that holds a lock, as Linux lists it."""
    status = os.fstat(handle)
    file = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    with suppress(OSError):
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            words = line.split()
            if "->" not in words and file in words and words[4] != "0":
                return f"process {words[4]}"
    return "another process"

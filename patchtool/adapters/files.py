"""Atomic writes, safe joins of untrusted paths, and locks between processes."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from patchtool.domain.errors import EnvironmentFault, RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCK_TIMEOUT = 60.0
"""Seconds to wait for another run, unless the user says otherwise."""


def safe_join(root: Path, path: str) -> Path:
    """Join a folder and an untrusted path, and refuse a result outside of the folder.

    Args:
        root: The folder; it may itself be reached through symlinks.
        path: Relative, with forward slashes; the file need not exist.

    Raises:
        RefusedError: The path is empty or absolute, has ``..``, a backslash or NUL, or leads out through a symlink.
    """
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\\" in path or "\0" in path:
        raise RefusedError(f"{path!r} is not a path inside {root}")
    joined = root.joinpath(*parts)
    prefix = os.fspath(root)
    for part in parts:  # only a symlink can lead out; resolving every path takes ten times as long as looking for one
        prefix = os.path.join(prefix, part)  # noqa: PTH118 -- a proof joins over a thousand paths
        if os.path.islink(prefix) and not joined.resolve().is_relative_to(root.resolve()):  # noqa: PTH114
            raise RefusedError(
                f"{path!r} leads out of {root} through a symlink", hint="replace the symlink by a real folder"
            )
    return joined


def atomic_write(path: Path, data: bytes, mode: int = 0o644, *, durable: bool = True) -> None:
    """Write a file so that a reader finds either the old bytes or the new ones, even after a power failure.

    Args:
        path: The file; its folder must exist. A symlink is replaced, not followed.
        data: The whole content.
        mode: Permission bits; the umask is not applied.
        durable: Wait until the bytes are on disk. False for a cache whose reader detects a truncated file.

    Raises:
        EnvironmentFault: The disk is full, the folder is read-only, …; the old file is untouched.
    """
    # Importing `tempfile` would take longer than a cached verb may take.
    temporary = path.with_name(f".{path.name}.{os.urandom(6).hex()}.tmp")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(handle, mode)
            if durable:
                os.fsync(handle)
        temporary.replace(path)
        if durable:
            sync_folder(path.parent)
    except OSError as error:
        raise EnvironmentFault(f"cannot write {path}", cause=str(error)) from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def sync_folder(folder: Path) -> None:
    """Bring renames in a folder to disk: a name is stored in the folder, not in the file."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def locked(path: Path, timeout: float = LOCK_TIMEOUT) -> Iterator[None]:
    """Hold a lock between processes; the system releases it when the holder dies.

    Args:
        path: The lock file; it is not removed. The holder's pid is in ``<path>.pid``.
        timeout: Seconds to wait for another holder.

    Raises:
        EnvironmentFault: Another process holds it for longer than `timeout`, or the folder cannot be written.
    """
    from filelock import FileLock, Timeout

    # A file of its own: opening the lock file may truncate it.
    holder = path.with_name(f"{path.name}.pid")
    lock = FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=timeout)
    except Timeout:
        raise EnvironmentFault(
            f"{path} is locked by process {_holder(holder)}, still after {timeout:g} s",
            hint="wait for that run to end, or give a longer --lock-timeout",
        ) from None
    except OSError as error:
        hint = f"check that {path.parent} is a folder that you can write to"
        raise EnvironmentFault(f"cannot lock {path}", hint=hint, cause=str(error)) from error
    try:
        atomic_write(holder, f"{os.getpid()}\n".encode())
        yield
    finally:
        holder.unlink(missing_ok=True)
        lock.release()


def _holder(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip() or "unknown"
    except (OSError, ValueError):
        return "unknown"

"""A folder that is held open: what is done in it stays in it, whatever becomes of the names that led to it.

A tree may belong to others, who can put a link in the place of a folder between our look at it and our write. Nothing
here is given a path: names are looked up in the open folder, and those of inner folders one by one, without links.

Source: https://pubs.opengroup.org/onlinepubs/9799919799/functions/openat.html
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters.foreign_files import read_regular, read_start
from patchtool.domain.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY


def staged(name: str) -> str:
    """Where a file's next content is written: in the same folder, because a rename between file systems fails."""
    return f".{name}.patchtool-new"


def is_staged(name: str) -> bool:
    """Whether a file is the next content of another one."""
    return name.startswith(".") and name.endswith(staged("")[1:])


class Folder(NamedTuple):
    """An open folder.

    Args:
        handle: Of the folder.
        path: What led to it; for messages only.
    """

    handle: int
    path: Path

    @contextmanager
    def inner(self, inside: str, *, create: bool = False) -> Iterator[Folder]:
        """Hold a folder below this one open.

        Args:
            inside: Its path, with forward slashes; empty for this one.
            create: Whether to make what is missing.

        Raises:
            RefusedError: A link, or what is no folder, is on the way.
            FileNotFoundError: It is missing.
        """
        handle, path = os.dup(self.handle), self.path
        try:
            for part in filter(None, inside.split("/")):
                if create:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=handle)
                outer, path = handle, path / part
                handle = _open_real(part, outer, path)
                os.close(outer)
            yield Folder(handle, path)
        finally:
            os.close(handle)

    def read(self, name: str) -> bytes | None:
        """Read a regular file, also where its own name is a link to one; None where there is none."""
        return read_regular(name, at=self.handle)

    def start(self, name: str, size: int) -> bytes:
        """Read the first bytes of a regular file; none where there is none."""
        return read_start(name, size, at=self.handle) or b""

    def status(self, name: str) -> os.stat_result | None:
        """Look at a file, or at the one that a link leads to; None where there is none."""
        with suppress(FileNotFoundError):
            return os.stat(name, dir_fd=self.handle)
        return None

    def names(self) -> list[str]:
        """What is in the folder, sorted."""
        with os.scandir(self.handle) as entries:
            return sorted(entry.name for entry in entries)

    def stage(self, name: str, data: bytes, mode: int | None = None) -> None:
        """Write a file's next content beside it, on disk when this returns; the caller holds a lock.

        It has the owner and the extended attributes of the file, or of a new file's folder the owner.

        Args:
            name: The file.
            data: The whole content.
            mode: Permission bits, by default those of the file; the umask is not applied.

        Raises:
            OSError: The disk is full, the folder is read-only, …; there is no new file.
        """
        with uninterrupted(), self._staged(name, data, mode, alike=True, durable=True):
            pass

    def write(self, name: str, data: bytes, mode: int = 0o644, *, durable: bool = True) -> None:
        """Write a file so that a reader finds either the old bytes or the new ones; see `files.atomic_write`.

        Raises:
            OSError: The disk is full, the folder is read-only, …; the old file is untouched.
        """
        with uninterrupted(), self._staged(name, data, mode, alike=False, durable=durable):
            self.rename(staged(name), name)
        if durable:
            self.sync()

    def reserve(self, name: str, size: int) -> None:
        """Make a file that takes up space, on disk when this returns."""
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600, dir_fd=self.handle)
        try:
            os.posix_fallocate(handle, 0, size)
            os.fsync(handle)
        finally:
            os.close(handle)

    def rename(self, name: str, to: str) -> None:
        """Rename a file, over another one where there is one."""
        os.replace(name, to, src_dir_fd=self.handle, dst_dir_fd=self.handle)

    def link(self, target: str, name: str) -> None:
        """Make a symbolic link."""
        os.symlink(target, name, dir_fd=self.handle)

    def remove(self, name: str) -> None:
        """Remove a file or a link, if there is one."""
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.handle)

    def remove_folder(self, name: str) -> None:
        """Remove a folder with the files that are in it, if it has no folders.

        Raises:
            RefusedError: It is a link, or no folder.
            OSError: It has a folder.
        """
        with self.inner(name) as folder:
            for each in folder.names():
                folder.remove(each)
        os.rmdir(name, dir_fd=self.handle)

    def sync(self) -> None:
        """Bring renames to disk: a name is stored in the folder, not in the file."""
        os.fsync(self.handle)

    @contextmanager
    def _staged(self, name: str, data: bytes, mode: int | None, *, alike: bool, durable: bool) -> Iterator[None]:
        """Write a new file beside a file; until the block ends, no other process writes or removes it."""
        with os.fdopen(self._open_alone(staged(name)), "wb") as file:
            try:
                file.write(data)
                file.flush()
                if alike:
                    self._copy_attributes(name, file.fileno())
                if mode is not None:
                    os.fchmod(file.fileno(), mode)
                if durable:
                    os.fsync(file.fileno())
                yield
            except BaseException:
                with suppress(OSError):
                    self.remove(staged(name))
                raise

    def _open_alone(self, name: str) -> int:
        """Open an empty new file that no other process is writing; what a killed process left there is replaced."""
        while True:
            with suppress(FileExistsError):
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
                handle = os.open(name, flags, 0o600, dir_fd=self.handle)
                fcntl.flock(handle, fcntl.LOCK_EX)
                if self._is_at(handle, name):
                    return handle
                os.close(handle)  # another process took it for a leftover in between
            self._remove_leftover(name)

    def _remove_leftover(self, name: str) -> None:
        """Remove a file that no living process is writing; wait for one that does."""
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(os.lstat(name, dir_fd=self.handle).st_mode):
                self.remove(name)
                return
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
            handle = os.open(name, flags, dir_fd=self.handle)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                if self._is_at(handle, name):
                    self.remove(name)
            finally:
                os.close(handle)

    def _is_at(self, handle: int, name: str) -> bool:
        found = self.status(name)
        return found is not None and os.path.samestat(os.fstat(handle), found)

    def _copy_attributes(self, name: str, target: int) -> None:
        """Give an open file the owner, attributes and permissions of another, as far as the system lets us."""
        found = self.status(name)
        owner = found or os.fstat(self.handle)
        with suppress(PermissionError):
            os.fchown(target, owner.st_uid, owner.st_gid)
        if found is None:
            return
        if hasattr(os, "listxattr"):
            with suppress(OSError):
                _copy_extended_attributes(os.open(name, os.O_RDONLY | os.O_NONBLOCK, dir_fd=self.handle), target)
        os.fchmod(target, stat.S_IMODE(found.st_mode))


@contextmanager
def opened(path: Path) -> Iterator[Folder]:
    """Hold a folder open; links that lead to it are followed, because whoever gives its path has named it."""
    handle = os.open(path, _FOLDER)
    try:
        yield Folder(handle, path)
    finally:
        os.close(handle)


def open_in_real_folder(path: Path, flags: int, permissions: int) -> int:
    """Open a file whose folder must not be a link.

    Raises:
        RefusedError: It is.
    """
    with opened(path.parent.parent) as outer, outer.inner(path.parent.name) as folder:
        return os.open(path.name, flags, permissions, dir_fd=folder.handle)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back Ctrl-C and SIGTERM, from the programs that are started too, until the block ends."""
    signals = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:  # a signal that another thread has let in is raised as soon as the next call returns
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _open_real(name: str, outer: int, path: Path) -> int:
    try:
        if name == "..":
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=outer)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):  # the last one on FreeBSD
            raise RefusedError(
                f"{path} is a symlink, or no folder", hint="replace it by a real folder, then run it again"
            ) from error
        raise


def _copy_extended_attributes(source: int, target: int) -> None:
    try:
        for name in os.listxattr(source):
            with suppress(OSError):
                os.setxattr(target, name, os.getxattr(source, name))
    finally:
        os.close(source)

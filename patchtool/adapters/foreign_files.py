"""Read files of a tree that somebody else made: never a device, never without end, never more than fits."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from patchtool.domain.errors import RefusedError

LARGEST_FILE = 64 * 1024**2
"""Bytes; source files are usually below 1 MiB."""
_HEAD = 1024**2


def read_regular(
    path: Path | str, most: int = LARGEST_FILE, *, listed: bool = False, at: int | None = None
) -> bytes | None:
    """Read a regular file; a link to one is followed.

    Args:
        path: It need not exist.
        most: Bytes that it may have.
        listed: Whether its folder's listing says that it is a regular file.
        at: Handle of the folder in which a relative path is looked up.

    Returns:
        Its bytes, or None where there is none: a FIFO, socket or device is never opened, and never waited for.

    Raises:
        RefusedError: It has more than `most` bytes.
        OSError: It cannot be read.
    """
    content = read_start(path, most + 1, listed=listed, at=at)
    if content is not None and len(content) > most:
        raise RefusedError(f"{path} has more than {most} bytes", hint="no source file is that large: look at the tree")
    return content


def list_folder(folder: Path) -> dict[str, os.DirEntry[str]]:
    """List a folder, which costs less than looking for two of its files.

    Args:
        folder: It need not exist.

    Returns:
        What it has, by name.

    Raises:
        PermissionError: The folder cannot be read.
    """
    try:
        with os.scandir(folder) as entries:
            return {entry.name: entry for entry in entries}
    except PermissionError:
        raise
    except (OSError, ValueError):  # missing, a file, a name that no folder can have
        return {}


def special_file(folder: Path) -> Path | None:
    """The first entry below a folder that is no file, such as a FIFO; links to folders are not followed."""
    for entry in list_folder(folder).values():
        if entry.is_dir(follow_symlinks=False):
            if (found := special_file(Path(entry.path))) is not None:
                return found
        elif not entry.is_file(follow_symlinks=False) and is_special(Path(entry.path)):
            return Path(entry.path)
    return None


def is_special(path: Path) -> bool:
    """Whether there is something that is neither a file nor a folder, or a link to such a thing."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # missing, a loop, …
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def read_head(path: Path) -> str:
    """Read the first MiB of a regular file as text; empty where there is none."""
    return (read_start(path, _HEAD) or b"").decode("utf-8", "replace")


def read_start(path: Path | str, most: int, *, listed: bool = False, at: int | None = None) -> bytes | None:
    """Read the first bytes of a regular file, at most as many; see `read_regular`."""
    try:
        # Opening a device may have an effect, so it is looked at first, and again once it is open.
        if not listed and not stat.S_ISREG(os.stat(path, dir_fd=at).st_mode):
            return None
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=at)
    except PermissionError:
        raise
    except (OSError, ValueError):  # missing, a loop, a name that no file can have
        return None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            return None
        content = os.read(handle, min(most, found.st_size + 1))
        while len(content) < min(most, found.st_size) and (more := os.read(handle, most - len(content))):
            content += more  # a network file system, or a signal, may give less than is there
        return content
    finally:
        os.close(handle)

"""Read files of a tree that somebody else made: never a device, never without end, never more than fits."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from patchtool.domain.errors import RefusedError

LARGEST_FILE = 64 * 1024**2
"""Bytes; source files are usually below 1 MiB."""
_HEAD = 1024**2


def read_regular(path: Path | str, most: int = LARGEST_FILE, *, listed: bool = False) -> bytes | None:
    """Read a regular file; a link to one is followed.

    Args:
        path: It need not exist.
        most: Bytes that it may have.
        listed: Whether its folder's listing says that it is a regular file.

    Returns:
        Its bytes, or None where there is none: a FIFO, socket or device is never opened, and never waited for.

    Raises:
        RefusedError: It has more than `most` bytes.
        OSError: It cannot be read.
    """
    content = _read(path, most + 1, listed=listed)
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


def read_head(path: Path) -> str:
    """Read the first MiB of a regular file as text; empty where there is none."""
    return (_read(path, _HEAD) or b"").decode("utf-8", "replace")


def _read(path: Path | str, most: int, *, listed: bool = False) -> bytes | None:
    try:
        # Opening a device may have an effect, so it is looked at first, and again once it is open.
        if not listed and not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 -- a Path takes half as long again
            return None
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
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

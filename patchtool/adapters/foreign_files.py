"""Read files of a tree that somebody else made: never a device, never without end, never more than fits."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from patchtool.domain.errors import RefusedError

if TYPE_CHECKING:
    from pathlib import Path

LARGEST_FILE = 64 * 1024**2
"""Bytes; the source files of SGLang are below 1 MiB."""
_HEAD = 1024**2


def read_regular(path: Path, most: int = LARGEST_FILE) -> bytes | None:
    """Read a regular file; a link to one is followed.

    Returns:
        Its bytes, or None where there is none: a FIFO, socket or device is never opened, and never waited for.

    Raises:
        RefusedError: It has more than `most` bytes.
        OSError: It cannot be read.
    """
    content = _read(path, most + 1)
    if content is not None and len(content) > most:
        raise RefusedError(f"{path} has more than {most} bytes", hint="no source file is that large: look at the tree")
    return content


def read_head(path: Path) -> str:
    """Read the first MiB of a regular file as text; empty where there is none."""
    return (_read(path, _HEAD) or b"").decode("utf-8", "replace")


def _read(path: Path, most: int) -> bytes | None:
    try:
        # Opening a device may have an effect, so it is looked at first, and again once it is open.
        if not stat.S_ISREG(path.stat().st_mode):
            return None
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except PermissionError:
        raise
    except (OSError, ValueError):  # missing, a loop, a name that no file can have
        return None
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        return file.read(min(most, found.st_size + 1)) if stat.S_ISREG(found.st_mode) else None

"""Whose a state folder is: its records are acted on only where this user wrote them, on this machine, for this tree.

A tree may come with a state folder inside, from an archive or a clone. The file ``owner`` tells a folder of ours: it is
signed with the user's identity, and names the folder. A folder that was moved is still known by its inode, one in an
image layer by its path; a copy is not.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from patchtool.adapters.folders import opened
from patchtool.adapters.identity import is_signed, sign

if TYPE_CHECKING:
    from pathlib import Path

_OWNER = "owner"
_RECORDS = ("journal.json", "applied.json")
_LARGEST = 64 * 1024**2
"""Bytes of one of our files; a record is some kilobytes, the original of a source file at most a few megabytes."""


def foreign(folder: Path) -> str:
    """Tell why a state folder is not acted on; empty where it is our own, is missing or has no record.

    Args:
        folder: The state folder; it is only looked at, and nothing in it is followed.
    """
    try:
        found = folder.lstat()
    except OSError:
        return ""
    if not stat.S_ISDIR(found.st_mode):
        return "it is not a folder"
    try:
        unusual = _unusual_entry(folder)
    except OSError as error:
        return f"it cannot be read ({error.strerror})"
    if unusual:
        return unusual
    has_record = any(os.path.lexists(folder / name) for name in _RECORDS)
    return "this user did not write it on this machine, for this tree" if has_record and not _is_own(folder) else ""


def claim(folder: Path) -> None:
    """Make the state folder if it is missing, and mark it as ours; moves a foreign one away first.

    Raises:
        OSError: The folder or the mark in it cannot be made, or a foreign one moved away.
        RefusedError: A link was put in its place meanwhile.
    """
    if foreign(folder):
        folder.rename(free_name(folder))
    folder.mkdir(exist_ok=True)
    if not _is_own(folder):
        path, inode = str(folder.resolve()), str(folder.stat().st_ino)
        place = f"{path}\n{inode}"
        with opened(folder.parent) as outer, outer.inner(folder.name) as own:
            own.write(_OWNER, os.fsencode(f"{place}\n{sign(os.fsencode(place))}"))


def free_name(folder: Path) -> Path:
    """Where a foreign state folder is moved."""
    number, name = 1, folder.with_name(f"{folder.name}.foreign")
    while os.path.lexists(name):
        number += 1
        name = folder.with_name(f"{folder.name}.foreign-{number}")
    return name


def _is_own(folder: Path) -> bool:
    try:
        place, _, signature = os.fsdecode((folder / _OWNER).read_bytes()).rpartition("\n")
        path, _, inode = place.rpartition("\n")
        here = path == str(folder.resolve()) or inode == str(folder.stat().st_ino)
    except OSError:
        return False
    return here and is_signed(os.fsencode(place), signature)


def _unusual_entry(folder: Path) -> str:
    """Name an entry that is no file or folder of its own: a link, a device, a second name of another file."""
    for entry in folder.iterdir():
        found = entry.lstat()
        if entry.name == "originals" and stat.S_ISDIR(found.st_mode):
            if inner := _unusual_entry(entry):
                return inner
        elif not stat.S_ISREG(found.st_mode) or found.st_nlink > 1 or found.st_size > _LARGEST:
            return f"its entry {entry.name!r} is a link, is no file, or is too large"
    return ""

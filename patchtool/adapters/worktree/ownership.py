"""Whose a state folder is: its records are acted on only where this user wrote them, on this machine, for this tree.

A tree may come with a state folder inside, from an archive or a clone. The file ``owner`` tells a folder of ours: it is
signed with the user's identity, and names the folder. A folder that was moved is still known by its inode, one in an
image layer or from a backup by its path, and one that was moved to another file system because it is not where it was
any more; a copy beside it is not. Each record is signed by itself: an ``owner`` that the user has given away, in an
image or an archive, does not vouch for what others write beside it.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from patchtool.adapters.folders import opened
from patchtool.adapters.identity import is_signed, sign

_OWNER = "owner"
_SIGNED = re.compile(rb'\{\n "signature": "([0-9a-f]{64})",(.*)', re.DOTALL)
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
    if not any(os.path.lexists(folder / name) for name in _RECORDS) or _is_own(folder):
        return ""
    if signed := _signed_place(folder):
        return f"it is a copy of {signed[0]}, which is still there"
    return "this user did not write it on this machine, for this tree"


def make_room(folder: Path) -> None:
    """Make the state folder, for the lock in it, if it is missing; moves a foreign one away first.

    Raises:
        OSError: The folder cannot be made, or a foreign one moved away.
    """
    if foreign(folder):
        folder.rename(free_name(folder))
    folder.mkdir(exist_ok=True)


def claim(folder: Path) -> None:
    """Make the state folder as `make_room` does, and mark it as ours; the caller holds the lock.

    Raises:
        OSError: The folder or the mark in it cannot be made, or a foreign one moved away.
        RefusedError: A link was put in its place meanwhile.
    """
    make_room(folder)
    place = "\n".join(_place(folder))
    if _signed_place(folder) != _place(folder):
        with opened(folder.parent) as outer, outer.inner(folder.name) as own:
            own.write(_OWNER, os.fsencode(f"{place}\n{sign(os.fsencode(place))}"))


def signed_record(document: bytes) -> bytes:
    """Sign a record.

    Args:
        document: A JSON object, with an indent of 1.

    Returns:
        The same object, of which ``signature`` is the first member.

    Raises:
        EnvironmentFault: The user's identity cannot be stored.
    """
    return b'{\n "signature": "%s",%s' % (sign(document).encode(), document[1:])


def is_signed_record(record: bytes) -> bool:
    """Whether this user's patchtool wrote a record on this machine."""
    found = _SIGNED.fullmatch(record)
    return found is not None and is_signed(b"{" + found[2], found[1].decode())


def free_name(folder: Path) -> Path:
    """Where a foreign state folder is moved."""
    number, name = 1, folder.with_name(f"{folder.name}.foreign")
    while os.path.lexists(name):
        number += 1
        name = folder.with_name(f"{folder.name}.foreign-{number}")
    return name


def _is_own(folder: Path) -> bool:
    signed = _signed_place(folder)
    if signed is None:
        return False
    here = _place(folder)
    if signed[0] == here[0] or signed[1] == here[1]:
        return True
    try:
        return str(Path(signed[0]).lstat().st_ino) != signed[1]  # something else is there
    except OSError:
        return True  # moved to another file system


def _place(folder: Path) -> tuple[str, str]:
    """What a folder is known by: its path and its inode."""
    return str(folder.resolve()), str(folder.stat().st_ino)


def _signed_place(folder: Path) -> tuple[str, str] | None:
    """The place that a folder's owner names; None where this user did not sign it."""
    try:
        place, _, signature = os.fsdecode((folder / _OWNER).read_bytes()).rpartition("\n")
    except OSError:
        return None
    path, _, inode = place.rpartition("\n")
    return (path, inode) if is_signed(os.fsencode(place), signature) else None


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

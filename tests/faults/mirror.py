"""A folder that is brought back after each fault: only what changed is read and copied."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from pathlib import Path
from typing import TypeAlias

_Content: TypeAlias = str
_Stamp: TypeAlias = "tuple[int, int, int, int, int]"


class Mirror:
    """A folder and its copy.

    Args:
        folder: It is as it shall be brought back.
        copy: Where the copy is made.
    """

    def __init__(self, folder: Path, copy: Path) -> None:
        self._folder = folder
        self._copy = copy
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy, symlinks=True)
        self._stamps = _stamps(folder)
        self._contents = {path: _content(folder / path) for path in self._stamps}

    def differences(self) -> dict[str, _Content]:
        """Contents of what is not as in the copy, by path; empty for what is missing. Times are not compared."""
        now = _stamps(self._folder)
        moved = [path for path, stamp in now.items() if stamp != self._stamps.get(path)]
        found = {path: _content(self._folder / path) for path in moved}
        changed = {path: content for path, content in found.items() if content != self._contents.get(path)}
        return changed | dict.fromkeys(self._contents.keys() - now.keys(), "")

    def restore(self) -> None:
        """Make the folder as it was."""
        now = _stamps(self._folder)
        for path in sorted(now.keys() - self._stamps.keys(), reverse=True):
            _remove(self._folder / path)
        for path in sorted(path for path, stamp in self._stamps.items() if stamp != now.get(path)):
            self._bring_back(path)
        self._stamps = _stamps(self._folder)

    def _bring_back(self, path: str) -> None:
        place, original = self._folder / path, self._copy / path
        if original.is_dir() and not original.is_symlink():
            if place.is_symlink() or not place.is_dir():
                _remove(place)
                place.mkdir()
            shutil.copystat(original, place)
        else:
            _remove(place)
            shutil.copy2(original, place, follow_symlinks=False)


def _stamps(folder: Path) -> dict[str, _Stamp]:
    """What tells whether an entry was changed, by path below the folder."""
    found: dict[str, _Stamp] = {}
    start = len(os.fspath(folder)) + 1
    folders = [os.fspath(folder)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                is_folder = stat.S_ISDIR(status.st_mode)
                if is_folder:
                    folders.append(entry.path)
                times = (0, 0) if is_folder else (status.st_ctime_ns, status.st_size)
                found[entry.path[start:]] = (status.st_mode, status.st_ino, status.st_nlink * (not is_folder), *times)
    return found


def _content(path: Path) -> _Content:
    """What an entry is, in a short form."""
    status = path.lstat()
    if stat.S_ISLNK(status.st_mode):
        return f"link {path.readlink()}"
    kind = oct(status.st_mode)
    # A state folder's owner names its inode.
    return kind if path.is_dir() or path.name == "owner" else f"{kind} {hashlib.sha1(path.read_bytes()).hexdigest()}"


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)

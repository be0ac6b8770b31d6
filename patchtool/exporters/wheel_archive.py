"""Copying a wheel with some members replaced; the others are copied as they are, compressed bytes and all."""

from __future__ import annotations

import copy
import stat
import zipfile
from io import BytesIO
from time import gmtime
from typing import IO, TYPE_CHECKING

from patchtool.domain.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

_EARLIEST, _LATEST = 315532800, 4354819198
"""1980 and 2107, the dates that a zip archive can have."""
_LOCAL_HEADER = 30
_UNIX = 3


class WheelArchive:
    """An upstream wheel.

    Args:
        file: The wheel, seekable.
        name: Its file name, for messages.
    """

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file = file
        self._name = name
        try:
            self._zip = zipfile.ZipFile(file)
        except zipfile.BadZipFile as error:
            raise InputError(f"{name} cannot be read", cause=str(error)) from error

    @property
    def names(self) -> list[str]:
        """The names of its members, without folders, in order."""
        return [info.filename for info in self._zip.infolist() if not info.is_dir()]

    @property
    def folders(self) -> list[str]:
        """The names of its folders that are members, with a slash at the end."""
        return [info.filename for info in self._zip.infolist() if info.is_dir()]

    def read(self, name: str) -> bytes:
        """The bytes of a member."""
        return self._zip.read(name)

    def mode(self, name: str) -> int:
        """The permission bits of a member."""
        return (self._zip.getinfo(name).external_attr >> 16) & 0o777

    def copied(self, changes: Mapping[str, bytes | None], modes: Mapping[str, int], date: int) -> bytes:
        """Return a copy of the wheel.

        What is new in it is stored without compression, because compressed bytes depend on the version of zlib.

        Args:
            changes: New bytes of members by name, in the place of the old ones or at the end; None removes one.
            modes: Permission bits of new members; those of replaced ones stay.
            date: Of the changed members, seconds since 1970 UTC.
        """
        out = BytesIO()
        ends = self._ends()
        with zipfile.ZipFile(out, "w") as target:
            for info in self._zip.infolist():
                if info.filename not in changes:
                    _append(target, info, self._span(info, ends[info.header_offset]))
                elif (data := changes[info.filename]) is not None:
                    target.writestr(_new_member(info.filename, info.external_attr, date), data)
            known = set(self._zip.namelist())
            for name, data in changes.items():
                if name not in known and data is not None:
                    mode = modes.get(name, 0o644) | stat.S_IFREG
                    target.writestr(_new_member(name, mode << 16, date), data)
        return out.getvalue()

    def _ends(self) -> dict[int, int]:
        """Where each member's bytes end, by where they start."""
        starts = sorted(info.header_offset for info in self._zip.infolist())
        return dict(zip(starts, [*starts[1:], self._zip.start_dir]))

    def _span(self, info: zipfile.ZipInfo, end: int) -> bytes:
        self._file.seek(info.header_offset)
        span = self._file.read(end - info.header_offset)
        name, extra = int.from_bytes(span[26:28], "little"), int.from_bytes(span[28:30], "little")
        if len(span) < _LOCAL_HEADER + name + extra + info.compress_size:
            raise InputError(f"{self._name}: the member {info.filename!r} overlaps another one")
        return span


def _append(target: zipfile.ZipFile, info: zipfile.ZipInfo, span: bytes) -> None:
    """Append a member as it is in another archive, which `zipfile` has no method for."""
    assert target.fp is not None  # noqa: S101 -- it is open
    target.fp.seek(target.start_dir)
    moved = copy.copy(info)
    moved.header_offset = target.start_dir
    target.fp.write(span)
    target.start_dir = target.fp.tell()
    target.filelist.append(moved)
    target.NameToInfo[moved.filename] = moved


def _new_member(name: str, attributes: int, date: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, gmtime(min(max(date, _EARLIEST), _LATEST))[:6])
    info.external_attr = attributes
    info.create_system = _UNIX
    return info

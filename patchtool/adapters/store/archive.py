"""Read wheels and source archives as streams of checked members; nothing is unpacked to disk or executed."""

from __future__ import annotations

import re
import stat
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, cast

from patchtool.adapters.store.bounded import BoundedFile
from patchtool.adapters.store.members import PathCheck
from patchtool.adapters.store.zip_headers import difference
from patchtool.domain.errors import RefusedError

if TYPE_CHECKING:
    import tarfile
    import zipfile
    from collections.abc import Iterator

_NATIVE = re.compile(r"\.(so(\.\d+)*|pyd|dylib|dll|exe|a|lib|o|obj)$", re.IGNORECASE)
_LARGEST = 4 * 1024**3
"""Unpacked bytes of an archive; a larger one is taken for a decompression bomb, as for the next two limits."""
_LARGEST_PORTABLE = 512 * 1024**2
"""Unpacked bytes of what is read of an archive: everything but machine code."""
_LARGEST_MEMBER = 64 * 1024**2
"""Unpacked bytes of one file that is read; those of a package are usually below 1 MiB."""
_MOST_MEMBERS = 50_000
_ENCRYPTED = 0x1
_SHOWN = 200
_BLOCK = 1 << 16
_METHODS = (0, 8)
"""Stored and deflated."""
_UTF8 = 0x800


@dataclass(frozen=True)
class Member:
    """One regular file of an archive.

    Args:
        path: As installed: ``package/…``.
        size: Unpacked bytes.
        handle: The member's object in `zipfile` or `tarfile`.
    """

    path: str
    size: int
    handle: object

    @property
    def native(self) -> bool:
        """Whether it is machine code, which differs between a release's artifacts."""
        return _NATIVE.search(self.path) is not None


@contextmanager
def open_archive(file: IO[bytes], filename: str) -> Iterator[Wheel | SourceArchive]:
    """Open a wheel or a source archive.

    Args:
        file: Seekable, at any position.
        filename: Determines the format, and is used in messages.

    Raises:
        RefusedError: Neither ``.whl`` nor ``.tar.gz``, or not readable as such.
    """
    # Imported late: reading releases that are in the store needs none of them.
    import gzip
    import struct
    import tarfile
    import zipfile
    import zlib

    file.seek(0)
    try:
        if filename.endswith(".whl"):
            with zipfile.ZipFile(cast("IO[bytes]", BoundedFile(file, filename))) as wheel:
                yield Wheel(wheel, filename)
        elif filename.endswith(".tar.gz"):
            bounded = BoundedFile(cast("IO[bytes]", gzip.GzipFile(fileobj=file)), filename, counted=True)
            with tarfile.open(fileobj=cast("IO[bytes]", bounded), mode="r:") as source:
                yield SourceArchive(source, bounded, filename)
        else:
            raise RefusedError(f"{filename} is neither a wheel nor a .tar.gz")
    except (
        zipfile.BadZipFile,
        tarfile.TarError,
        gzip.BadGzipFile,
        zlib.error,
        struct.error,
        EOFError,
        NotImplementedError,
        OverflowError,
        RecursionError,
        ValueError,
    ) as error:
        raise RefusedError(f"{filename} cannot be read", cause=str(error)) from error


class Wheel:
    """An open wheel."""

    def __init__(self, wheel: zipfile.ZipFile, filename: str) -> None:
        self._wheel = wheel
        self._filename = filename

    def members(self) -> list[Member]:
        """Check every member, and return the regular files.

        Raises:
            RefusedError: A member is unsafe; names the archive and the member.
        """
        checked = _CheckedMembers(self._filename)
        infos = self._wheel.infolist()
        if sum(info.compress_size for info in infos) > self._wheel.start_dir:
            raise RefusedError(f"{self._filename} is refused: its members overlap")
        if found := difference(self._wheel):
            checked.refuse(*found)
        for info in infos:
            name, kind = info.orig_filename, stat.S_IFMT(info.external_attr >> 16)
            if info.flag_bits & _ENCRYPTED or info.compress_type not in _METHODS:
                checked.refuse(name, "it is encrypted, or compressed in an unusual way")
            if not name.isascii() and not info.flag_bits & _UTF8:
                checked.refuse(name, "its name is not in UTF-8")
            if name.endswith("/") and kind in (0, stat.S_IFDIR):
                checked.folder(name.removesuffix("/"))
            elif kind in (0, stat.S_IFREG):
                checked.file(name, info.file_size, info)
            else:
                checked.refuse(name, "it is a symlink or a special file")
        return checked.members

    def open(self, member: Member) -> IO[bytes]:
        """Read one member."""
        return self._wheel.open(member.handle)  # type: ignore[arg-type]

    def is_metadata(self, path: str) -> bool:
        """Whether this member has the distribution's name and version."""
        return PurePosixPath(path).match("*.dist-info/METADATA") and path.count("/") == 1


class SourceArchive:
    """An open source archive; all members are in one folder, which is removed from their paths."""

    def __init__(self, source: tarfile.TarFile, file: BoundedFile, filename: str) -> None:
        self._source = source
        self._file = file
        self._filename = filename
        self._prefix = filename.removesuffix(".tar.gz")

    def members(self) -> list[Member]:
        """See `Wheel.members`."""
        checked = _CheckedMembers(self._filename)
        for info in self._source:
            self._file.reset(counted=True)
            inside = info.name.removeprefix(self._prefix + "/")
            if info.isdir():
                checked.folder(info.name if info.name == self._prefix else inside)
            elif inside == info.name:
                checked.refuse(info.name, f"it is outside of {self._prefix}/")
            elif info.isreg() and not info.issparse():
                checked.file(inside, info.size, info)
            else:
                checked.refuse(info.name, "it is a symlink or a special file")
        self._check_end()
        self._file.reset(counted=False)
        return checked.members

    def _check_end(self) -> None:
        """Check that only zeros follow: tarfile takes a damaged header for the end, and skips the rest in silence."""
        self._file.reset(counted=True)
        self._file.seek(self._source.offset)
        while rest := self._file.read(_BLOCK):
            if rest.strip(b"\0"):
                raise RefusedError(f"{self._filename} is refused: its end, or a member's header, is damaged")

    def open(self, member: Member) -> IO[bytes]:
        """Read one member."""
        stream = self._source.extractfile(member.handle)  # type: ignore[arg-type]
        if stream is None:
            raise RefusedError(f"{self._filename}: {member.path!r} has no content")
        return stream

    def is_metadata(self, path: str) -> bool:
        """Whether this member has the distribution's name and version."""
        return path == "PKG-INFO"


class _CheckedMembers:
    """The regular files of one archive."""

    def __init__(self, filename: str) -> None:
        self.members: list[Member] = []
        self._filename = filename
        self._paths = PathCheck()
        self._count = self._size = self._portable = 0

    def folder(self, path: str) -> None:
        self._add(path, folder=True)

    def file(self, path: str, size: int, handle: object) -> None:
        self._add(path)
        member = Member(path, size, handle)
        self._size += size
        self._portable += 0 if member.native else size
        if size < 0 or (size > _LARGEST_MEMBER and not member.native):
            self.refuse(path, f"its size is {size} bytes")
        if self._size > _LARGEST or self._portable > _LARGEST_PORTABLE:
            self.refuse(path, f"with it the archive unpacks to more than {_LARGEST_PORTABLE} bytes")
        self.members.append(member)

    def _add(self, path: str, *, folder: bool = False) -> None:
        self._count += 1
        if self._count > _MOST_MEMBERS:
            self.refuse(path, f"it has more than {_MOST_MEMBERS} members")
        self.refuse(path, self._paths.add(path, folder=folder))

    def refuse(self, path: str, reason: str | None) -> None:
        if reason is not None:
            raise RefusedError(f"{self._filename}: the member {path[:_SHOWN]!r} is refused: {reason}")

"""Wheels and source archives as streams of checked members; nothing is unpacked to disk, nothing is run."""

from __future__ import annotations

import re
import stat
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, Protocol

from patchtool.adapters.store.members import PathCheck
from patchtool.domain.errors import RefusedError

if TYPE_CHECKING:
    import tarfile
    import zipfile
    from collections.abc import Iterator

_NATIVE = re.compile(r"\.(so(\.\d+)*|pyd|dylib|dll|exe|a|lib|o|obj)$", re.IGNORECASE)
_LARGEST = 4 * 1024**3
"""Bytes unpacked; a release of a Python project beyond it is a bomb."""
_ENCRYPTED = 0x1
_METHODS = (0, 8)
"""Stored and deflated."""
_UTF8 = 0x800


@dataclass(frozen=True)
class Member:
    """One regular file of an archive.

    Args:
        path: As installed: ``sglang/…``.
        size: Bytes, unpacked.
        handle: What the archive's library knows it by.
    """

    path: str
    size: int
    handle: object

    @property
    def native(self) -> bool:
        """Whether it is machine code, which differs between the artifacts of a release."""
        return _NATIVE.search(self.path) is not None


class Distribution(Protocol):
    """A checked archive that is open for reading."""

    def members(self) -> list[Member]:
        """Every regular file, each path and kind checked.

        Raises:
            RefusedError: One member could do harm; names the archive and the member.
        """

    def open(self, member: Member) -> IO[bytes]:
        """Read one member."""

    def is_metadata(self, path: str) -> bool:
        """Whether this member states the distribution's name and version."""


@contextmanager
def open_archive(file: IO[bytes], filename: str) -> Iterator[Distribution]:
    """Open a wheel or a source archive.

    Args:
        file: Seekable, at any position.
        filename: Tells the kind, and names it in messages.

    Raises:
        RefusedError: Neither ``.whl`` nor ``.tar.gz``, or damaged in a way its checksum does not explain.
    """
    # Imported here: reading releases that are in the store already needs neither.
    import gzip
    import tarfile
    import zipfile
    import zlib

    file.seek(0)
    try:
        if filename.endswith(".whl"):
            with zipfile.ZipFile(file) as wheel:
                yield _Wheel(wheel, filename)
        elif filename.endswith(".tar.gz"):
            with tarfile.open(fileobj=file, mode="r:gz") as source:
                yield _SourceArchive(source, filename)
        else:
            raise RefusedError(f"{filename} is neither a wheel nor a .tar.gz")
    except (
        zipfile.BadZipFile,
        tarfile.TarError,
        gzip.BadGzipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        UnicodeDecodeError,
    ) as error:
        raise RefusedError(f"{filename} cannot be read", cause=str(error)) from error


class _Wheel:
    def __init__(self, wheel: zipfile.ZipFile, filename: str) -> None:
        self._wheel = wheel
        self._filename = filename

    def members(self) -> list[Member]:
        check = _Check(self._filename)
        for info in self._wheel.infolist():
            name, kind = info.orig_filename, stat.S_IFMT(info.external_attr >> 16)
            if info.flag_bits & _ENCRYPTED or info.compress_type not in _METHODS:
                check.refuse(name, "it is encrypted, or compressed in an unusual way")
            if not name.isascii() and not info.flag_bits & _UTF8:
                check.refuse(name, "its name is not in UTF-8")
            if name.endswith("/") and kind in (0, stat.S_IFDIR):
                check.folder(name.removesuffix("/"))
            elif kind in (0, stat.S_IFREG):
                check.file(name, info.file_size, info)
            else:
                check.refuse(name, "it is a symlink or a special file")
        return check.found

    def open(self, member: Member) -> IO[bytes]:
        return self._wheel.open(member.handle)  # type: ignore[arg-type]

    def is_metadata(self, path: str) -> bool:
        return PurePosixPath(path).match("*.dist-info/METADATA") and path.count("/") == 1


class _SourceArchive:
    """Everything of it stands in one folder, which is taken off."""

    def __init__(self, source: tarfile.TarFile, filename: str) -> None:
        self._source = source
        self._filename = filename
        self._prefix = filename.removesuffix(".tar.gz")

    def members(self) -> list[Member]:
        check = _Check(self._filename)
        for info in self._source:
            inside = info.name.removeprefix(self._prefix + "/")
            if info.isdir():
                check.folder(info.name if info.name == self._prefix else inside)
            elif inside == info.name:
                check.refuse(info.name, f"it stands outside {self._prefix}/")
            elif info.isreg() and not info.issparse():
                check.file(inside, info.size, info)
            else:
                check.refuse(info.name, "it is a symlink or a special file")
        return check.found

    def open(self, member: Member) -> IO[bytes]:
        stream = self._source.extractfile(member.handle)  # type: ignore[arg-type]
        if stream is None:
            raise RefusedError(f"{self._filename}: {member.path!r} has no content")
        return stream

    def is_metadata(self, path: str) -> bool:
        return path == "PKG-INFO"


class _Check:
    """Members found so far, each judged before it is kept."""

    def __init__(self, filename: str) -> None:
        self.found: list[Member] = []
        self._filename = filename
        self._paths = PathCheck()
        self._size = 0

    def folder(self, path: str) -> None:
        self._judge(path, self._paths.add(path, folder=True))

    def file(self, path: str, size: int, handle: object) -> None:
        self._judge(path, self._paths.add(path))
        self._size += size
        if self._size > _LARGEST:
            self.refuse(path, f"with it the archive unpacks to more than {_LARGEST} bytes")
        self.found.append(Member(path, size, handle))

    def _judge(self, path: str, reason: str | None) -> None:
        if reason is not None:
            self.refuse(path, reason)

    def refuse(self, path: str, reason: str) -> None:
        raise RefusedError(f"{self._filename}: the member {path!r} is refused: {reason}")

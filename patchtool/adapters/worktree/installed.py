"""The ``RECORD`` of an installed wheel, kept true: one line per file with its hash and size.

Source: https://packaging.python.org/en/latest/specifications/recording-installed-packages/#the-record-file
"""

from __future__ import annotations

import csv
import hashlib
import re
from base64 import urlsafe_b64encode
from contextlib import suppress
from io import StringIO
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters.folders import Folder, opened, staged
from patchtool.adapters.worktree.layout import dist_infos
from patchtool.domain.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from patchtool.domain.package import Package

_ALGORITHMS = frozenset({"sha256", "sha384", "sha512"})
_RECORD = "RECORD"
_PERMISSIONS = 0o644
_LARGEST = 64 << 20
"""Bytes of a ``RECORD`` that is read; that of a wheel with 100,000 files has a tenth."""


class RecordEntry(NamedTuple):
    """What a ``RECORD`` has for a file.

    Args:
        hash: ``sha256=`` and the digest in URL-safe base64; empty where there is no line, or one without a hash.
        size: In bytes, decimal; may be empty.
    """

    hash: str = ""
    size: str = ""

    def describes(self, content: bytes) -> bool:
        """Whether this is the entry of a file with these bytes."""
        return bool(self.hash) and self.hash == entry_of(content, self).hash


_USUAL = RecordEntry("sha256=", "0")


def entry_of(content: bytes, like: RecordEntry = _USUAL) -> RecordEntry:
    """The entry of a file with these bytes, with the algorithm of another entry, and a size if that has one."""
    algorithm = like.hash.partition("=")[0]
    if algorithm not in _ALGORITHMS:
        return RecordEntry()
    digest = urlsafe_b64encode(hashlib.new(algorithm, content).digest()).rstrip(b"=").decode()
    return RecordEntry(f"{algorithm}={digest}", str(len(content)) if like.size else "")


def is_installed(base: Path, package: Package) -> bool:
    """Whether a folder has a wheel's ``RECORD`` for the package."""
    return bool(_read_records(base, package))


def record_entries(base: Path, package: Package, names: Collection[str]) -> dict[str, RecordEntry]:
    """What the installer wrote, for those of the files that it recorded with a hash.

    Args:
        base: The site-packages folder.
        package: The package.
        names: Files relative to it.
    """
    lines = (line for content in _read_records(base, package) for line in content.splitlines())
    return {name: entry for line in lines for name, entry in _parsed(line, names) if entry.hash}


def record_lines(base: Path, package: Package, names: Collection[str]) -> dict[str, tuple[int, str]]:
    """Number and text of the lines of those files, by which `updated` puts them back where they were."""
    lines = (pair for content in _read_records(base, package) for pair in enumerate(content.splitlines(keepends=True)))
    return {
        name: (number, line.decode("utf-8", "surrogateescape"))
        for number, line in lines
        for name, _ in _parsed(line, names)
    }


def update_record(
    base: Folder,
    package: Package,
    changes: Mapping[str, tuple[RecordEntry, RecordEntry]],
    places: Mapping[str, tuple[int, str]] = MappingProxyType({}),
) -> None:
    """Change entries that are as expected; can be repeated.

    Args:
        base: The site-packages folder, open; one without a ``RECORD`` stays as it is.
        package: The package.
        changes: Entries before and after, by name relative to it; an empty one for no line.
        places: Where the lines of some files were; see `record_lines`.

    Raises:
        RefusedError: The metadata folder has become a link.
    """
    wanted = any(entry.hash for entries in changes.values() for entry in entries)
    for info, content in _records(base, package, refuse_links=wanted):
        changed = updated(content, changes, places)
        with base.inner(info) as folder:
            if changed != content:
                status = folder.status(_RECORD)
                folder.write(_RECORD, changed, status.st_mode & 0o777 if status else _PERMISSIONS)
            else:
                folder.remove(staged(_RECORD))  # of a run that was killed while it wrote


def updated(
    content: bytes,
    changes: Mapping[str, tuple[RecordEntry, RecordEntry]],
    places: Mapping[str, tuple[int, str]] = MappingProxyType({}),
) -> bytes:
    """The content of a ``RECORD`` with changed entries; see `update_record`. Every other byte stays.

    Where the last line has no newline, the last line afterwards has none.
    """
    lines, listed = [], set()
    for line in content.splitlines(keepends=True):
        name, entry = next(_parsed(line, changes), ("", RecordEntry()))
        listed.add(name)
        before, after = changes.get(name, (entry, entry))
        if before.hash and entry == before:
            line = _with_entry(line, before, after)
        if line:
            lines.append(line)
    added = {name: after for name, (before, after) in changes.items() if not before.hash and after.hash}
    ending = "\r\n" if content.partition(b"\n")[0].endswith(b"\r") else "\n"
    _insert(lines, {name: entry for name, entry in added.items() if name not in listed}, places, ending)
    joined = b"".join(lines)
    return joined if not content or content.endswith(b"\n") else joined.removesuffix(ending.encode())


def _insert(
    lines: list[bytes], entries: Mapping[str, RecordEntry], places: Mapping[str, tuple[int, str]], ending: str
) -> None:
    """Insert lines: one that was here before where it was, with its own bytes; others at the end."""
    back = []
    for name, entry in entries.items():
        number, text = places.get(name, (-1, ""))
        line = text.encode("utf-8", "surrogateescape")
        if (name, entry) in _parsed(line, [name]):
            back.append((number, name, line))
    for number, _, line in sorted(back):
        lines.insert(number, line)
    added = StringIO(newline="")
    writer = csv.writer(added, lineterminator=ending)
    for name in sorted(entries.keys() - {name for _, name, _ in back}):
        writer.writerow([name, *entries[name]])
    lines.append(added.getvalue().encode())
    for number, line in enumerate(lines[:-1]):
        if not line.endswith(b"\n") and any(lines[number + 1 :]):
            lines[number] = line + ending.encode()


def _read_records(base: Path, package: Package) -> list[bytes]:
    with opened(base) as folder:
        return [content for _, content in _records(folder, package)]


def _records(base: Folder, package: Package, *, refuse_links: bool = False) -> Iterator[tuple[str, bytes]]:
    """Those of the package itself, which list files of its package: the metadata folder's name, and the content.

    Raises:
        RefusedError: A metadata folder is a link, so that it is of a cache; without `refuse_links` it is passed over.
    """
    own = re.compile(rb"^\"?%s/" % re.escape(package.name.encode()), re.MULTILINE)
    passed = (FileNotFoundError,) if refuse_links else (FileNotFoundError, RefusedError)
    for info in dist_infos(base.path, package):
        with suppress(*passed), base.inner(info.name) as folder:
            status = folder.status(_RECORD)
            content = (folder.read(_RECORD) or b"") if status and status.st_size <= _LARGEST else b""
            if own.search(content):
                yield info.name, content


def _parsed(line: bytes, names: Collection[str]) -> Iterator[tuple[str, RecordEntry]]:
    """Name and entry of a line, if it is about one of these files."""
    text = line.decode(errors="replace")
    if text.strip('\r\n"').split(",")[0].rstrip('"') in names or '"' in text:
        try:
            rows = [row for row in csv.reader([text]) if len(row) == 3 and row[0] in names]
        except csv.Error:  # no line that an installer writes
            return
        yield from ((name, RecordEntry(digest, size)) for name, digest, size in rows)


def _with_entry(line: bytes, before: RecordEntry, after: RecordEntry) -> bytes:
    if not after.hash:
        return b""
    bare = line.rstrip(b"\r\n")
    start = bare.removesuffix(f"{before.hash},{before.size}".encode())
    return start + f"{after.hash},{after.size}".encode() + line[len(bare) :]

"""The ``RECORD`` of an installed wheel, kept true: one line per file with its hash and size.

Source: https://packaging.python.org/en/latest/specifications/recording-installed-packages/#the-record-file
"""

from __future__ import annotations

import csv
import hashlib
from base64 import urlsafe_b64encode
from io import StringIO
from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters.files import atomic_write, staged_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

_ALGORITHMS = frozenset({"sha256", "sha384", "sha512"})
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


def is_installed(base: Path) -> bool:
    """Whether a folder has a wheel's ``RECORD`` for SGLang."""
    return any(True for _ in _records(base))


def record_entries(base: Path, names: Collection[str]) -> dict[str, RecordEntry]:
    """What the installer wrote, for those of the files that it recorded with a hash.

    Args:
        base: The site-packages folder.
        names: Files relative to it.
    """
    lines = (line for record in _records(base) for line in record.read_bytes().splitlines())
    return {name: entry for line in lines for name, entry in _parsed(line, names) if entry.hash}


def update_record(base: Path, changes: Mapping[str, tuple[RecordEntry, RecordEntry]]) -> None:
    """Change entries that are as expected; can be repeated.

    Args:
        base: The site-packages folder; one without a ``RECORD`` stays as it is.
        changes: Entries before and after, by name relative to it; an empty one for no line.
    """
    for record in _records(base):
        content = record.read_bytes()
        changed = updated(content, changes)
        if changed != content:
            atomic_write(record, changed, record.stat().st_mode & 0o777)
        else:
            staged_name(record).unlink(missing_ok=True)  # of a run that was killed while it wrote


def updated(content: bytes, changes: Mapping[str, tuple[RecordEntry, RecordEntry]]) -> bytes:
    """The content of a ``RECORD`` with changed entries; see `update_record`. Every other byte stays."""
    lines, listed = [], set()
    for line in content.splitlines(keepends=True):
        name, entry = next(_parsed(line, changes), ("", RecordEntry()))
        listed.add(name)
        before, after = changes.get(name, (entry, entry))
        if before.hash and entry == before:
            line = _with_entry(line, before, after)
        lines.append(line)
    added = StringIO(newline="")
    writer = csv.writer(added, lineterminator="\r\n" if lines and lines[0].endswith(b"\r\n") else "\n")
    for name, (before, after) in sorted(changes.items()):
        if not before.hash and after.hash and name not in listed:
            writer.writerow([name, *after])
    if added.getvalue() and lines and not lines[-1].endswith(b"\n"):
        lines.append(b"\n")
    return b"".join(lines) + added.getvalue().encode()


def _records(base: Path) -> Iterator[Path]:
    for record in sorted(base.glob("sglang*.dist-info/RECORD")):
        if record.is_file() and record.stat().st_size <= _LARGEST:
            yield record


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

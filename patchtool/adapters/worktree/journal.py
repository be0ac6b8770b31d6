"""The journal of a worktree: what is being changed or is applied, and copies of the files' bytes.

``journal.json`` exists during a change. Renaming it to ``applied.json`` completes the change and makes it the record of
what is applied; the record of a series that was taken out names none, and is removed with all copies.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.adapters.files import safe_join
from patchtool.adapters.folders import Folder, is_staged, opened
from patchtool.adapters.foreign_files import read_regular
from patchtool.adapters.worktree.ownership import foreign, is_signed_record, signed_record
from patchtool.adapters.worktree.records import (
    NO_RECORD,
    Applied,
    FileChange,
    Record,
    read_record,
    unreadable,
    write_record,
)
from patchtool.domain.errors import EnvironmentFault, RefusedError
from patchtool.domain.objects import blob_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from patchtool.adapters.worktree.records import Transition
    from patchtool.domain.package import Package

_PENDING, _APPLIED, _RESERVED, _COPIES = "journal.json", "applied.json", "reserved", "originals"
_OVERHEAD = 256 * 1024
"""Bytes for refs, reflogs and directory entries."""
_LARGEST_RESERVE = 32 * 1024**2


class Journal:
    """The state folder of one worktree.

    Args:
        folder: ``patchtool`` in the git folder, or ``.patchtool`` beside the package.
        package: The package; a record names no other files.
    """

    def __init__(self, folder: Path, package: Package) -> None:
        self.folder = folder
        self._package = package

    @property
    def lock(self) -> Path:
        """The lock file of every run that writes to the worktree."""
        return self.folder / "lock"

    def applied(self) -> Applied | None:
        """The applied series, None when there is none of ours."""
        return self._load(_APPLIED).applied

    def pending(self) -> Transition | None:
        """The change that did not complete, None when there is none of ours."""
        return self._load(_PENDING).transition

    def begin(self, transition: Transition, applied: Applied | None, copies: Iterable[bytes]) -> None:
        """Record a change before its first step, and reserve the space that rolling it back needs.

        Everything is on disk when this returns; if it cannot be, nothing is recorded.

        Args:
            transition: The change.
            applied: What is applied when it is complete.
            copies: The bytes that the files have before, and those that going on from there later needs.
        """
        wanted = {blob_id(data): data for data in copies}
        self._reserve_space(sum(len(wanted.get(step.before.content, b"")) for step in transition.files))
        self._write(_PENDING, Record(applied, transition), wanted)

    def adopt(self, found: Applied, copies: Iterable[bytes]) -> None:
        """Record a series that was found in the worktree; on disk when this returns."""
        self._write(_APPLIED, Record(found), {blob_id(data): data for data in copies})

    @contextmanager
    def _opened(self) -> Iterator[Folder]:
        """Hold the state folder open; whatever is put in its place is not written to."""
        with opened(self.folder.parent) as outer, outer.inner(self.folder.name) as folder:
            yield folder

    def _write(self, name: str, record: Record, contents: Mapping[str, bytes]) -> None:
        with self._opened() as folder:
            with folder.inner(_COPIES, create=True) as copies:
                for content, data in contents.items():
                    if blob_id(copies.read(content) or b"") != content:
                        copies.write(content, data)
            folder.write(name, signed_record(write_record(record)))

    def _reserve_space(self, size: int) -> None:
        index = self.folder.with_name("index")  # of a checkout: git writes it as a whole
        size = min(size + (index.stat().st_size if index.is_file() else 0) + _OVERHEAD, _LARGEST_RESERVE)
        with self._opened() as folder:
            folder.reserve(_RESERVED, size)

    def release_space(self) -> None:
        """Give back the space that was reserved, for a rollback to use."""
        with self._opened() as folder:
            folder.remove(_RESERVED)

    def finish(self) -> None:
        """Complete the pending change; where this raises, it is still pending."""
        self.release_space()
        with self._opened() as folder:
            folder.rename(_PENDING, _APPLIED)
            with suppress(OSError, RefusedError):  # it is complete; the next run removes what is left
                folder.sync()
                self._remove_leftovers(folder)

    def cancel(self) -> None:
        """Forget the pending change, which was rolled back; what was applied before it is applied."""
        self._remove(_RESERVED, _PENDING)

    def clear(self) -> None:
        """Remove every record: nothing of ours is in the worktree any more."""
        # Records before originals: a record without its originals could not be rolled back.
        self._remove(_PENDING, _APPLIED, _RESERVED)

    def _remove(self, *names: str) -> None:
        with self._opened() as folder:
            for name in names:
                folder.remove(name)
            folder.sync()
            self._remove_leftovers(folder)

    def has_record(self) -> bool:
        """Whether there is a record, of this user or another."""
        try:
            with self._opened() as folder:
                return not {_PENDING, _APPLIED}.isdisjoint(folder.names())
        except (FileNotFoundError, RefusedError):
            return False

    def has_leftovers(self) -> bool:
        """Whether a run was killed while it wrote to the state folder itself, and to nothing else."""
        if not self.folder.is_dir() or foreign(self.folder):
            return False
        with self._opened() as folder:
            return bool(self._leftovers(folder))

    def remove_leftovers(self) -> None:
        """Remove what no record needs, such as the files of a write that was killed; the caller holds the lock."""
        with self._opened() as folder:
            self._remove_leftovers(folder)

    def _remove_leftovers(self, folder: Folder) -> None:
        for place, name in self._leftovers(folder):
            with folder.inner(place) as inner:
                if name == _COPIES:
                    inner.remove_folder(name)
                else:
                    inner.remove(name)

    def _leftovers(self, folder: Folder) -> list[tuple[str, str]]:
        """What no record needs: a folder of the state folder, empty for itself, and a name in it."""
        names = folder.names()
        copies = []
        if _COPIES in names:
            with folder.inner(_COPIES) as inner:
                copies = inner.names()
        found = [("", name) for name in names if is_staged(name)]
        if _PENDING in names:
            return found + [(_COPIES, name) for name in copies if is_staged(name)]
        found += [("", _RESERVED)] if _RESERVED in names else []
        record = folder.read(_APPLIED)
        applied = self._parse(_APPLIED, record).applied if record is not None else None
        if applied is None:
            return found + [("", name) for name in (_APPLIED, _COPIES) if name in names]
        needed = {change.disk_after for change in applied.files} | {Path(c.original).name for c in applied.files}
        return found + [(_COPIES, name) for name in copies if name not in needed]

    def original(self, change: FileChange) -> bytes | None:
        """Read the bytes that a file had before; None for a file that was created.

        Raises:
            RefusedError: The record, which may have come with a downloaded tree, points out of the state folder.
            EnvironmentFault: The copy is missing or damaged.
        """
        if not change.disk_before:
            return None
        file = safe_join(self.folder, change.original)
        content = read_regular(file) or b""
        if blob_id(content) != change.disk_before:
            raise self._lost(change.path)
        return content

    def copy(self, name: str) -> bytes | None:
        """Read a copy by its blob id; None where it is missing or damaged."""
        content = read_regular(self.folder / _COPIES / name)
        return content if content is not None and blob_id(content) == name else None

    def contents_before(self, transition: Transition) -> dict[str, bytes | None]:
        """The bytes that every file had before a change, by path; None where there was none.

        Raises:
            EnvironmentFault: A copy is missing or damaged.
        """
        contents: dict[str, bytes | None] = {}
        for step in transition.files:
            contents[step.path] = self.copy(step.before.content) if step.before.content else None
            if step.before.content and contents[step.path] is None:
                raise self._lost(step.path)
        return contents

    def _lost(self, path: str) -> EnvironmentFault:
        return EnvironmentFault(
            f"the original of {path} is missing from {self.folder}, or damaged",
            hint="restore the file from its release or with git, then remove that folder",
        )

    def _load(self, name: str) -> Record:
        try:
            with self._opened() as folder:
                record = folder.read(name)
        except (FileNotFoundError, RefusedError):
            return NO_RECORD
        return NO_RECORD if record is None or foreign(self.folder) else self._parse(name, record)

    def _parse(self, name: str, record: bytes) -> Record:
        file = self.folder / name
        found = read_record(record, file, self._package)
        if not is_signed_record(record):
            raise unreadable(
                file, "it was changed since this user's patchtool wrote it, or an older patchtool wrote it"
            )
        return found

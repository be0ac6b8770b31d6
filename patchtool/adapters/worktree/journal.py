"""The journal of a worktree: what is being changed or is applied, and copies of the files' bytes.

``journal.json`` exists during a change. Renaming it to ``applied.json`` completes the change and makes it the record of
what is applied; the record of a series that was taken out names none, and is removed with all copies.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.adapters.files import atomic_write, safe_join, staged_name, sync_folder
from patchtool.adapters.foreign_files import read_regular
from patchtool.adapters.worktree.ownership import foreign
from patchtool.adapters.worktree.records import NO_RECORD, Applied, FileChange, Record, read_record, write_record
from patchtool.domain.errors import EnvironmentFault
from patchtool.domain.objects import blob_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from patchtool.adapters.worktree.records import Transition
    from patchtool.domain.package import Package

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
        self._copies = folder / "originals"
        self._pending = folder / "journal.json"
        self._applied = folder / "applied.json"
        self._reserved = folder / "reserved"

    @property
    def lock(self) -> Path:
        """The lock file of every run that writes to the worktree."""
        return self.folder / "lock"

    def applied(self) -> Applied | None:
        """The applied series, None when there is none of ours."""
        return self._load(self._applied).applied

    def pending(self) -> Transition | None:
        """The change that did not complete, None when there is none of ours."""
        return self._load(self._pending).transition

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
        self._write(self._pending, Record(applied, transition), wanted)

    def adopt(self, found: Applied, copies: Iterable[bytes]) -> None:
        """Record a series that was found in the worktree; on disk when this returns."""
        self._write(self._applied, Record(found), {blob_id(data): data for data in copies})

    def _write(self, file: Path, record: Record, copies: dict[str, bytes]) -> None:
        self._copies.mkdir(exist_ok=True)
        for name, data in copies.items():
            if self.copy(name) is None:
                atomic_write(self._copies / name, data)
        atomic_write(file, write_record(record))

    def _reserve_space(self, size: int) -> None:
        index = self.folder.with_name("index")  # of a checkout: git writes it as a whole
        size = min(size + (index.stat().st_size if index.is_file() else 0) + _OVERHEAD, _LARGEST_RESERVE)
        with self._reserved.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size)
            os.fsync(file.fileno())

    def release_space(self) -> None:
        """Give back the space that was reserved, for a rollback to use."""
        self._reserved.unlink(missing_ok=True)

    def finish(self) -> None:
        """Complete the pending change; where this raises, it is still pending."""
        self.release_space()
        self._pending.replace(self._applied)
        with suppress(OSError):  # it is complete; the next run removes what is left
            sync_folder(self.folder)
            self.remove_leftovers()

    def cancel(self) -> None:
        """Forget the pending change, which was rolled back; what was applied before it is applied."""
        self.release_space()
        self._pending.unlink(missing_ok=True)
        sync_folder(self.folder)
        self.remove_leftovers()

    def clear(self) -> None:
        """Remove every record: nothing of ours is in the worktree any more."""
        # Records before originals: a record without its originals could not be rolled back.
        for record in (self._pending, self._applied, self._reserved):
            record.unlink(missing_ok=True)
        sync_folder(self.folder)
        self.remove_leftovers()

    def has_leftovers(self) -> bool:
        """Whether a run was killed while it wrote to the state folder itself, and to nothing else."""
        return self.folder.is_dir() and not foreign(self.folder) and bool(self._leftovers())

    def remove_leftovers(self) -> None:
        """Remove what no record needs, such as the files of a write that was killed; the caller holds the lock."""
        for leftover in self._leftovers():
            if leftover.is_dir():
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                leftover.unlink(missing_ok=True)

    def _leftovers(self) -> list[Path]:
        found = list(self.folder.glob(f"**/{staged_name(Path('*'))}"))
        if self._pending.exists():
            return found
        found += [self._reserved] if self._reserved.exists() else []
        applied = self.applied()
        if applied is None:
            return [*found, *(place for place in (self._applied, self._copies) if place.exists())]
        needed = {change.disk_after for change in applied.files} | {Path(c.original).name for c in applied.files}
        return [*found, *(copy for copy in self._copies.iterdir() if copy.name not in needed)]

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
        content = read_regular(self._copies / name)
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

    def _load(self, file: Path) -> Record:
        return NO_RECORD if not file.exists() or foreign(self.folder) else read_record(file, self._package)

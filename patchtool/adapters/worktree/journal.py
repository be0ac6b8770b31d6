"""The journal of a worktree: what is written or unapplied, and the files' original bytes.

``journal.json`` exists during a write. Renaming it to ``applied.json`` completes the write and makes it the record of
what is applied. A file ``undo`` beside it exists during an unapply.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from patchtool.adapters.files import atomic_write, safe_join, sync_folder
from patchtool.domain.errors import EnvironmentFault
from patchtool.domain.objects import blob_id

if TYPE_CHECKING:
    from pathlib import Path

_SCHEMA = 1


@dataclass(frozen=True)
class FileChange:
    """One file of a write.

    Args:
        path: In the git layout.
        before: SHA-1 blob id of the content git stores, before.
        after: The same, after.
        disk_before: SHA-1 blob id of the bytes on disk, before; differs from ``before`` under CRLF. Empty for a file
            that is created.
        disk_after: The same, after.
        original: The copy of the original bytes, relative to the state folder.
        mode: Permission bits on disk.
        entry_before: Mode and id of the index entry before, in the repository's object format; empty without commits.
        entry_after: The same, after.
    """

    path: str
    before: str
    after: str
    disk_before: str
    disk_after: str
    original: str
    mode: int
    entry_before: tuple[str, str] = ("", "")
    entry_after: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class Applied:
    """A series that was written to a worktree.

    Args:
        release: As in the branch's name.
        digest: Of all commits; equal digests write equal trees.
        patches: Name and digest of every patch, in series order.
        files: The changed files.
        branch: Full name of the branch with the commits, None when only files were edited.
        commits: Their ids, in series order.
        head: The commit HEAD was on before, None without git.
        head_branch: Full name of the branch HEAD was on before, None when detached.
        tree: Git tree id of the last commit, empty without commits.
    """

    release: str
    digest: str
    patches: tuple[tuple[str, str], ...]
    files: tuple[FileChange, ...]
    branch: str | None = None
    commits: tuple[str, ...] = ()
    head: str | None = None
    head_branch: str | None = None
    tree: str = ""


class Journal:
    """The state folder of one worktree.

    Args:
        folder: ``patchtool`` in the git folder, or ``.patchtool`` beside the package.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._pending = folder / "journal.json"
        self._applied = folder / "applied.json"
        self._undo = folder / "undo"

    @property
    def lock(self) -> Path:
        """The lock file of every run that writes to the worktree."""
        return self.folder / "lock"

    def applied(self) -> Applied | None:
        """The applied series, None when there is none."""
        return _load(self._applied)

    def pending(self) -> Applied | None:
        """The write that did not complete, None when there is none."""
        return _load(self._pending)

    def unapplying(self) -> bool:
        """Whether an unapply did not complete."""
        return self._undo.exists()

    def begin(self, planned: Applied, originals: dict[str, bytes | None]) -> None:
        """Record a write before its first change to the worktree; on disk when this returns."""
        (self.folder / "originals").mkdir(exist_ok=True)
        for change in planned.files:
            if (original := originals[change.path]) is not None:
                atomic_write(self.folder / change.original, original)
        record = json.dumps({"schema": _SCHEMA, **asdict(planned)}, indent=1)
        atomic_write(self._pending, record.encode())

    def finish(self) -> None:
        """Complete the pending write."""
        self._pending.replace(self._applied)
        sync_folder(self.folder)

    def begin_unapply(self) -> None:
        """Record an unapply before its first change to the worktree; on disk when this returns."""
        atomic_write(self._undo, b"")

    def clear(self) -> None:
        """Remove every record; the worktree is as before the write."""
        # Records before originals: a record without its originals could not be rolled back.
        for record in (self._pending, self._applied, self._undo):
            record.unlink(missing_ok=True)
        sync_folder(self.folder)
        self.remove_leftovers()

    def remove_leftovers(self) -> None:
        """Remove the files of a write that was killed before it was recorded."""
        if not self._pending.exists() and not self._applied.exists():
            self._undo.unlink(missing_ok=True)
            shutil.rmtree(self.folder / "originals", ignore_errors=True)

    def original(self, change: FileChange) -> bytes | None:
        """Read the bytes that a file had before; None for a file that was created.

        Raises:
            RefusedError: The record, which may have come with a downloaded tree, points out of the state folder.
            EnvironmentFault: The copy is missing or damaged.
        """
        if not change.disk_before:
            return None
        file = safe_join(self.folder, change.original)
        content = file.read_bytes() if file.is_file() else b""
        if blob_id(content) != change.disk_before:
            raise EnvironmentFault(
                f"the original of {change.path} is missing from {self.folder}, or damaged",
                hint="restore the file from its release or with git, then remove that folder",
            )
        return content


def _load(file: Path) -> Applied | None:
    try:
        document: Any = json.loads(file.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise _unreadable(file, str(error)) from error
    try:
        if document.pop("schema") != _SCHEMA:
            raise _unreadable(file, "another version of patchtool wrote it")
        files = tuple(FileChange(**_tuples(change)) for change in document.pop("files"))
        return Applied(files=files, **_tuples(document))
    except (AttributeError, KeyError, TypeError) as error:
        raise _unreadable(file, str(error)) from error


def _tuples(table: dict[str, Any]) -> dict[str, Any]:
    def frozen(value: object) -> object:
        return tuple(frozen(item) for item in value) if isinstance(value, list) else value

    return {key: frozen(value) for key, value in table.items()}


def _unreadable(file: Path, cause: str) -> EnvironmentFault:
    return EnvironmentFault(
        f"the record {file} cannot be read",
        hint=f"restore the patched files yourself (originals are in {file.parent}), then remove that folder",
        cause=cause,
    )

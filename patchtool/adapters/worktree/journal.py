"""The journal of a worktree: what is written or unapplied, and the files' original bytes.

``journal.json`` exists during a write. Renaming it to ``applied.json`` completes the write and makes it the record of
what is applied. A file ``undo`` beside it exists during an unapply.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchtool.adapters.files import atomic_write, safe_join, staged_name, sync_folder
from patchtool.adapters.worktree.ownership import foreign
from patchtool.domain.errors import EnvironmentFault, RefusedError
from patchtool.domain.objects import blob_id
from patchtool.domain.text_patch import EXECUTABLE, REGULAR

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCHEMA = 1
_OVERHEAD = 256 * 1024
"""Bytes for refs, reflogs and directory entries."""
_LARGEST_RESERVE = 32 * 1024**2
_PATH = re.compile(r"python/(?:(?!\.{0,2}/|\.git/)[^/\\\0-\x1f]+/)+(?!\.{1,2}$)[^/\\\0-\x1f]+")
_ORIGINAL = re.compile(r"originals/\d+")
_BRANCH = re.compile(r"refs/heads/(?!.*\.\.)[^\0-\x20\x7f~^:?*\[\\]+")
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_ENTRY = re.compile(r" |\d{1,6} (?:|[0-9a-f]{40}|[0-9a-f]{64})")
_MODE = re.compile(r"[0-7]{1,3}")


@dataclass(frozen=True)
class FileChange:
    """One file of a write.

    Args:
        path: In the git layout.
        before: SHA-1 blob id of the content git stores, before.
        after: The same, after.
        disk_before: SHA-1 blob id of the bytes on disk, before; differs from ``before`` under CRLF. Empty for a file
            that is created.
        disk_after: The same, after; empty for a file that is deleted.
        original: The copy of the original bytes, relative to the state folder.
        mode: Permission bits on disk.
        entry_before: Mode and id of the index entry before, in the repository's object format; empty without commits.
        entry_after: The same, after.
        record_before: Hash and size that the installer recorded; empty where it did not, or for another content.
        record_after: The same, after.
        link: Where the file led as a symlink, as in an environment of links into a cache; empty for a regular file.
        mode_after: Permission bits after, where the series sets others; else None.
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
    record_before: tuple[str, str] = ("", "")
    record_after: tuple[str, str] = ("", "")
    link: str = ""
    mode_after: int | None = None


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

    @property
    def original_modes(self) -> dict[str, str]:
        """Git's modes before of the files whose permissions the series sets, by path."""
        changed = (change for change in self.files if change.mode_after is not None)
        return {change.path: EXECUTABLE if change.mode & 0o100 else REGULAR for change in changed}


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
        self._reserved = folder / "reserved"

    @property
    def lock(self) -> Path:
        """The lock file of every run that writes to the worktree."""
        return self.folder / "lock"

    def applied(self) -> Applied | None:
        """The applied series, None when there is none of ours."""
        return self._load(self._applied)

    def pending(self) -> Applied | None:
        """The write that did not complete, None when there is none of ours."""
        return self._load(self._pending)

    def unapplying(self) -> bool:
        """Whether an unapply of ours did not complete."""
        return self._undo.exists() and not foreign(self.folder)

    def begin(self, planned: Applied, originals: dict[str, bytes | None]) -> None:
        """Record a write before its first change to the worktree, and reserve the space that rolling it back needs.

        Everything is on disk when this returns; if it cannot be, nothing is recorded.
        """
        self._reserve_space(sum(len(original or b"") for original in originals.values()))
        self._write(self._pending, planned, originals)

    def adopt(self, found: Applied, originals: dict[str, bytes | None]) -> None:
        """Record a series that was found in the worktree; on disk when this returns."""
        self._write(self._applied, found, originals)

    def _write(self, record: Path, applied: Applied, originals: dict[str, bytes | None]) -> None:
        (self.folder / "originals").mkdir(exist_ok=True)
        for change in applied.files:
            if (original := originals[change.path]) is not None:
                atomic_write(self.folder / change.original, original)
        atomic_write(record, json.dumps({"schema": _SCHEMA, **asdict(applied)}, indent=1).encode())

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
        """Complete the pending write."""
        self.release_space()
        self._pending.replace(self._applied)
        sync_folder(self.folder)

    def begin_unapply(self, size: int) -> None:
        """Record an unapply before its first change to the worktree, and see that there is space for it.

        Args:
            size: Bytes of all originals.
        """
        self._reserve_space(size)
        atomic_write(self._undo, b"")

    def cancel_unapply(self) -> None:
        """Forget an unapply that has changed nothing."""
        self.release_space()
        self._undo.unlink(missing_ok=True)

    def clear(self) -> None:
        """Remove every record; the worktree is as before the write."""
        # Records before originals: a record without its originals could not be rolled back.
        for record in (self._pending, self._applied, self._undo, self._reserved):
            record.unlink(missing_ok=True)
        sync_folder(self.folder)
        self.remove_leftovers()

    def has_leftovers(self) -> bool:
        """Whether a run was killed while it wrote to the state folder itself, and to nothing else."""
        unrecorded = not self._pending.exists() and not self._applied.exists() and (self.folder / "originals").exists()
        return unrecorded or any(self.folder.glob(str(staged_name(Path("*")))))

    def remove_leftovers(self) -> None:
        """Remove the files of a write that was killed before it was recorded; the caller holds the lock."""
        for leftover in self.folder.glob(str(staged_name(Path("*")))):
            leftover.unlink(missing_ok=True)
        if not self._pending.exists() and not self._applied.exists():
            self._undo.unlink(missing_ok=True)
            self.release_space()
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

    def _load(self, file: Path) -> Applied | None:
        return None if not file.exists() or foreign(self.folder) else read_record(file)


def read_record(file: Path) -> Applied | None:
    """Read a record, which is in a state folder of our own, and check it nevertheless: others may write to the folder.

    Raises:
        RefusedError: It names something outside of the tree.
        EnvironmentFault: It is damaged, or of another version of the tool.
    """
    try:
        document: Any = json.loads(file.read_bytes())
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError) as error:
        raise _unreadable(file, str(error)) from error
    try:
        if document.pop("schema") != _SCHEMA:
            raise _unreadable(file, "another version of patchtool wrote it")
        files = tuple(FileChange(**_tuples(change)) for change in document.pop("files"))
        applied = Applied(files=files, **_tuples(document))
        outside = list(_outside(applied))
    except (AttributeError, KeyError, TypeError) as error:
        raise _unreadable(file, str(error)) from error
    if outside:
        raise RefusedError(
            f"the record {file} is refused: it names {outside[0]!r}",
            hint=f"restore the patched files yourself, then remove {file.parent}",
        )
    return applied


def _outside(applied: Applied) -> Iterator[str]:
    """What a record must not name: a path outside of the package, a copy outside of the folder, no branch, no id."""
    for change in applied.files:
        entries = (" ".join(entry) for entry in (change.entry_before, change.entry_after))
        known = [(_PATH, change.path), (_ORIGINAL, change.original), (_MODE, f"{change.mode:o}")]
        known += [(_MODE, f"{change.mode_after:o}")] if change.mode_after is not None else []
        known += [(_ENTRY, entry) for entry in entries]
        yield from (text for pattern, text in known if not pattern.fullmatch(text))
    branches = (name for name in (applied.branch, applied.head_branch) if name is not None)
    yield from (name for name in branches if not _BRANCH.fullmatch(name))
    ids = (*applied.commits, *(name for name in (applied.head, applied.tree) if name))
    yield from (name for name in ids if not _ID.fullmatch(name))


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

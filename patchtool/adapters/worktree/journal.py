"""What was written to a tree, and how to take it out again: one JSON file beside the files' originals.

``journal.json`` exists while a write is under way. Renamed to ``applied.json`` it is the record of what is
applied: that rename is the moment a write is done. ``undo`` beside it says that it is being taken out.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from patchtool.adapters.files import atomic_write, safe_join
from patchtool.adapters.git.commits import blob_id
from patchtool.domain.errors import EnvironmentFault

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
        disk_before: SHA-1 blob id of the bytes on disk, before; differs from ``before`` under CRLF.
        disk_after: The same, after.
        original: The file with the bytes from before, in the state folder.
        mode: Permission bits on disk.
        entry_before: Mode and id of the index entry before, in the repository's format; empty without
            commits.
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
    """What is written to a tree.

    Args:
        release: As the branch's name has it.
        digest: Of all commits that were written; equal digests mean an equal wish.
        patches: Name and digest of every patch, in series order.
        files: What changed.
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
    """The state folder of one tree.

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
        """The lock file of everything that writes to the tree."""
        return self.folder / "lock"

    def applied(self) -> Applied | None:
        """What is applied, None when nothing is."""
        return _load(self._applied)

    def pending(self) -> Applied | None:
        """The write that was under way and did not end."""
        return _load(self._pending)

    def undoing(self) -> bool:
        """Whether what is applied was being taken out."""
        return self._undo.exists()

    def begin(self, planned: Applied, originals: dict[str, bytes]) -> None:
        """Note a write before its first change to the tree; on disk when this returns."""
        (self.folder / "originals").mkdir(exist_ok=True)
        for change in planned.files:
            atomic_write(self.folder / change.original, originals[change.path])
        record = json.dumps({"schema": _SCHEMA, **asdict(planned)}, indent=1)
        atomic_write(self._pending, record.encode())

    def finish(self) -> None:
        """Make the pending write the applied one."""
        self._pending.replace(self._applied)
        sync_folder(self.folder)

    def begin_undo(self) -> None:
        """Note that what is applied is being taken out."""
        atomic_write(self._undo, b"")

    def forget(self) -> None:
        """Drop every record; the tree is as it was before."""
        # The records go before the originals: a record without its originals could not be taken back.
        for record in (self._pending, self._applied, self._undo):
            record.unlink(missing_ok=True)
        sync_folder(self.folder)
        self.sweep()

    def sweep(self) -> None:
        """Remove what a write left that was killed before it had noted anything."""
        if not self._pending.exists() and not self._applied.exists():
            self._undo.unlink(missing_ok=True)
            shutil.rmtree(self.folder / "originals", ignore_errors=True)

    def original(self, change: FileChange) -> bytes:
        """The bytes a file had before; a record that came with a downloaded tree must not lead out of it."""
        file = safe_join(self.folder, change.original)
        content = file.read_bytes() if file.is_file() else b""
        if blob_id(content) != change.disk_before:
            raise EnvironmentFault(
                f"the original of {change.path} is missing from {self.folder}, or damaged",
                hint="restore the file from its release or with git, then remove that folder",
            )
        return content


def sync_folder(folder: Path) -> None:
    """Bring a folder's names to disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _load(file: Path) -> Applied | None:
    try:
        told: Any = json.loads(file.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise _unreadable(file, str(error)) from error
    try:
        if told.pop("schema") != _SCHEMA:
            raise _unreadable(file, "another version of patchtool wrote it")
        files = tuple(FileChange(**_tuples(change)) for change in told.pop("files"))
        return Applied(files=files, **_tuples(told))
    except (AttributeError, KeyError, TypeError) as error:
        raise _unreadable(file, str(error)) from error


def _tuples(told: dict[str, Any]) -> dict[str, Any]:
    def frozen(value: object) -> object:
        return tuple(frozen(item) for item in value) if isinstance(value, list) else value

    return {key: frozen(value) for key, value in told.items()}


def _unreadable(file: Path, cause: str) -> EnvironmentFault:
    return EnvironmentFault(
        f"the record {file} cannot be read",
        hint=f"restore the patched files yourself (originals are in {file.parent}), then remove that folder",
        cause=cause,
    )

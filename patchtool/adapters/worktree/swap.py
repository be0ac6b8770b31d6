"""Replace files of a worktree by rename, keeping permissions and owner."""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from patchtool.adapters.files import stage, staged_name, sync_folder
from patchtool.adapters.worktree.bytecode import remove_stale_bytecode
from patchtool.adapters.worktree.installed import RecordEntry, update_record
from patchtool.domain.errors import EnvironmentFault, RefusedError
from patchtool.domain.objects import blob_id

if TYPE_CHECKING:
    from pathlib import Path

    from patchtool.adapters.worktree.journal import FileChange
    from patchtool.adapters.worktree.worktree import Worktree


def stage_file(file: Path, content: bytes, mode: int) -> None:
    """Write a file's next content beside it, with its owner and attributes; on disk when this returns."""
    file.parent.mkdir(parents=True, exist_ok=True)
    stage(file, content, mode, like=file if file.exists() else file.parent)


def replace_files(worktree: Worktree, changes: tuple[FileChange, ...]) -> None:
    """Rename every file's staged content over the file, and remove the files that are deleted; folders stay.

    A rename gives a new inode and replaces a symlink, so that an installer's cache keeps the old bytes. What the
    installer recorded about the files, and their bytecode, change with them.

    Raises:
        RefusedError: A file changed after the write was planned.
    """
    folders = set()
    for change in changes:
        file = worktree.on_disk(change.path)
        refuse_linked_folder(worktree, change.path)
        if disk_id(worktree, change.path) != change.disk_before:
            raise RefusedError(f"{change.path} was edited while it was being patched", hint="run it again")
        if change.disk_after:
            staged_name(file).replace(file)
        else:
            file.unlink()
        if disk_id(worktree, change.path) != change.disk_after:
            raise EnvironmentFault(f"{file} does not have the bytes that were written", hint="check the disk")
        remove_stale_bytecode(file)
        folders.add(file.parent)
    update_record(worktree.base, {c.path.removeprefix("python/"): _record_entries(c) for c in changes})
    for folder in folders:
        sync_folder(folder)


def restore_files(worktree: Worktree, changes: tuple[FileChange, ...], originals: dict[str, bytes | None]) -> list[str]:
    """Restore the original of every file that has our bytes; can be repeated.

    Returns:
        Paths that were restored.

    Raises:
        RefusedError: A file has neither our bytes nor its original ones, or is reached through a link; names it, and
            nothing was changed.
    """
    for change in changes:
        refuse_linked_folder(worktree, change.path)
    ids = {change.path: disk_id(worktree, change.path) for change in changes}
    edited = [change.path for change in changes if ids[change.path] not in (change.disk_before, change.disk_after)]
    if edited:
        raise RefusedError(
            f"edited since it was patched: {', '.join(edited)}",
            hint="save your edit elsewhere and undo it in the file, then run it again",
        )
    restored = [c for c in changes if ids[c.path] != c.disk_before or has_new_mode(worktree, c)]
    _stage_originals(worktree, restored, originals)
    for change in changes:
        file = worktree.on_disk(change.path)
        if change in restored:
            if originals[change.path] is None:
                file.unlink()
            else:
                staged_name(file).replace(file)
            remove_stale_bytecode(file)
            sync_folder(file.parent)
        else:
            staged_name(file).unlink(missing_ok=True)
        if not change.disk_before:
            _remove_empty_folders(file.parent, worktree.package)
    undone = {change.path.removeprefix("python/"): _record_entries(change)[::-1] for change in changes}
    update_record(worktree.base, undone)
    return [change.path for change in restored]


def has_new_mode(worktree: Worktree, change: FileChange) -> bool:
    """Whether a file has the permissions that the series sets, if it sets any."""
    file = worktree.on_disk(change.path)
    return change.mode_after is not None and file.exists() and file.stat().st_mode & 0o777 == change.mode_after


def _stage_originals(worktree: Worktree, changes: list[FileChange], originals: dict[str, bytes | None]) -> None:
    """Stage every original before the first file changes: a full disk is found in time."""
    files = [worktree.on_disk(change.path) for change in changes]
    try:
        for file, change in zip(files, changes):
            if (original := originals[change.path]) is not None:
                _stage_original(file, original, change)
    except OSError:
        for file in files:
            with suppress(OSError):
                staged_name(file).unlink()
        raise


def refuse_linked_folder(worktree: Worktree, path: str) -> None:
    """Refuse a path that leads through a link, which somebody may have put there since the write was planned."""
    for folder in worktree.on_disk(path).parents:
        if folder == worktree.base:
            return
        if folder.is_symlink():
            raise RefusedError(
                f"{path} is reached through the symlink {folder}",
                hint="replace the symlink by the folder, then run it again",
            )


def disk_id(worktree: Worktree, path: str) -> str:
    """The blob id of the bytes on disk; empty where there is no file."""
    raw = worktree.raw(path)
    return "" if raw is None else blob_id(raw)


def _stage_original(file: Path, original: bytes, change: FileChange) -> None:
    """Stage the link that a file was, if it still leads to the original bytes, else these bytes."""
    target = file.parent / change.link
    if change.link and target.is_file() and blob_id(target.read_bytes()) == change.disk_before:
        staged_name(file).unlink(missing_ok=True)
        staged_name(file).symlink_to(change.link)
    else:
        stage_file(file, original, change.mode)


def _record_entries(change: FileChange) -> tuple[RecordEntry, RecordEntry]:
    return RecordEntry(*change.record_before), RecordEntry(*change.record_after)


def _remove_empty_folders(folder: Path, package: Path) -> None:
    """Remove the folders of a file that was created, up to one that has other files; bytecode of it is no file."""
    while folder != package and folder.is_dir() and {entry.name for entry in folder.iterdir()} <= {"__pycache__"}:
        shutil.rmtree(folder)
        folder = folder.parent

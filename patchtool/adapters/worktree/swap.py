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
    from collections.abc import Mapping
    from pathlib import Path

    from patchtool.adapters.worktree.records import FileChange, FileStep
    from patchtool.adapters.worktree.worktree import Worktree


def stage_file(file: Path, content: bytes, mode: int) -> None:
    """Write a file's next content beside it, with its owner and attributes; on disk when this returns."""
    file.parent.mkdir(parents=True, exist_ok=True)
    stage(file, content, mode, like=file if file.exists() else file.parent)


def change_files(worktree: Worktree, steps: tuple[FileStep, ...], contents: Mapping[str, bytes | None]) -> list[str]:
    """Bring every file from its state before to the one after; can be repeated.

    A rename gives a new inode and replaces a symlink, so that an installer's cache keeps the old bytes. What the
    installer recorded about the files, and their bytecode, change with them.

    Args:
        worktree: The worktree.
        steps: What is done to each file.
        contents: The bytes after, by path; None for a file that is removed.

    Returns:
        Paths of the files that changed.

    Raises:
        RefusedError: A file is in neither state, or is reached through a link; names it. Nothing was changed, unless it
            came to be so meanwhile.
        EnvironmentFault: What is on disk is not what was written.
    """
    for step in steps:
        refuse_linked_folder(worktree, step.path)
    ids = {step.path: disk_id(worktree, step.path) for step in steps}
    if edited := [step.path for step in steps if ids[step.path] not in (step.before.content, step.after.content)]:
        raise RefusedError(
            f"edited since it was patched: {', '.join(edited)}",
            hint="save your edit elsewhere and undo it in the file, then run it again",
        )
    changed = [s for s in steps if ids[s.path] != s.after.content or _has_other_mode(worktree, s)]
    _stage(worktree, changed, contents)
    for step in steps:
        file = worktree.on_disk(step.path)
        if step not in changed:
            staged_name(file).unlink(missing_ok=True)
        else:
            _change_file(worktree, step)
        if step.created and not step.after.content:
            _remove_empty_folders(file.parent, worktree.package)
    names = {worktree.upstream.installed(step.path): step for step in steps}
    update_record(
        worktree.base,
        worktree.upstream,
        {name: (RecordEntry(*step.before.record), RecordEntry(*step.after.record)) for name, step in names.items()},
        {name: step.record_line for name, step in names.items()},
    )
    for folder in {worktree.on_disk(step.path).parent for step in changed}:
        if folder.is_dir():
            sync_folder(folder)
    return [step.path for step in changed]


def has_new_mode(worktree: Worktree, change: FileChange) -> bool:
    """Whether a file has the permissions that the series sets, if it sets any."""
    file = worktree.on_disk(change.path)
    return change.mode_after is not None and file.exists() and file.stat().st_mode & 0o777 == change.mode_after


def _has_other_mode(worktree: Worktree, step: FileStep) -> bool:
    file = worktree.on_disk(step.path)
    sets = step.before.mode != step.after.mode and step.after.content
    return bool(sets) and file.exists() and file.stat().st_mode & 0o777 != step.after.mode


def _change_file(worktree: Worktree, step: FileStep) -> None:
    file = worktree.on_disk(step.path)
    refuse_linked_folder(worktree, step.path)
    if disk_id(worktree, step.path) != step.before.content:
        raise RefusedError(f"{step.path} was edited while it was being patched", hint="run it again")
    if step.after.content:
        staged_name(file).replace(file)
    else:
        file.unlink()
    if disk_id(worktree, step.path) != step.after.content:
        raise EnvironmentFault(f"{file} does not have the bytes that were written", hint="check the disk")
    remove_stale_bytecode(file)


def _stage(worktree: Worktree, steps: list[FileStep], contents: Mapping[str, bytes | None]) -> None:
    """Stage every content before the first file changes: a full disk is found in time."""
    files = [worktree.on_disk(step.path) for step in steps]
    try:
        for file, step in zip(files, steps):
            if (content := contents[step.path]) is not None:
                _stage_content(file, content, step)
    except OSError:
        for file in files:
            with suppress(OSError):
                staged_name(file).unlink()
        raise


def _stage_content(file: Path, content: bytes, step: FileStep) -> None:
    """Stage the link that a file was, if it still leads to these bytes, else the bytes."""
    target = file.parent / step.after.link
    if step.after.link and target.is_file() and blob_id(target.read_bytes()) == step.after.content:
        staged_name(file).unlink(missing_ok=True)
        staged_name(file).symlink_to(step.after.link)
    else:
        stage_file(file, content, step.after.mode)


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


def _remove_empty_folders(folder: Path, package: Path) -> None:
    """Remove the folders of a file that was created, up to one that has other files; bytecode of it is no file."""
    while folder != package and folder.is_dir() and {entry.name for entry in folder.iterdir()} <= {"__pycache__"}:
        shutil.rmtree(folder)
        folder = folder.parent

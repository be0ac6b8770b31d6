"""Replace files of a worktree by rename, keeping permissions and owner."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from patchtool.adapters.files import sync_folder
from patchtool.domain.errors import RefusedError
from patchtool.domain.objects import blob_id

if TYPE_CHECKING:
    from pathlib import Path

    from patchtool.adapters.worktree.journal import FileChange
    from patchtool.adapters.worktree.worktree import Worktree


def staged_name(file: Path) -> Path:
    """Where a file's next content is staged: in the same folder, because a rename between file systems fails."""
    return file.with_name(f".{file.name}.patchtool-new")


def stage(file: Path, content: bytes, mode: int) -> None:
    """Write a file's next content beside it; on disk when this returns."""
    staged = staged_name(file)
    staged.unlink(missing_ok=True)
    # "x" does not follow a symlink of that name.
    with staged.open("xb") as stream:
        stream.write(content)
        stream.flush()
        os.fchmod(stream.fileno(), mode)
        owner = file.stat()
        with suppress(PermissionError):
            os.fchown(stream.fileno(), owner.st_uid, owner.st_gid)
        os.fsync(stream.fileno())


def replace_files(worktree: Worktree, changes: tuple[FileChange, ...]) -> None:
    """Rename every file's staged content over the file.

    A rename gives a new inode, so that hard links into an installer's cache keep the old bytes, and a new modification
    time, so that no stale bytecode is used.

    Raises:
        RefusedError: A file changed after the write was planned.
    """
    folders = set()
    for change in changes:
        file = worktree.on_disk(change.path)
        if blob_id(file.read_bytes()) != change.disk_before:
            raise RefusedError(f"{change.path} was edited while it was being patched", hint="run it again")
        staged_name(file).replace(file)
        folders.add(file.parent)
    for folder in folders:
        sync_folder(folder)


def restore_files(worktree: Worktree, changes: tuple[FileChange, ...], originals: dict[str, bytes]) -> list[str]:
    """Restore the original of every file that has our bytes; can be repeated.

    Returns:
        Paths that were restored.

    Raises:
        RefusedError: A file has neither our bytes nor its original ones; names it, and nothing was changed.
    """
    ids = {change.path: blob_id(worktree.raw(change.path) or b"") for change in changes}
    edited = [change.path for change in changes if ids[change.path] not in (change.disk_before, change.disk_after)]
    if edited:
        raise RefusedError(
            f"edited since it was patched: {', '.join(edited)}",
            hint="save your edit elsewhere and undo it in the file, then run it again",
        )
    restored = []
    for change in changes:
        file = worktree.on_disk(change.path)
        staged_name(file).unlink(missing_ok=True)
        if ids[change.path] != change.disk_before:
            stage(file, originals[change.path], change.mode)
            staged_name(file).replace(file)
            sync_folder(file.parent)
            restored.append(change.path)
    return restored

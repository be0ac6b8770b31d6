"""Replace files of a worktree by rename, keeping permissions and owner; no link is followed on the way to them."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from patchtool.adapters.folders import Folder, opened, staged
from patchtool.adapters.worktree.bytecode import remove_stale_bytecode
from patchtool.adapters.worktree.installed import RecordEntry, update_record
from patchtool.domain.errors import EnvironmentFault, RefusedError
from patchtool.domain.objects import blob_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from patchtool.adapters.worktree.records import FileChange, FileStep
    from patchtool.adapters.worktree.worktree import Worktree
    from patchtool.domain.package import Package

_BYTECODE = "__pycache__"


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
    with opened(worktree.base) as base:
        tree = _Tree(base, worktree.upstream)
        if edited := [s.path for s in steps if tree.id(s.path) not in (s.before.content, s.after.content)]:
            raise RefusedError(
                f"edited since it was patched: {', '.join(edited)}",
                hint="save your edit elsewhere and undo it in the file, then run it again",
            )
        changed = [step for step in steps if tree.differs(step)]
        _stage(tree, changed, contents)
        for step in steps:
            if step in changed:
                _change_file(tree, step)
            else:
                tree.discard(step.path)
            if step.created and not step.after.content:
                tree.remove_empty_folders(step.path)
        names = {worktree.upstream.installed(step.path): step for step in steps}
        update_record(
            base,
            worktree.upstream,
            {name: (RecordEntry(*step.before.record), RecordEntry(*step.after.record)) for name, step in names.items()},
            {name: step.record_line for name, step in names.items()},
        )
        for step in changed:
            with suppress(FileNotFoundError), tree.folder(step.path) as (folder, _):
                folder.sync()
    return [step.path for step in changed]


def has_new_mode(worktree: Worktree, change: FileChange) -> bool:
    """Whether a file has the permissions that the series sets, if it sets any."""
    file = worktree.on_disk(change.path)
    return change.mode_after is not None and file.exists() and file.stat().st_mode & 0o777 == change.mode_after


class _Tree:
    """The files of an open tree, by path in the git layout."""

    def __init__(self, base: Folder, package: Package) -> None:
        self._base = base
        self._package = package

    @contextmanager
    def folder(self, path: str, *, create: bool = False) -> Iterator[tuple[Folder, str]]:
        """Hold the folder of a file open; gives the file's name in it, too."""
        inside, _, name = self._package.installed(path).rpartition("/")
        with self._base.inner(inside, create=create) as folder:
            yield folder, name

    def id(self, path: str) -> str:
        """The blob id of the bytes on disk; empty where there is no file."""
        with suppress(FileNotFoundError), self.folder(path) as (folder, name):
            return _id(folder, name)
        return ""

    def differs(self, step: FileStep) -> bool:
        """Whether a file has other bytes, or other permissions, than after a step."""
        if self.id(step.path) != step.after.content:
            return True
        if not step.after.content or step.before.mode == step.after.mode:
            return False
        with self.folder(step.path) as (folder, name):
            status = folder.status(name)
        return status is not None and status.st_mode & 0o777 != step.after.mode

    def discard(self, path: str) -> None:
        """Remove a file's next content, if it was written."""
        with suppress(FileNotFoundError), self.folder(path) as (folder, name):
            folder.remove(staged(name))

    def remove_empty_folders(self, path: str) -> None:
        """Remove the folders of a file that is gone, up to one that has other files; bytecode of it is no file."""
        inside, top = self._package.installed(path).rpartition("/")[0], self._package.name
        while inside != top and inside:
            above, _, name = inside.rpartition("/")
            with suppress(FileNotFoundError), self._base.inner(above) as outer:
                with outer.inner(name) as folder:
                    if not {*folder.names()} <= {_BYTECODE}:
                        return
                    with suppress(FileNotFoundError):
                        folder.remove_folder(_BYTECODE)
                outer.remove_folder(name)
            inside = above


def _change_file(tree: _Tree, step: FileStep) -> None:
    with tree.folder(step.path) as (folder, name):
        if _id(folder, name) != step.before.content:
            raise RefusedError(f"{step.path} was edited while it was being patched", hint="run it again")
        if step.after.content:
            folder.rename(staged(name), name)
        else:
            folder.remove(name)
        if _id(folder, name) != step.after.content:
            fault = f"{folder.path / name} does not have the bytes that were written"
            raise EnvironmentFault(fault, hint="check the disk")
        remove_stale_bytecode(folder, name)


def _stage(tree: _Tree, steps: list[FileStep], contents: Mapping[str, bytes | None]) -> None:
    """Stage every content before the first file changes: a full disk is found in time."""
    try:
        for step in steps:
            if (content := contents[step.path]) is not None:
                with tree.folder(step.path, create=not step.before.content) as (folder, name):
                    stage_file(folder, name, content, step)
    except OSError:
        for step in steps:
            with suppress(OSError, RefusedError):
                tree.discard(step.path)
        raise


def stage_file(folder: Folder, name: str, content: bytes, step: FileStep) -> None:
    """Stage the link that a file was, if it still leads to these bytes, else the bytes."""
    if step.after.link and blob_id(folder.read(step.after.link) or b"") == step.after.content:
        folder.remove(staged(name))
        folder.link(step.after.link, staged(name))
    else:
        folder.stage(name, content, step.after.mode)


def _id(folder: Folder, name: str) -> str:
    content = folder.read(name)
    return "" if content is None else blob_id(content)


def disk_id(worktree: Worktree, path: str) -> str:
    """The blob id of the bytes on disk; empty where there is no file."""
    raw = worktree.raw(path)
    return "" if raw is None else blob_id(raw)

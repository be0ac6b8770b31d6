"""What keeps a worktree from being written to; every blocker is named before the first byte changes."""

from __future__ import annotations

import os
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters.git.plumbing import REGULAR
from patchtool.domain.errors import RefusedError
from patchtool.domain.objects import blob_id
from patchtool.domain.text_patch import SYMLINK

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from patchtool.adapters.git.repository import IndexEntry, Repository
    from patchtool.adapters.worktree.records import Applied
    from patchtool.adapters.worktree.worktree import Worktree

READ_ONLY_HINT = "make it writable, run as its owner, or use --output for a tree of your own"


class Blocker(NamedTuple):
    """One reason not to write.

    Args:
        what: Path and problem, for the middle of a sentence.
        hint: How to remove it.
    """

    what: str
    hint: str


def refuse_blocked(worktree: Worktree, blockers: Iterable[Blocker]) -> None:
    """Raise where there are blockers.

    Raises:
        RefusedError: Names every blocker.
    """
    every = list(blockers)
    if every:
        raise RefusedError(
            f"{worktree.root} cannot be written to: " + "; ".join(blocker.what for blocker in every),
            hint="; ".join(dict.fromkeys(blocker.hint for blocker in every)),
        )


def blockers_on_disk(worktree: Worktree, paths: Iterable[str], created: Collection[str] = ()) -> Iterator[Blocker]:
    """Blockers in the file system: missing or read-only files, symlinks, nested repositories; files to be created."""
    for path in paths:
        problem = _unsafe_path(worktree, path, create=path in created)
        folder = worktree.on_disk(path).parent
        while path in created and not folder.exists():
            folder = folder.parent
        if problem:
            yield problem
        elif not os.access(folder, os.W_OK):
            yield Blocker(f"{folder} is read-only", READ_ONLY_HINT)


def new_links(modes: Mapping[str, str]) -> Iterator[Blocker]:
    """Blockers in the series: symbolic links, which no rollback could tell from those of an installer."""
    for path, mode in modes.items():
        if mode == SYMLINK:
            yield Blocker(f"{path} becomes a symbolic link", "apply --output writes it, and git am of export mbox")


def _unsafe_path(worktree: Worktree, path: str, *, create: bool) -> Blocker | None:
    if not worktree.upstream.has(path):
        return Blocker(f"{path} is outside of {worktree.upstream.folder}", "correct the patch's targets")
    current = worktree.base
    for part in worktree.upstream.installed(path).split("/"):
        # A case-insensitive file system opens Foo.py under the name foo.py, which git would see as a second file.
        if not current.is_dir() or part not in (entry.name for entry in current.iterdir()):
            if create and current.is_dir() and not (current / part).exists():
                return None
            return Blocker(f"{path} does not exist", "bring the tree to the release the series is for")
        current = current / part
        if current.is_symlink() and (worktree.checkout or current != worktree.on_disk(path)):
            return Blocker(f"{path} is reached through the symlink {current}", "pass the tree it leads to with --tree")
        if (current / ".git").exists():
            return Blocker(f"{path} is in the nested repository {current}", "pass that repository with --tree")
    if create:
        return Blocker(f"{path} exists already", "remove it, or bring the tree to the release the series is for")
    return None if current.is_file() else Blocker(f"{path} is not a file", "correct the patch's targets")


def room_for(worktree: Worktree, branch: str, earlier: Applied | None) -> str:
    """The command that makes room for a branch; empty where there is room, or an earlier run's branch is replaced.

    Args:
        worktree: The worktree.
        branch: Full name of the branch.
        earlier: What an earlier run applied.
    """
    repository = worktree.repository
    if repository is None:
        return ""
    branch = repository.own_branch(branch, earlier.branch if earlier else None)
    tip = repository.branch_tip(branch)
    taken = repository.branches_in_the_way(branch)
    if tip is not None and not (earlier and earlier.branch == branch and earlier.commits[-1] == tip):
        taken = [branch.removeprefix("refs/heads/"), *taken]
    if not taken:
        return ""
    name = free = f"{taken[0].replace('/', '-')}-before"
    number = 1
    while repository.branch_tip(f"refs/heads/{free}") is not None:
        number += 1
        free = f"{name}-{number}"
    return f"git -C {quote(str(worktree.root))} branch -m {taken[0]} {free}"


def put_aside(worktree: Worktree, paths: Iterable[str]) -> str:
    """The command that puts uncommitted changes of files aside; paths are those of the repository."""
    return f"git -C {quote(str(worktree.root))} stash push -- {' '.join(quote(path) for path in paths)}"


def blockers_in_git(
    worktree: Worktree,
    repository: Repository,
    paths: list[str],
    entries: Mapping[str, IndexEntry],
    created: Collection[str] = (),
    *,
    branch: str | None,
) -> Iterator[Blocker]:
    """Blockers in the repository: names, an operation in progress, staged or uncommitted changes, unusual entries.

    Other files that are modified, staged or untracked never block: they stay so, as when git switches to a new branch.

    Args:
        worktree: The worktree.
        repository: Its repository.
        paths: Files that will change, in the git layout.
        entries: What the index has of them, by path in the repository.
        created: Those that do not exist yet.
        branch: Full name of the branch for the commits, None to edit files only.
    """
    if branch and (link := repository.leads_outside(branch)):
        yield Blocker(f"{link} is a symlink, and git would write through it", "edit the files only, with --no-commit")
    if branch and (taken := repository.branches_in_the_way(branch)):
        short, others = branch.removeprefix("refs/heads/"), ", ".join(taken)
        yield Blocker(
            f"git cannot have a branch {short} beside {others}",
            f"rename that (git branch -m {taken[0]} NAME), or use --no-commit",
        )
    operation = repository.operation_in_progress()
    if operation:
        yield Blocker(f"{operation[0]} is in progress", f"end it first ({operation[1]})")
    layout_paths = {worktree.in_repository(path): path for path in paths}
    staged = [p for p, unmerged in repository.staged_paths().items() if p in layout_paths or (branch and unmerged)]
    changed = [path for path in repository.changed_paths(layout_paths) if path not in staged]
    yield from map(_staged, staged)
    # A filter that only the repository's configuration names is not run, and the file looks changed without it.
    filtered = repository.with_attribute("filter", changed) if changed else []
    for path in changed:
        if path in filtered:
            yield _converted(path)
        else:
            aside = put_aside(worktree, [path])
            yield Blocker(f"{path} has an uncommitted change", f"commit it, undo it (git restore), or keep it: {aside}")
    for path in layout_paths.keys() - {*staged, *changed}:
        if layout_paths[path] in created and path not in entries:
            continue
        yield from _unusual_entry(worktree, layout_paths[path], entries.get(path))


def staged_in(repository: Repository, paths: Collection[str]) -> Iterator[Blocker]:
    """Blockers in the index, for files that are as a series left them; paths are those of the repository."""
    yield from (_staged(path) for path in repository.staged_paths() if path in paths)


def _staged(path: str) -> Blocker:
    return Blocker(f"{path} has a change in the index", "commit it, or unstage it (git restore --staged)")


def _unusual_entry(worktree: Worktree, path: str, entry: IndexEntry | None) -> Iterator[Blocker]:
    if entry is None or entry.mode not in REGULAR:
        yield Blocker(f"{path} is not a file that git tracks", "commit it first, or use --no-commit on a plain copy")
    elif entry.unwatched:
        hint = "clear it (git update-index --no-assume-unchanged --no-skip-worktree)"
        yield Blocker(f"{path} is marked assume-unchanged or skip-worktree", hint)
    elif not _conversion_is_known(worktree, path, entry.oid):
        yield _converted(path)


def _converted(path: str) -> Blocker:
    return Blocker(
        f"{path} passes a filter or an encoding on its way into git, or has mixed line endings",
        "turn that attribute off for the file, or check it out again with one line ending",
    )


def _conversion_is_known(worktree: Worktree, path: str, oid: str) -> bool:
    """Check that git stores the file as it is on disk, or with CRLF changed to LF, and in no other way."""
    raw = worktree.raw(path) or b""
    stored = worktree.read(path) or b""
    algorithm = "sha1" if len(oid) == len(blob_id(b"")) else "sha256"
    return blob_id(stored, algorithm) == oid and worktree.line_endings({path: raw}).get(path) != "mixed"

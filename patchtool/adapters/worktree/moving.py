"""Create or move a branch of a checkout, the one at HEAD together with its files and index: all of it, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchtool.adapters.files import LOCK_TIMEOUT
from patchtool.adapters.git.plumbing import Git
from patchtool.adapters.git.repository import NO_ENTRY, Repository
from patchtool.adapters.git.series_branch import HEADS, free_name, refuse_in_use
from patchtool.adapters.worktree.blockers import blockers_in_git, blockers_on_disk, new_links, refuse_blocked
from patchtool.adapters.worktree.changing import change_worktree, recover_locked
from patchtool.adapters.worktree.journal import Journal
from patchtool.adapters.worktree.locking import locked_worktree, reopen
from patchtool.adapters.worktree.records import BranchStep, FileState, FileStep, Head, Transition
from patchtool.adapters.worktree.transitions import PlannedTransition
from patchtool.adapters.worktree.write_plan import NEW_FILE_PERMISSIONS, link_of, permissions, with_disk_endings
from patchtool.domain.errors import RefusedError
from patchtool.domain.objects import blob_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from patchtool.adapters.git.checkout import Checkout
    from patchtool.adapters.git.series_branch import PreparedBranch
    from patchtool.adapters.worktree.worktree import Worktree

_Entry = tuple[str, str]
"""Mode and id of a file in a commit."""
_NOTHING = (NO_ENTRY.mode, NO_ENTRY.oid)


def move_branch(worktree: Worktree, branch: PreparedBranch, *, keep: bool, lock_timeout: float = LOCK_TIMEOUT) -> str:
    """Create a branch that was prepared, or move it there; where HEAD is on it, files and index move too.

    Args:
        worktree: A checkout; one of that branch is without changes. Untracked files stay.
        branch: The branch.
        keep: Whether its earlier commits get a name.
        lock_timeout: Seconds to wait for another run.

    Returns:
        The short name that its earlier commits have now, ``NAME@1``; empty where they get none.

    Raises:
        RefusedError: The branch is in use elsewhere, a file has changes, or cannot be written; nothing was changed.
        EnvironmentFault: Git or the disk failed, or somebody has moved the branch; everything is as before.
    """
    with locked_worktree(worktree, lock_timeout) as current:
        journal = Journal(current.state_dir, current.upstream)
        recover_locked(current, journal)
        current = reopen(current)
        checkout, ref, work = current.checkout, f"{HEADS}{branch.name}", f"moving {branch.name}"
        if checkout is None:
            raise RefusedError(f"{worktree.root} is no checkout any more", hint="run it again")
        kept = free_name(checkout, branch.name) if keep and branch.before else ""
        if current.branch == ref:
            plan = _with_files(current, checkout, branch)
        else:
            refuse_in_use(checkout, branch.name)
            head = Head(current.branch, current.head)
            plan = PlannedTransition(Transition(work, (), head, head), journal.applied(), {}, ())
        keeping = (BranchStep(f"{HEADS}{kept}", "", branch.before),) if kept else ()
        steps = (*keeping, BranchStep(ref, branch.before, branch.tip))
        change_worktree(current, journal, plan._replace(transition=plan.transition._replace(branches=steps)))
    return kept


def _with_files(worktree: Worktree, checkout: Checkout, branch: PreparedBranch) -> PlannedTransition:
    ref = f"{HEADS}{branch.name}"
    if worktree.head != branch.before:
        raise RefusedError(f"HEAD of {worktree.root} moved while the series was rendered", hint="run it again")
    if changes := Repository(checkout).changes():
        shown = f"{changes[0]} and {len(changes) - 1} more" if len(changes) > 1 else changes[0]
        raise RefusedError(
            f"{worktree.root} is on {branch.name}, and has changes: {shown}",
            hint="commit them, or put them aside with git stash",
        )
    git = Git(checkout.common_dir)
    changed = _changed_files(git, branch.before, branch.tip)
    created = {path for path, (before, _) in changed.items() if before == _NOTHING}
    modes = {path: after[0] for path, (_, after) in changed.items()}
    refuse_blocked(worktree, [*blockers_on_disk(worktree, changed, created), *new_links(modes)])
    repository = Repository(checkout)
    entries = repository.index_entries(map(worktree.in_repository, changed))
    refuse_blocked(worktree, blockers_in_git(worktree, repository, [*changed], entries, created, branch=ref))
    before = {path: None if path in created else worktree.raw(path) or b"" for path in changed}
    crlf = worktree.line_endings({path: raw for path, raw in before.items() if raw is not None})
    stored = _contents(git, {path: after for path, (_, after) in changed.items()})
    after = {path: with_disk_endings(path, data, crlf) for path, data in stored.items()}
    files = tuple(_step(worktree, path, before[path], after[path], *changed[path]) for path in changed)
    moved = Transition(f"moving {branch.name}", files, Head(ref, branch.before), Head(ref, branch.tip))
    return PlannedTransition(moved, None, after, tuple(data for data in before.values() if data is not None))


def _changed_files(git: Git, old: str, new: str) -> dict[str, tuple[_Entry, _Entry]]:
    """What two commits have of the files in which they differ, by path."""
    listed = git.run("diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", old, new).stdout
    fields = listed.decode("utf-8", "surrogateescape").split("\0")
    changed = {}
    for entry, path in zip(fields[::2], fields[1::2]):
        mode_before, mode_after, before, after, _ = entry.removeprefix(":").split()
        changed[path] = _entry(mode_before, before), _entry(mode_after, after)
    return dict(sorted(changed.items()))


def _entry(mode: str, oid: str) -> _Entry:
    return (mode, oid) if oid.strip("0") else _NOTHING


def _contents(git: Git, entries: Mapping[str, _Entry]) -> dict[str, bytes | None]:
    objects = git.objects(oid for _, oid in entries.values() if oid)
    if missing := [path for path, (_, oid) in entries.items() if oid and oid not in objects]:
        raise RefusedError(
            f"{git.git_dir} is a partial clone, without {missing[0]} of the commit below the series",
            hint="git switch --detach to that commit, and back with git switch -, brings it",
        )
    return {path: objects[oid][1] if oid else None for path, (_, oid) in entries.items()}


def _step(
    worktree: Worktree, path: str, raw: bytes | None, content: bytes | None, before: _Entry, after: _Entry
) -> FileStep:
    file = worktree.on_disk(path)
    bits = NEW_FILE_PERMISSIONS if raw is None else file.stat().st_mode & 0o777
    new_bits = permissions(bits, after[0]) if before[0] != after[0] and after != _NOTHING else bits
    return FileStep(
        path,
        FileState("" if raw is None else blob_id(raw), bits, before, link=link_of(file)),
        FileState("" if content is None else blob_id(content), new_bits, after),
        created=raw is None or content is None,
    )

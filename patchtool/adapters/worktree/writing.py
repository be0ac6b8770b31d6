"""Write a rendered series to the user's worktree: all of it, or nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters.files import LOCK_TIMEOUT, uninterrupted
from patchtool.adapters.git.commits import PatchCommit, WriteResult, digest
from patchtool.adapters.git.repository import IndexEntry, Repository, is_own_branch
from patchtool.adapters.worktree.applied_state import NOTHING, AppliedState, applied_state, read_originals
from patchtool.adapters.worktree.journal import Applied, Journal
from patchtool.adapters.worktree.rollback import (
    locked_worktree,
    recover_locked,
    refuse_locked_repository,
    reopen,
    roll_back,
    unapply_locked,
)
from patchtool.adapters.worktree.swap import replace_files, stage_file
from patchtool.adapters.worktree.write_plan import WritePlan, make_plan
from patchtool.domain.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from patchtool.adapters.worktree.worktree import Worktree


class _Target(NamedTuple):
    """What the worktree is to have: the series' digest, the branch's full name or None, and the release."""

    digest: str
    branch: str | None
    release: str


def write(
    worktree: Worktree,
    commits: Sequence[PatchCommit],
    *,
    commit: bool,
    branch: str,
    upstream: Mapping[str, str] = NOTHING,
    lock_timeout: float = LOCK_TIMEOUT,
) -> WriteResult:
    """Write the series to the worktree, in place of what an earlier run applied, after recovering from a killed run.

    Args:
        worktree: The worktree.
        commits: The rendered series, in order.
        commit: In a git checkout, whether to make commits on ``branch`` and switch to it.
        branch: Short name, ``patchtool/<release>``.
        upstream: Blob ids of the files of the release that the tree is at, where they are known.
        lock_timeout: Seconds to wait for another run.

    Returns:
        What was written; ``unchanged`` when exactly this series is applied already.

    Raises:
        RefusedError: There are blockers; names them, and nothing was changed.
        EnvironmentFault: Git or the disk failed, or another run holds the lock; the worktree is as before.
    """
    journal = Journal(worktree.state_dir)
    ref = f"refs/heads/{branch}" if commit and worktree.checkout else None
    target = _Target(digest(commits), ref, branch.rpartition("/")[2])
    # Most runs find the series applied: that needs no lock, no GitPython and no further process.
    if not journal.pending() and not journal.unapplying() and _is_applied(worktree, journal.applied(), target):
        return _result(worktree, journal.applied())
    with locked_worktree(worktree, lock_timeout) as current:
        return _write(current, journal, list(commits), target, upstream)


def _write(
    worktree: Worktree,
    journal: Journal,
    commits: list[PatchCommit],
    target: _Target,
    upstream: Mapping[str, str],
) -> WriteResult:
    recovery = recover_locked(worktree, journal)
    notes: tuple[str, ...] = (recovery.sentence,) if recovery else ()
    worktree = reopen(worktree) if recovery else worktree
    applied = journal.applied()
    if _is_applied(worktree, applied, target):
        return _result(worktree, applied, notes=notes)
    if applied is None:
        return _write_new(worktree, journal, commits, target, notes)
    state = applied_state(worktree, applied, upstream)
    if state.kind == "reverted":
        journal.clear()
        notes += (f"the record of an earlier run was dropped: its series for {applied.release} is not here any more",)
        return _write_new(worktree, journal, commits, target, notes, applied)
    return _replace(worktree, journal, commits, target, notes, applied, state)


def _is_applied(worktree: Worktree, applied: Applied | None, target: _Target) -> bool:
    if applied is None or (applied.digest, applied.release) != (target.digest, target.release):
        return False
    if not is_own_branch(applied.branch, target.branch):
        return False
    return applied_state(worktree, applied).kind in ("intact", "moved")


def _result(
    worktree: Worktree, applied: Applied | None, changed: tuple[str, ...] = (), notes: tuple[str, ...] = ()
) -> WriteResult:
    result = WriteResult(worktree.root, changed, unchanged=not changed, notes=notes)
    if applied is None:
        return result
    branch = applied.branch.removeprefix("refs/heads/") if applied.branch else None
    return result._replace(commits=applied.commits, branch=branch, tree=applied.tree)


def _write_new(
    worktree: Worktree,
    journal: Journal,
    commits: list[PatchCommit],
    target: _Target,
    notes: tuple[str, ...],
    earlier: Applied | None = None,
) -> WriteResult:
    """Write the series where none is applied; the branch of an earlier one may be replaced if it has nothing else."""
    if not commits:
        return _result(worktree, None, notes=notes)
    branch = target.branch
    if branch and worktree.repository:
        branch = worktree.repository.own_branch(branch, earlier.branch if earlier else None)
    plan = make_plan(worktree, commits, branch, target.release, earlier)
    _execute(worktree, journal, plan)
    return _result(worktree, plan.applied, tuple(plan.contents), (*notes, *plan.notes))


def _replace(
    worktree: Worktree,
    journal: Journal,
    commits: list[PatchCommit],
    target: _Target,
    notes: tuple[str, ...],
    applied: Applied,
    state: AppliedState,
) -> WriteResult:
    """Write the series in place of the one that is applied; if that fails, the one that was applied is written back."""
    written = {change.path: worktree.raw(change.path) for change in applied.files}
    originals = read_originals(worktree, applied)
    undone = unapply_locked(worktree, journal, applied, state)
    worktree = reopen(worktree)
    try:
        result = _write_new(worktree, journal, commits, target, notes)
    except BaseException:
        if state.kind == "intact":
            again = replace(applied, head=worktree.head, head_branch=worktree.branch)
            _execute(worktree, journal, WritePlan(again, originals, written))
        raise
    names = ", ".join(name for name, _ in applied.patches)
    note = f"this replaces what an earlier run applied: {names}"
    return result._replace(changed=tuple(sorted({*undone, *result.changed})), unchanged=False, notes=(*notes, note))


def _execute(worktree: Worktree, journal: Journal, plan: WritePlan) -> None:
    refuse_locked_repository(worktree, plan.applied)
    with uninterrupted():
        _write_and_finish(worktree, journal, plan)


def _write_and_finish(worktree: Worktree, journal: Journal, plan: WritePlan) -> None:
    applied, repository = plan.applied, worktree.repository
    journal.begin(applied, plan.originals)
    try:
        for change in applied.files:
            content = plan.contents[change.path]
            if content is not None:
                mode = change.mode if change.mode_after is None else change.mode_after
                stage_file(worktree.on_disk(change.path), content, mode)
        replace_files(worktree, applied.files)
        if repository and applied.branch:
            _update_git(worktree, applied, repository, plan.replaces)
    except BaseException:
        roll_back(worktree, journal, applied)
        if repository and plan.replaces and repository.branch_tip(str(applied.branch)) is None:
            repository.create_branch(str(applied.branch), plan.replaces)
        raise
    journal.finish()


def _update_git(worktree: Worktree, applied: Applied, repository: Repository, replaces: str) -> None:
    branch, tip = str(applied.branch), applied.commits[-1]
    if repository.head() != (applied.head_branch, applied.head):
        raise RefusedError(f"HEAD of {worktree.root} moved while the series was written", hint="run it again")
    entries = {worktree.in_repository(change.path): IndexEntry(*change.entry_after) for change in applied.files}
    repository.update_index(entries)
    if repository.branch_tip(branch) != tip:
        repository.create_branch(branch, tip, replaces)
    repository.set_head(branch, tip)

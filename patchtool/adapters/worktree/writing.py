"""Write a rendered series to the user's worktree: all of it, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters.files import LOCK_TIMEOUT
from patchtool.adapters.git.commits import PatchCommit, WriteResult, digest
from patchtool.adapters.git.repository import is_own_branch
from patchtool.adapters.worktree.applied_state import NOTHING, AppliedState, applied_state
from patchtool.adapters.worktree.blockers import refuse_blocked, staged_in
from patchtool.adapters.worktree.changing import change_worktree, recover_locked
from patchtool.adapters.worktree.journal import Journal
from patchtool.adapters.worktree.locking import locked_worktree, reopen
from patchtool.adapters.worktree.records import Applied
from patchtool.adapters.worktree.transitions import plan_transition
from patchtool.adapters.worktree.unapplying import taken_out
from patchtool.adapters.worktree.write_plan import make_plan

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
    journal = Journal(worktree.state_dir, worktree.upstream)
    ref = f"refs/heads/{branch}" if commit and worktree.checkout else None
    target = _Target(digest(commits), ref, branch.rpartition("/")[2])
    # Most runs find the series applied: that needs no lock, no GitPython and no further process.
    if not journal.pending() and _is_applied(worktree, journal.applied(), target):
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
    plan = make_plan(worktree, commits, _branch(worktree, target, earlier), target.release, earlier)
    change_worktree(worktree, journal, plan_transition(worktree, None, plan))
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
    """Write the series in place of the one that is applied, as one change; if that fails, that one stays."""
    goes = taken_out(worktree, journal, applied, state)
    plan = None
    if commits:
        without = worktree.without_series(applied, goes.targets)
        if repository := worktree.repository:
            paths = {worktree.in_repository(change.path) for change in goes.applied.files}
            refuse_blocked(worktree, staged_in(repository, paths))
        plan = make_plan(without, commits, _branch(worktree, target, applied), target.release, goes.applied)
    changed = change_worktree(worktree, journal, plan_transition(worktree, goes, plan))
    names = ", ".join(name for name, _ in applied.patches)
    notes = (*notes, *(plan.notes if plan else ()), f"this replaces what an earlier run applied: {names}")
    result = _result(worktree, plan.applied if plan else None, tuple(changed), notes)
    return result._replace(unchanged=False)


def _branch(worktree: Worktree, target: _Target, earlier: Applied | None) -> str | None:
    """Full name of the branch for the commits in this worktree of a clone."""
    if target.branch is None or worktree.repository is None:
        return target.branch
    return worktree.repository.own_branch(target.branch, earlier.branch if earlier else None)

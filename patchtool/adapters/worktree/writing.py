"""Write a rendered series to the user's worktree: all of it, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchtool.adapters.files import LOCK_TIMEOUT
from patchtool.adapters.git.commits import PatchCommit, WriteResult, digest
from patchtool.adapters.git.repository import IndexEntry, Repository
from patchtool.adapters.worktree.applied_state import applied_state
from patchtool.adapters.worktree.journal import Applied, Journal
from patchtool.adapters.worktree.rollback import locked_worktree, recover_locked, reopen, roll_back
from patchtool.adapters.worktree.swap import replace_files, stage
from patchtool.adapters.worktree.write_plan import WritePlan, make_plan
from patchtool.domain.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchtool.adapters.worktree.worktree import Worktree


def write(
    worktree: Worktree,
    commits: Sequence[PatchCommit],
    *,
    commit: bool,
    branch: str,
    lock_timeout: float = LOCK_TIMEOUT,
) -> WriteResult:
    """Write the series to the worktree, after recovering it from a killed run.

    Args:
        worktree: The worktree.
        commits: The rendered series, in order.
        commit: In a git checkout, whether to make commits on ``branch`` and switch to it.
        branch: Short name, ``patchtool/<release>``.
        lock_timeout: Seconds to wait for another run.

    Returns:
        What was written; ``unchanged`` when exactly this series is applied already.

    Raises:
        RefusedError: There are blockers; names them, and nothing was changed.
        EnvironmentFault: Git or the disk failed, or another run holds the lock; the worktree is as before.
    """
    journal = Journal(worktree.state_dir)
    ref = f"refs/heads/{branch}" if commit and worktree.checkout else None
    target = (digest(commits), ref)
    # Most runs find the series applied: that needs no lock, no GitPython and no further process.
    if not journal.pending() and not journal.unapplying() and _is_applied(worktree, journal.applied(), target):
        return _result(worktree, journal.applied())
    with locked_worktree(worktree, lock_timeout) as current:
        return _write(current, journal, list(commits), target, release=branch.rpartition("/")[2])


def _write(
    worktree: Worktree,
    journal: Journal,
    commits: list[PatchCommit],
    target: tuple[str, str | None],
    release: str,
) -> WriteResult:
    recovery = recover_locked(worktree, journal)
    notes = (recovery.sentence,) if recovery else ()
    worktree = reopen(worktree) if recovery else worktree
    applied = journal.applied()
    if _is_applied(worktree, applied, target):
        return _result(worktree, applied, notes=notes)
    _refuse_other_series(worktree, journal, applied)
    if not commits:
        return _result(worktree, None, notes=notes)
    plan = make_plan(worktree, commits, target[1], release)
    _execute(worktree, journal, plan)
    return _result(worktree, plan.applied, tuple(plan.contents), notes)


def _is_applied(worktree: Worktree, applied: Applied | None, target: tuple[str, str | None]) -> bool:
    if applied is None or (applied.digest, applied.branch) != target:
        return False
    return applied_state(worktree, applied).kind == "intact"


def _result(
    worktree: Worktree, applied: Applied | None, changed: tuple[str, ...] = (), notes: tuple[str, ...] = ()
) -> WriteResult:
    result = WriteResult(worktree.root, changed, unchanged=not changed, notes=notes)
    if applied is None:
        return result
    branch = applied.branch.removeprefix("refs/heads/") if applied.branch else None
    return result._replace(commits=applied.commits, branch=branch, tree=applied.tree)


def _refuse_other_series(worktree: Worktree, journal: Journal, applied: Applied | None) -> None:
    """Refuse to write over another series; clear the journal where the user reverted it."""
    if applied is None:
        return
    state = applied_state(worktree, applied)
    if state.kind == "reverted":
        journal.clear()
        return
    edited = f", and edited since: {', '.join(state.paths)}" if state.paths else ""
    raise RefusedError(
        f"{worktree.root} has a series for {applied.release} applied already{edited}",
        hint="run patchtool unapply first",
    )


def _execute(worktree: Worktree, journal: Journal, plan: WritePlan) -> None:
    applied, repository = plan.applied, worktree.repository
    journal.begin(applied, plan.originals)
    try:
        for change in applied.files:
            content = plan.contents[change.path]
            if content is not None:
                stage(worktree.on_disk(change.path), content, change.mode)
        replace_files(worktree, applied.files)
        if repository and applied.branch:
            _update_git(worktree, applied, repository)
    except BaseException:
        roll_back(worktree, journal, applied)
        raise
    journal.finish()


def _update_git(worktree: Worktree, applied: Applied, repository: Repository) -> None:
    branch, tip = str(applied.branch), applied.commits[-1]
    if repository.head() != (applied.head_branch, applied.head):
        raise RefusedError(f"HEAD of {worktree.root} moved while the series was written", hint="run it again")
    entries = {worktree.in_repository(change.path): IndexEntry(*change.entry_after) for change in applied.files}
    repository.update_index(entries)
    if repository.branch_tip(branch) is None:
        repository.create_branch(branch, tip)
    repository.set_head(branch, tip)

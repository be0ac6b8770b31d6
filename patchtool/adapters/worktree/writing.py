"""Write a rendered series to a person's tree: all of it, or nothing."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from patchtool.adapters.files import LOCK_TIMEOUT
from patchtool.adapters.git.commits import PatchCommit, Written, digest
from patchtool.adapters.worktree import obstacles
from patchtool.adapters.worktree.applied_state import state_of
from patchtool.adapters.worktree.journal import Applied, Journal
from patchtool.adapters.worktree.rollback import exclusive, fresh, settle, take_back
from patchtool.adapters.worktree.swap import stage, swap_in
from patchtool.adapters.worktree.write_plan import WritePlan, make_plan
from patchtool.domain.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchtool.adapters.git.repository import Repository
    from patchtool.adapters.worktree.worktree import Worktree


def write(
    worktree: Worktree,
    commits: Sequence[PatchCommit],
    *,
    commit: bool,
    branch: str,
    lock_timeout: float = LOCK_TIMEOUT,
) -> Written:
    """Write the series to the tree, after bringing it to rest from a killed run.

    Args:
        worktree: The tree.
        commits: The rendered series, in order.
        commit: In a git checkout, whether to make commits on ``branch`` and switch to it.
        branch: Short name, ``patchtool/<release>``.
        lock_timeout: Seconds to wait for another run.

    Returns:
        What was written; ``unchanged`` when the tree is in that state already.

    Raises:
        RefusedError: Something is in the way; names it, and nothing was touched.
        EnvironmentFault: Git, the disk or another run stood in the way; the tree is as before.
    """
    journal = Journal(worktree.state_dir)
    full = f"refs/heads/{branch}" if commit and worktree.checkout else None
    wish = (digest(commits), full)
    # Most runs find their work done: that takes no lock, no GitPython and no further process.
    if not journal.pending() and not journal.undoing() and _is_there(worktree, journal.applied(), wish):
        return _unchanged(worktree, journal)
    with exclusive(worktree, lock_timeout) as held:
        return _write(held, journal, list(commits), wish, release=branch.rpartition("/")[2])


def _write(
    worktree: Worktree,
    journal: Journal,
    commits: list[PatchCommit],
    wish: tuple[str, str | None],
    release: str,
) -> Written:
    recovery = settle(worktree, journal)
    notes = (f"a run that was killed was {recovery.kind}",) if recovery else ()
    worktree = fresh(worktree) if recovery else worktree
    if _is_there(worktree, journal.applied(), wish):
        return _unchanged(worktree, journal, notes)
    _refuse_other(worktree, journal)
    if not commits:
        return _unchanged(worktree, journal, notes)
    with _repository(worktree) as repository:
        plan = make_plan(worktree, commits, repository, wish[1], release)
        _carry_out(worktree, journal, plan, repository)
    applied = plan.applied
    branch = _short(applied.branch)
    return Written(worktree.root, tuple(plan.wanted), applied.commits, branch, notes=notes, tree=applied.tree)


def blockers(worktree: Worktree, paths: Sequence[str], *, commit: bool = True) -> list[obstacles.Blocker]:
    """Name everything that is in the way of writing to those files.

    Args:
        worktree: The tree.
        paths: Targets, in the git layout.
        commit: Whether commits are to be made in a git checkout.
    """
    found = list(obstacles.on_disk(worktree, paths))
    with _repository(worktree) as repository:
        if repository and not found:
            found += obstacles.in_git(worktree, repository, list(paths), commit=commit)
    return found


def _is_there(worktree: Worktree, applied: Applied | None, wish: tuple[str, str | None]) -> bool:
    if applied is None or (applied.digest, applied.branch) != wish:
        return False
    return state_of(worktree, applied).kind == "intact"


def _unchanged(worktree: Worktree, journal: Journal, notes: tuple[str, ...] = ()) -> Written:
    applied = journal.applied()
    if applied is None:
        return Written(worktree.root, unchanged=True, notes=notes)
    branch = _short(applied.branch)
    return Written(worktree.root, (), applied.commits, branch, unchanged=True, notes=notes, tree=applied.tree)


def _short(branch: str | None) -> str | None:
    return branch.removeprefix("refs/heads/") if branch else None


def _refuse_other(worktree: Worktree, journal: Journal) -> None:
    """Refuse to write over what is applied; forget it where somebody has taken it out by hand."""
    applied = journal.applied()
    if applied is None:
        return
    standing = state_of(worktree, applied)
    if standing.kind == "gone":
        journal.forget()
        return
    edited = f", and edited since: {', '.join(standing.paths)}" if standing.paths else ""
    raise RefusedError(
        f"{worktree.root} has a series for {applied.release} applied already{edited}",
        hint="take it out first with patchtool unapply",
    )


def _carry_out(worktree: Worktree, journal: Journal, plan: WritePlan, repository: Repository | None) -> None:
    applied = plan.applied
    journal.begin(applied, plan.originals)
    try:
        for change in applied.files:
            stage(worktree.on_disk(change.path), plan.wanted[change.path], change.mode)
        swap_in(worktree, applied.files)
        if repository and applied.branch:
            _move_refs(worktree, applied, repository)
    except BaseException:
        take_back(worktree, journal, applied, repository)
        raise
    journal.finish()


def _move_refs(worktree: Worktree, applied: Applied, repository: Repository) -> None:
    from patchtool.adapters.git.repository import Entry

    branch, tip = str(applied.branch), applied.commits[-1]
    if repository.head() != (applied.head_branch, applied.head):
        raise RefusedError(f"HEAD of {worktree.root} moved while the series was written", hint="run it again")
    repository.set_index({worktree.in_repository(change.path): Entry(*change.entry_after) for change in applied.files})
    if repository.tip(branch) is None:
        repository.create(branch, tip)
    repository.switch(branch, tip)


def _repository(worktree: Worktree) -> AbstractContextManager[Repository | None]:
    if worktree.checkout is None:
        return nullcontext()
    from patchtool.adapters.git.repository import opened

    return opened(worktree.checkout)

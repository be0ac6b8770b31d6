"""Write a rendered series to a person's tree: all of it, or nothing."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from patchtool.adapters.commits import PatchCommit, Written, digest
from patchtool.adapters.files import LOCK_TIMEOUT
from patchtool.adapters.workplace import obstacles
from patchtool.adapters.workplace.journal import Applied, Journal
from patchtool.adapters.workplace.plan import Plan, make_plan
from patchtool.adapters.workplace.standing import state_of
from patchtool.adapters.workplace.swap import stage, swap_in
from patchtool.adapters.workplace.undo import exclusive, fresh, settle, take_back
from patchtool.domain.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchtool.adapters.git import Repository
    from patchtool.adapters.workplace.tree import Workplace


def write(
    workplace: Workplace,
    commits: Sequence[PatchCommit],
    *,
    commit: bool,
    branch: str,
    lock_timeout: float = LOCK_TIMEOUT,
) -> Written:
    """Write the series to the tree, after bringing it to rest from a killed run.

    Args:
        workplace: The tree.
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
    journal = Journal(workplace.state_dir)
    full = f"refs/heads/{branch}" if commit and workplace.checkout else None
    wish = (digest(commits), full)
    # Most runs find their work done: that takes no lock, no GitPython and no further process.
    if not journal.pending() and not journal.undoing() and _is_there(workplace, journal.applied(), wish):
        return _unchanged(workplace, journal)
    with exclusive(workplace, lock_timeout) as held:
        return _write(held, journal, list(commits), wish, release=branch.rpartition("/")[2])


def _write(
    workplace: Workplace,
    journal: Journal,
    commits: list[PatchCommit],
    wish: tuple[str, str | None],
    release: str,
) -> Written:
    recovery = settle(workplace, journal)
    notes = (f"a run that was killed was {recovery.kind}",) if recovery else ()
    workplace = fresh(workplace) if recovery else workplace
    if _is_there(workplace, journal.applied(), wish):
        return _unchanged(workplace, journal, notes)
    _refuse_other(workplace, journal)
    if not commits:
        return _unchanged(workplace, journal, notes)
    with _repository(workplace) as repository:
        plan = make_plan(workplace, commits, repository, wish[1], release)
        _carry_out(workplace, journal, plan, repository)
    applied = plan.applied
    branch = _short(applied.branch)
    return Written(workplace.root, tuple(plan.wanted), applied.commits, branch, notes=notes, tree=applied.tree)


def blockers(workplace: Workplace, paths: Sequence[str], *, commit: bool = True) -> list[obstacles.Blocker]:
    """Name everything that is in the way of writing to those files.

    Args:
        workplace: The tree.
        paths: Targets, in the git layout.
        commit: Whether commits are to be made in a git checkout.
    """
    found = list(obstacles.on_disk(workplace, paths))
    with _repository(workplace) as repository:
        if repository and not found:
            found += obstacles.in_git(workplace, repository, list(paths), commit=commit)
    return found


def _is_there(workplace: Workplace, applied: Applied | None, wish: tuple[str, str | None]) -> bool:
    if applied is None or (applied.digest, applied.branch) != wish:
        return False
    return state_of(workplace, applied).kind == "intact"


def _unchanged(workplace: Workplace, journal: Journal, notes: tuple[str, ...] = ()) -> Written:
    applied = journal.applied()
    if applied is None:
        return Written(workplace.root, unchanged=True, notes=notes)
    branch = _short(applied.branch)
    return Written(workplace.root, (), applied.commits, branch, unchanged=True, notes=notes, tree=applied.tree)


def _short(branch: str | None) -> str | None:
    return branch.removeprefix("refs/heads/") if branch else None


def _refuse_other(workplace: Workplace, journal: Journal) -> None:
    """Refuse to write over what is applied; forget it where somebody has taken it out by hand."""
    applied = journal.applied()
    if applied is None:
        return
    standing = state_of(workplace, applied)
    if standing.kind == "gone":
        journal.forget()
        return
    edited = f", and edited since: {', '.join(standing.paths)}" if standing.paths else ""
    raise RefusedError(
        f"{workplace.root} has a series for {applied.release} applied already{edited}",
        hint="take it out first with patchtool unapply",
    )


def _carry_out(workplace: Workplace, journal: Journal, plan: Plan, repository: Repository | None) -> None:
    applied = plan.applied
    journal.begin(applied, plan.originals)
    try:
        for change in applied.files:
            stage(workplace.on_disk(change.path), plan.wanted[change.path], change.mode)
        swap_in(workplace, applied.files)
        if repository and applied.branch:
            _move_refs(workplace, applied, repository)
    except BaseException:
        take_back(workplace, journal, applied, repository)
        raise
    journal.finish()


def _move_refs(workplace: Workplace, applied: Applied, repository: Repository) -> None:
    from patchtool.adapters.git import Entry

    branch, tip = str(applied.branch), applied.commits[-1]
    if repository.head() != (applied.head_branch, applied.head):
        raise RefusedError(f"HEAD of {workplace.root} moved while the series was written", hint="run it again")
    repository.set_index({workplace.in_repository(change.path): Entry(*change.entry_after) for change in applied.files})
    if repository.tip(branch) is None:
        repository.create(branch, tip)
    repository.switch(branch, tip)


def _repository(workplace: Workplace) -> AbstractContextManager[Repository | None]:
    if workplace.checkout is None:
        return nullcontext()
    from patchtool.adapters.git import opened

    return opened(workplace.checkout)

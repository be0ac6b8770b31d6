"""Change a worktree as a whole: files, index, HEAD and branches, or nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from patchtool.adapters.folders import uninterrupted
from patchtool.adapters.git.repository import NO_ENTRY, IndexEntry
from patchtool.adapters.worktree.swap import change_files
from patchtool.domain.errors import EnvironmentFault, RefusedError

if TYPE_CHECKING:
    from patchtool.adapters.git.repository import Repository
    from patchtool.adapters.worktree.journal import Journal
    from patchtool.adapters.worktree.records import Transition
    from patchtool.adapters.worktree.transitions import PlannedTransition
    from patchtool.adapters.worktree.worktree import Worktree


class Recovery(NamedTuple):
    """How the work of a killed run was ended.

    Args:
        kind: Its change was ``rolled back`` or ``finished``.
        work: What that run was doing.
    """

    kind: Literal["rolled back", "finished"]
    work: str

    @property
    def sentence(self) -> str:
        """One sentence for the user."""
        if self.kind == "rolled back":
            return f"an earlier run was killed while {self.work}; it was rolled back, this tree is as before that run"
        return f"an earlier run was killed after {self.work}; this tree is as that run left it"


def change_worktree(worktree: Worktree, journal: Journal, plan: PlannedTransition) -> list[str]:
    """Make a planned change, or leave everything as it was; the caller holds the lock.

    Returns:
        Paths of the files that changed, in the git layout.

    Raises:
        RefusedError: Somebody changed a file or moved HEAD meanwhile.
        EnvironmentFault: Git or the disk failed.
    """
    refuse_locked_repository(worktree, plan.transition)
    with uninterrupted():
        try:
            journal.begin(plan.transition, plan.applied, plan.copies)
        except BaseException:
            journal.cancel()
            raise
        try:
            changed = change_files(worktree, plan.transition.files, plan.after)
            _change_git(worktree, plan.transition)
            journal.finish()
        except BaseException:
            roll_back(worktree, journal, plan.transition)
            raise
    return changed


def recover_locked(worktree: Worktree, journal: Journal) -> Recovery | None:
    """Finish or roll back what a killed run left; the caller holds the lock."""
    pending = journal.pending()
    if pending is None:
        journal.remove_leftovers()
        return None
    # HEAD moves last: when it has moved, every other change is made.
    if pending.moves_head and (worktree.branch, worktree.head) == pending.head_after:
        with uninterrupted():
            if repository := worktree.repository:
                _remove_stale_locks(repository, pending)
                _change_refs(repository, pending)
            journal.finish()
        return Recovery("finished", pending.work)
    roll_back(worktree, journal, pending)
    return Recovery("rolled back", pending.work)


def roll_back(worktree: Worktree, journal: Journal, transition: Transition) -> None:
    """Undo a change, whatever of it was made, then forget it; can be repeated.

    Raises:
        RefusedError: A file was edited since.
        EnvironmentFault: A copy of its bytes is missing, or git or the disk failed.
    """
    with uninterrupted():
        journal.release_space()
        back = transition.reversed
        change_files(worktree, back.files, journal.contents_before(transition))
        if (repository := worktree.repository) and back.changes_git:
            _remove_stale_locks(repository, back)
            _change_index(worktree, repository, back)
            _change_refs(repository, back)
        journal.cancel()


def refuse_locked_repository(worktree: Worktree, planned: Transition) -> None:
    """Refuse to start while git is at work: a lock file that is found later was left by a killed git of ours.

    Raises:
        EnvironmentFault: Git's lock files are there; names one.
    """
    repository = worktree.repository
    if repository is None or not planned.changes_git:
        return
    if locks := [file for branch in _branches(planned) for file in repository.lock_files(branch)]:
        raise EnvironmentFault(
            f"git is at work in {worktree.root}, or was killed there",
            hint=f"wait for it to end; if no git is running: rm {locks[0]}",
            cause=f"{locks[0]} exists",
        )


def _branches(transition: Transition) -> list[str]:
    heads = (transition.head_before.branch, transition.head_after.branch)
    return list(dict.fromkeys([step.name for step in transition.branches] + [name for name in heads if name]))


def _remove_stale_locks(repository: Repository, transition: Transition) -> None:
    for branch in _branches(transition):
        repository.remove_stale_locks(branch)


def _change_git(worktree: Worktree, transition: Transition) -> None:
    repository = worktree.repository
    if repository is None or not transition.changes_git:
        return
    if repository.head() != transition.head_before:
        raise RefusedError(f"HEAD of {worktree.root} moved while the series was written", hint="run it again")
    _change_index(worktree, repository, transition)
    _change_refs(repository, transition, strict=True)


def _change_index(worktree: Worktree, repository: Repository, transition: Transition) -> None:
    """Set the entries that are as before; one that somebody has staged meanwhile stays."""
    steps = {worktree.in_repository(step.path): step for step in transition.files if any(step.after.entry)}
    entries = repository.index_entries(steps) if steps else {}
    wanted = {
        path: IndexEntry(*step.after.entry)
        for path, step in steps.items()
        if entries.get(path, NO_ENTRY).oid == step.before.entry[1]
    }
    if wanted:
        repository.update_index(wanted)


def _change_refs(repository: Repository, transition: Transition, *, strict: bool = False) -> None:
    """Create and move branches, then HEAD, then remove the branches that go; can be repeated.

    Args:
        repository: The user's repository.
        transition: The change.
        strict: Whether a branch that somebody else has moved is an error; else it is left alone.
    """
    for name, before, after in transition.branches:
        tip = repository.branch_tip(name) or ""
        if after and tip != after and (strict or tip == before):
            repository.create_branch(name, after, before)
    if transition.moves_head and repository.head() == transition.head_before:
        branch, commit = transition.head_after
        exists = branch and repository.branch_tip(branch) == commit
        repository.set_head(branch if exists else None, str(commit))
    for name, before, after in transition.branches:
        gone = not after and repository.branch_tip(name) == before and repository.head()[0] != name
        if gone and not repository.worktree_on(name):
            repository.delete_branch(name, before)

"""Unapply a series, and recover a worktree after a run that was killed."""

from __future__ import annotations

import errno
import shutil
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from patchtool.adapters.files import LOCK_TIMEOUT, locked, uninterrupted
from patchtool.adapters.git.checkout import discover
from patchtool.adapters.git.repository import NO_ENTRY, IndexEntry, Repository
from patchtool.adapters.worktree.applied_state import NOTHING, AppliedState, applied_state, read_originals
from patchtool.adapters.worktree.blockers import READ_ONLY_HINT
from patchtool.adapters.worktree.journal import Applied, Journal
from patchtool.adapters.worktree.ownership import claim, foreign
from patchtool.adapters.worktree.swap import disk_id, restore_files
from patchtool.domain.errors import EnvironmentFault, PatchtoolError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from patchtool.adapters.worktree.worktree import Worktree


class Recovery(NamedTuple):
    """How the work of a killed run was ended.

    Args:
        kind: Its write was ``rolled back`` or ``finished``, or its unapply was ``unapplied``.
        applied: The series of that run.
    """

    kind: Literal["rolled back", "finished", "unapplied"]
    applied: Applied

    @property
    def sentence(self) -> str:
        """One sentence for the user."""
        outcome = {
            "rolled back": "while writing {}; it was rolled back, this tree is as before that run",
            "finished": "after writing {}; this tree has the whole series",
            "unapplied": "while unapplying {}; it was finished, this tree is as before the series",
        }
        return "an earlier run was killed " + outcome[self.kind].format(f"the series for {self.applied.release}")


def recover(worktree: Worktree, *, lock_timeout: float = LOCK_TIMEOUT) -> Recovery | None:
    """Finish or roll back what a killed run left; takes no lock when there is nothing to do.

    Raises:
        RefusedError: A file was edited since; names it.
    """
    journal = Journal(worktree.state_dir)
    if not journal.pending() and not journal.unapplying() and not journal.has_leftovers():
        return None
    with locked_worktree(worktree, lock_timeout) as current:
        return recover_locked(current, journal)


def unapply(
    worktree: Worktree, *, upstream: Mapping[str, str] = NOTHING, lock_timeout: float = LOCK_TIMEOUT
) -> list[str]:
    """Remove the applied series, byte for byte.

    Args:
        worktree: The worktree.
        upstream: Blob ids of the files of the release that the tree is at, where they are known.
        lock_timeout: Seconds to wait for another run.

    Returns:
        Paths that were restored, in the git layout; empty when nothing was applied.

    Raises:
        RefusedError: A patched file was edited or commits were added, or another user wrote the record; names them,
            and nothing is changed.
    """
    journal = Journal(worktree.state_dir)
    if why := foreign(worktree.state_dir):
        raise RefusedError(
            f"the record of what is applied in {worktree.state_dir} is not acted on: {why}",
            hint=f"restore the files from their release or with git, and remove {worktree.state_dir}",
        )
    if not worktree.state_dir.is_dir():
        return []
    with locked_worktree(worktree, lock_timeout) as current:
        recover_locked(current, journal)
        current = reopen(current)
        applied = journal.applied()
        if applied is None:
            return []
        return unapply_locked(current, journal, applied, applied_state(current, applied, upstream))


def unapply_locked(worktree: Worktree, journal: Journal, applied: Applied, state: AppliedState) -> list[str]:
    """Remove an applied series, or drop the record of one that is gone; the caller holds the lock.

    Returns and raises what `unapply` does.
    """
    if state.kind == "reverted":
        journal.clear()
        return []
    if state.kind == "edited":
        raise RefusedError(
            f"edited since it was patched: {', '.join(state.paths)}",
            hint="save your edit elsewhere and undo it in the file, then run unapply again",
        )
    repository = worktree.repository
    if repository and applied.branch:
        _refuse_moved(worktree, applied, repository)
    ours = replace(applied, files=tuple(c for c in applied.files if state.files[c.path] != "pristine"))
    # Verify the originals before unapply is journaled: without them it could never be finished.
    originals = read_originals(worktree, ours)
    refuse_locked_repository(worktree, applied)
    with uninterrupted():
        return _unapply_or_leave(worktree, journal, ours, sum(len(data or b"") for data in originals.values()))


def _unapply_or_leave(worktree: Worktree, journal: Journal, applied: Applied, size: int) -> list[str]:
    """Unapply; after a failure before the first change the series stays applied, after a later one, try again."""
    ids = {change.path: disk_id(worktree, change.path) for change in applied.files}
    try:
        journal.begin_unapply(size)
        return roll_back(worktree, journal, applied)
    except (OSError, PatchtoolError):
        if ids == {change.path: disk_id(worktree, change.path) for change in applied.files}:
            journal.cancel_unapply()
            raise
        roll_back(worktree, journal, applied)
        return [change.path for change in applied.files if ids[change.path] != change.disk_before]


def recover_locked(worktree: Worktree, journal: Journal) -> Recovery | None:
    """Finish or roll back what a killed run left; the caller holds the lock."""
    pending = journal.pending()
    if pending:
        # HEAD moves last: when it has moved, every other change is made.
        if pending.branch and (worktree.branch, worktree.head) == (pending.branch, pending.commits[-1]):
            repository = worktree.repository
            if repository:
                repository.remove_stale_locks(pending.branch)
            journal.finish()
            return Recovery("finished", pending)
        roll_back(worktree, journal, pending)
        return Recovery("rolled back", pending)
    applied = journal.applied()
    if applied and journal.unapplying():
        roll_back(worktree, journal, applied)
        return Recovery("unapplied", applied)
    journal.remove_leftovers()
    return None


def roll_back(worktree: Worktree, journal: Journal, applied: Applied) -> list[str]:
    """Restore files, index entries, HEAD and branches, then clear the journal; can be repeated.

    Returns:
        Paths that were restored, in the git layout.
    """
    with uninterrupted():
        return _roll_back(worktree, journal, applied)


def refuse_locked_repository(worktree: Worktree, planned: Applied) -> None:
    """Refuse to start while git is at work: a lock file that is found later was left by a killed git of ours.

    Raises:
        EnvironmentFault: Git's lock files are there; names one.
    """
    repository = worktree.repository
    if repository and planned.branch and (locks := repository.lock_files(planned.branch)):
        raise EnvironmentFault(
            f"git is at work in {worktree.root}, or was killed there",
            hint=f"wait for it to end; if no git is running: rm {locks[0]}",
            cause=f"{locks[0]} exists",
        )


def _roll_back(worktree: Worktree, journal: Journal, applied: Applied) -> list[str]:
    journal.release_space()
    restored = restore_files(worktree, applied.files, read_originals(worktree, applied))
    repository = worktree.repository
    if repository and applied.branch and applied.head:
        repository.remove_stale_locks(applied.branch)
        _restore_index(worktree, applied, repository)
        branch, commit = repository.head()
        if branch == applied.branch and commit == applied.commits[-1]:
            exists = applied.head_branch and repository.branch_tip(applied.head_branch) == applied.head
            repository.set_head(applied.head_branch if exists else None, applied.head)
            branch = applied.head_branch
        ours = branch != applied.branch and repository.branch_tip(applied.branch) == applied.commits[-1]
        if ours and not repository.worktree_on(applied.branch):
            repository.delete_branch(applied.branch, applied.commits[-1])
    journal.clear()
    return restored


@contextmanager
def locked_worktree(worktree: Worktree, timeout: float) -> Iterator[Worktree]:
    """Hold the worktree's lock, and reopen the worktree under it.

    Raises:
        RefusedError: The folder cannot be written to.
        EnvironmentFault: Another run held the lock for longer than ``timeout`` seconds.
    """
    journal = Journal(worktree.state_dir)
    try:
        _claim(worktree, journal)
        with locked(journal.lock, timeout):
            try:
                _claim(worktree, journal)  # again: the run that had the lock may have removed the folder
                yield reopen(worktree)
            except OSError as error:
                raise _write_failed(worktree, error) from error
            finally:
                _remove_empty_state(worktree, journal)
    except BaseException:
        with suppress(OSError, EnvironmentFault):  # another run has the lock
            if not journal.lock.exists():
                _remove_empty_state(worktree, journal)
            else:
                with locked(journal.lock, 0):
                    _remove_empty_state(worktree, journal)
        raise


def _claim(worktree: Worktree, journal: Journal) -> None:
    try:
        claim(journal.folder)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise _write_failed(worktree, error) from error
        fault = f"{journal.folder} cannot be written to"
        raise RefusedError(fault, hint=READ_ONLY_HINT, cause=str(error)) from error


def _remove_empty_state(worktree: Worktree, journal: Journal) -> None:
    """Leave a wheel's folder as it came; in a git directory, owner and lock may stay."""
    if not worktree.checkout and not journal.pending() and not journal.applied():
        shutil.rmtree(journal.folder, ignore_errors=True)


def _write_failed(worktree: Worktree, error: OSError) -> EnvironmentFault:
    fault = f"{worktree.root} could not be written to"
    return EnvironmentFault(fault, hint="make room, then run it again", cause=str(error))


def reopen(worktree: Worktree) -> Worktree:
    """The same worktree with its current HEAD."""
    return replace(worktree, checkout=discover(worktree.base)) if worktree.checkout else worktree


def _restore_index(worktree: Worktree, applied: Applied, repository: Repository) -> None:
    changes = {worktree.in_repository(change.path): change for change in applied.files}
    entries = repository.index_entries(changes)
    repository.update_index(
        {
            path: IndexEntry(*change.entry_before)
            for path, change in changes.items()
            if entries.get(path, NO_ENTRY).oid == change.entry_after[1]
        }
    )


def _refuse_moved(worktree: Worktree, applied: Applied, repository: Repository) -> None:
    if (worktree.branch, worktree.head) != (applied.branch, applied.commits[-1]):
        expected = str(applied.branch).removeprefix("refs/heads/")
        actual = (worktree.branch or worktree.head or "").removeprefix("refs/heads/")
        raise RefusedError(
            f"HEAD is at {actual}, not where the series was applied",
            hint=f"bring HEAD back to {applied.commits[-1]} on {expected}, then run unapply again",
        )
    operation = repository.operation_in_progress()
    if operation:
        raise RefusedError(f"{operation[0]} is in progress in {worktree.root}", hint=f"end it: {operation[1]}")
    if applied.head_branch and repository.branch_tip(applied.head_branch) not in (applied.head, None):
        name = applied.head_branch.removeprefix("refs/heads/")
        raise RefusedError(
            f"the branch {name} has moved since the series was applied",
            hint=f"git switch {name}, then delete our branch with git branch -D",
        )

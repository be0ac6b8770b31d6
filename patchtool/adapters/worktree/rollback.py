"""Take out what was applied, and bring a tree to rest after a run that was killed."""

from __future__ import annotations

import errno
import shutil
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from patchtool.adapters.files import LOCK_TIMEOUT, locked
from patchtool.adapters.git.checkout import discover
from patchtool.adapters.worktree.applied_state import originals, state_of
from patchtool.adapters.worktree.journal import Applied, Journal
from patchtool.adapters.worktree.swap import swap_back
from patchtool.domain.errors import EnvironmentFault, RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from patchtool.adapters.git.repository import Repository
    from patchtool.adapters.worktree.worktree import Worktree


class Recovery(NamedTuple):
    """What became of a run that was killed.

    Args:
        kind: Its write was ``rolled back`` or ``finished``, or its unapply ``finished taking out``.
        applied: What that run was about.
    """

    kind: Literal["rolled back", "finished", "finished taking out"]
    applied: Applied

    @property
    def sentence(self) -> str:
        """What happened, for a person."""
        what = {
            "rolled back": "writing {} was killed: this tree was brought back to what it was before",
            "finished": "writing {} was killed after its last change: this tree has all of it",
            "finished taking out": "taking {} out was killed: that is finished now, this tree is as it was before",
        }
        return "an earlier run that was " + what[self.kind].format(f"the series for {self.applied.release}")


def recover(worktree: Worktree, *, lock_timeout: float = LOCK_TIMEOUT) -> Recovery | None:
    """Bring the tree to rest after a killed run; quick when there was none.

    Raises:
        RefusedError: A file was edited since; names it.
    """
    journal = Journal(worktree.state_dir)
    if not journal.pending() and not journal.undoing():
        return None
    with exclusive(worktree, lock_timeout) as held:
        return settle(held, journal)


def unapply(worktree: Worktree, *, lock_timeout: float = LOCK_TIMEOUT) -> list[str]:
    """Take the applied series out again, byte for byte.

    Returns:
        Paths that were put back, in the git layout; empty when nothing was applied.

    Raises:
        RefusedError: A patched file was edited or commits were added; names them, and nothing is touched.
    """
    journal = Journal(worktree.state_dir)
    if not worktree.state_dir.is_dir():
        return []
    with exclusive(worktree, lock_timeout) as held:
        settle(held, journal)
        held = fresh(held)
        applied = journal.applied()
        if applied is None:
            return []
        standing = state_of(held, applied)
        if standing.kind == "gone":
            journal.forget()
            return []
        if standing.kind == "edited":
            raise RefusedError(
                f"edited since it was patched: {', '.join(standing.paths)}",
                hint="save your edit elsewhere and undo it in the file, then run unapply again",
            )
        with _repository(held, applied) as repository:
            if repository and applied.branch:
                _refuse_moved(held, applied, repository)
            # Read before the note is made: without its originals nothing could ever be taken out.
            originals(held, applied)
            journal.begin_undo()
            return take_back(held, journal, applied, repository)


def settle(worktree: Worktree, journal: Journal) -> Recovery | None:
    """Do the work of ``recover``, under the lock."""
    pending = journal.pending()
    if pending:
        # HEAD moves last: where it has, everything before it is done.
        if pending.branch and (worktree.branch, worktree.head) == (pending.branch, pending.commits[-1]):
            journal.finish()
            return Recovery("finished", pending)
        with _repository(worktree, pending) as repository:
            take_back(worktree, journal, pending, repository)
        return Recovery("rolled back", pending)
    applied = journal.applied()
    if applied and journal.undoing():
        with _repository(worktree, applied) as repository:
            take_back(worktree, journal, applied, repository)
        return Recovery("finished taking out", applied)
    journal.sweep()
    return None


def take_back(worktree: Worktree, journal: Journal, applied: Applied, repository: Repository | None) -> list[str]:
    """Put files, index entries, HEAD and branch back as they were, then forget; may be run again."""
    back = swap_back(worktree, applied.files, originals(worktree, applied))
    if repository and applied.branch and applied.head:
        _restore_index(worktree, applied, repository)
        branch, commit = repository.head()
        if branch == applied.branch and commit == applied.commits[-1]:
            known = applied.head_branch and repository.tip(applied.head_branch) == applied.head
            repository.switch(applied.head_branch if known else None, applied.head)
            branch = applied.head_branch
        if branch != applied.branch and repository.tip(applied.branch) == applied.commits[-1]:
            repository.delete(applied.branch, applied.commits[-1])
    journal.forget()
    return back


@contextmanager
def exclusive(worktree: Worktree, timeout: float) -> Iterator[Worktree]:
    """Hold the tree's lock, and look at the checkout again under it.

    Raises:
        RefusedError: The tree cannot be written to.
        EnvironmentFault: Another run held the lock for longer than ``timeout`` seconds.
    """
    journal = Journal(worktree.state_dir)
    try:
        journal.folder.mkdir(exist_ok=True)
        (journal.folder / "originals").mkdir(exist_ok=True)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise _not_written(worktree, error) from error
        hint = "make it writable, run as its owner, or use --output for a tree of your own"
        raise RefusedError(f"{journal.folder} cannot be written to", hint=hint, cause=str(error)) from error
    with locked(journal.lock, timeout):
        try:
            yield fresh(worktree)
        except OSError as error:
            raise _not_written(worktree, error) from error
        finally:
            # A git folder is ours to keep a lock file in; a wheel's folder must be as it came.
            if not worktree.checkout and not journal.pending() and not journal.applied():
                shutil.rmtree(journal.folder, ignore_errors=True)


def _not_written(worktree: Worktree, error: OSError) -> EnvironmentFault:
    fault = f"{worktree.root} could not be written to"
    return EnvironmentFault(fault, hint="make room, then run it again", cause=str(error))


def fresh(worktree: Worktree) -> Worktree:
    """The same tree, with HEAD looked up again."""
    return replace(worktree, checkout=discover(worktree.base)) if worktree.checkout else worktree


def _repository(worktree: Worktree, applied: Applied) -> AbstractContextManager[Repository | None]:
    if not worktree.checkout or not applied.branch:
        return nullcontext()
    from patchtool.adapters.git.repository import opened

    return opened(worktree.checkout)


def _restore_index(worktree: Worktree, applied: Applied, repository: Repository) -> None:
    from patchtool.adapters.git.repository import Entry

    places = {worktree.in_repository(change.path): change for change in applied.files}
    now = repository.entries(places)
    ours = {
        place: Entry(*change.entry_before)
        for place, change in places.items()
        if place in now and now[place].oid == change.entry_after[1]
    }
    repository.set_index(ours)


def _refuse_moved(worktree: Worktree, applied: Applied, repository: Repository) -> None:
    if (worktree.branch, worktree.head) != (applied.branch, applied.commits[-1]):
        ours = str(applied.branch).removeprefix("refs/heads/")
        where = (worktree.branch or worktree.head or "").removeprefix("refs/heads/")
        raise RefusedError(
            f"HEAD is at {where}, and no longer where the series was applied",
            hint=f"bring HEAD back to {applied.commits[-1]} on {ours}, then run unapply again",
        )
    under_way = repository.under_way()
    if under_way:
        raise RefusedError(f"{under_way[0]} is under way in {worktree.root}", hint=f"end it: {under_way[1]}")
    if applied.head_branch and repository.tip(applied.head_branch) not in (applied.head, None):
        name = applied.head_branch.removeprefix("refs/heads/")
        raise RefusedError(
            f"the branch {name} has moved since the series was applied",
            hint=f"git switch {name}, then delete our branch with git branch -D",
        )

"""Compare a worktree with the series that was written to it; reads the journal and the patched files, nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from patchtool.adapters.worktree.journal import Applied, Journal
from patchtool.adapters.worktree.swap import disk_id

if TYPE_CHECKING:
    from patchtool.adapters.worktree.worktree import Worktree


class AppliedState(NamedTuple):
    """What became of the applied series.

    Args:
        kind: ``intact``: unchanged. ``reverted``: every file is as before, by other means than unapply.
            ``edited``: files changed since. ``moved``: the files are as applied, HEAD is on another commit.
        paths: The files that changed since, in the git layout.
    """

    kind: Literal["intact", "reverted", "edited", "moved"]
    paths: tuple[str, ...] = ()


def read_applied(worktree: Worktree) -> Applied | None:
    """Read the record of what is applied, None when nothing is; see `applied_state` for whether it still holds."""
    return Journal(worktree.state_dir).applied()


def read_originals(worktree: Worktree, applied: Applied) -> dict[str, bytes | None]:
    """The bytes on disk of every patched file before it was patched, by path in the git layout; None for a new file."""
    journal = Journal(worktree.state_dir)
    return {change.path: journal.original(change) for change in applied.files}


def applied_state(worktree: Worktree, applied: Applied) -> AppliedState:
    """Compare files and HEAD with the record."""
    ids = {change.path: disk_id(worktree, change.path) for change in applied.files}
    edited = tuple(change.path for change in applied.files if ids[change.path] != change.disk_after)
    at_head = applied.branch is None or (worktree.branch == applied.branch and worktree.head == applied.commits[-1])
    if edited and all(ids[change.path] == change.disk_before for change in applied.files):
        # With our commits at HEAD, restored files are an uncommitted edit.
        return AppliedState("edited", edited) if applied.branch and at_head else AppliedState("reverted")
    if edited:
        return AppliedState("edited", edited)
    return AppliedState("intact" if at_head else "moved")

"""Whether what was applied to a tree is still there; reads a record and the patched files, nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from patchtool.adapters.git.commits import blob_id
from patchtool.adapters.worktree.journal import Applied, Journal

if TYPE_CHECKING:
    from patchtool.adapters.worktree.worktree import Worktree


class AppliedState(NamedTuple):
    """How a tree stands to what was applied to it.

    Args:
        kind: ``intact``: all there. ``gone``: taken out by other means, every file is as before.
            ``edited``: files changed since. ``moved``: the files are as applied, and HEAD is elsewhere.
        paths: The files that changed since, in the git layout.
    """

    kind: Literal["intact", "gone", "edited", "moved"]
    paths: tuple[str, ...] = ()


def recorded(worktree: Worktree) -> Applied | None:
    """Tell what we applied to the tree, None when nothing; ``state_of`` tells whether it is still there."""
    return Journal(worktree.state_dir).applied()


def originals(worktree: Worktree, applied: Applied) -> dict[str, bytes]:
    """The bytes on disk of every patched file before it was patched, by path in the git layout."""
    journal = Journal(worktree.state_dir)
    return {change.path: journal.original(change) for change in applied.files}


def state_of(worktree: Worktree, applied: Applied) -> AppliedState:
    """Compare the tree with what was applied to it."""
    now = {change.path: _disk_id(worktree, change.path) for change in applied.files}
    edited = tuple(change.path for change in applied.files if now[change.path] != change.disk_after)
    in_place = applied.branch is None or (worktree.branch == applied.branch and worktree.head == applied.commits[-1])
    if edited and all(now[change.path] == change.disk_before for change in applied.files):
        # With our commits at HEAD, files as before are a change somebody made.
        return AppliedState("edited", edited) if applied.branch and in_place else AppliedState("gone")
    if edited:
        return AppliedState("edited", edited)
    return AppliedState("intact" if in_place else "moved")


def _disk_id(worktree: Worktree, path: str) -> str:
    raw = worktree.raw(path)
    return "" if raw is None else blob_id(raw)

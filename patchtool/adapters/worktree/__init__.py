"""A folder with the package that the user already has: open it, write the series to it, and unapply it.

In: a path, and the rendered series as `PatchCommit`s. Out: a `Worktree` to judge, a `WriteResult`, a `Recovery`.
A write, also one in place of another series, changes all files, the index and HEAD, or nothing. Every change is in the
journal before it is made, so the next run finishes or rolls back what a killed run left. `unapply` restores the bytes
from before the write. What the user edited since then is never overwritten: it stays, or the run is refused.
"""

from patchtool.adapters.worktree.adopting import adopt
from patchtool.adapters.worktree.applied_state import AppliedState, applied_state, read_applied, read_originals
from patchtool.adapters.worktree.changing import Recovery
from patchtool.adapters.worktree.records import Applied, FileChange
from patchtool.adapters.worktree.unapplying import recover, unapply
from patchtool.adapters.worktree.worktree import Worktree, open_worktree
from patchtool.adapters.worktree.writing import write

__all__ = [
    "Applied",
    "AppliedState",
    "FileChange",
    "Recovery",
    "Worktree",
    "adopt",
    "applied_state",
    "open_worktree",
    "read_applied",
    "read_originals",
    "recover",
    "unapply",
    "write",
]

"""A tree somebody already has: open it, write the series to it, take it out again."""

from patchtool.adapters.git.commits import blob_id
from patchtool.adapters.worktree.applied_state import AppliedState, originals, recorded, state_of
from patchtool.adapters.worktree.journal import Applied, FileChange
from patchtool.adapters.worktree.obstacles import Blocker
from patchtool.adapters.worktree.rollback import Recovery, recover, unapply
from patchtool.adapters.worktree.worktree import Worktree, open_worktree
from patchtool.adapters.worktree.writing import blockers, write

__all__ = [
    "Applied",
    "AppliedState",
    "Blocker",
    "FileChange",
    "Recovery",
    "Worktree",
    "blob_id",
    "blockers",
    "open_worktree",
    "originals",
    "recorded",
    "recover",
    "state_of",
    "unapply",
    "write",
]

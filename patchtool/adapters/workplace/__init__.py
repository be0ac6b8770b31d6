"""A tree somebody already has: open it, write the series to it, take it out again."""

from patchtool.adapters.commits import blob_id
from patchtool.adapters.workplace.journal import Applied, FileChange
from patchtool.adapters.workplace.obstacles import Blocker
from patchtool.adapters.workplace.standing import Standing, originals, recorded, state_of
from patchtool.adapters.workplace.tree import Workplace, open_workplace
from patchtool.adapters.workplace.undo import Recovery, recover, unapply
from patchtool.adapters.workplace.writing import blockers, write

__all__ = [
    "Applied",
    "Blocker",
    "FileChange",
    "Recovery",
    "Standing",
    "Workplace",
    "blob_id",
    "blockers",
    "open_workplace",
    "originals",
    "recorded",
    "recover",
    "state_of",
    "unapply",
    "write",
]

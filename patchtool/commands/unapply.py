"""``unapply``: the tree as it was before the series was applied."""

from __future__ import annotations

from pathlib import Path

from patchtool.domain.report import OutputTree, Report
from patchtool.workflow.session import Session


def unapply(session: Session, folder: Path) -> Report:
    """Take the series out of a tree again, byte for byte.

    Args:
        session: The run.
        folder: The folder it was applied to.
    """
    from patchtool.adapters.worktree import unapply as take_out
    from patchtool.workflow.worktrees import at_rest

    worktree, recovered = at_rest(folder, session.lock_timeout)
    paths = take_out(worktree, lock_timeout=session.lock_timeout)
    count = f"{len(paths)} {'file' if len(paths) == 1 else 'files'}"
    return Report(
        "unapply",
        result=OutputTree(str(folder), changed=bool(paths or recovered)),
        headline=f"{count} of {folder} as before" if paths else f"nothing is applied to {folder}, nothing to do",
        notes=(*recovered, *worktree.notes),
        extra={"files": paths},
        kind="none",
    )

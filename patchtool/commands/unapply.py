"""``unapply``: the tree as it was before the series was applied."""

from __future__ import annotations

from pathlib import Path

from patchtool.adapters.worktree import applied_state, read_applied
from patchtool.adapters.worktree import unapply as restore
from patchtool.domain.report import OutputTree, Report
from patchtool.workflow.session import Session
from patchtool.workflow.tree_base import upstream_of_record
from patchtool.workflow.worktrees import ADOPTED, adopt_to_unapply, open_recovered

_DROPPED = ("the record of an earlier run was dropped: its series is not here any more",)


def unapply(session: Session, folder: Path) -> Report:
    """Take the series out of every file of a tree; one that was not edited has the bytes from before ``apply``.

    Args:
        session: The run.
        folder: The folder that the series was applied to.
    """
    worktree, recovered = open_recovered(session, folder, place=False)
    if read_applied(worktree) is None and adopt_to_unapply(session, worktree):
        session.remarks.append(ADOPTED)
        recovered = True
    applied = read_applied(worktree)
    upstream = upstream_of_record(session, worktree, applied) if applied else {}
    state = applied_state(worktree, applied, upstream) if applied else None
    edited = [f"{path} is as you edited it, without the series" for path in state.paths] if state else []
    paths = restore(worktree, upstream=upstream, lock_timeout=session.lock_timeout)
    dropped = bool(applied and not paths)
    kept = bool(paths and state and state.kind == "edited")
    restored = f"restored {len(paths)} {'file' if len(paths) == 1 else 'files'} in {folder}"
    return Report(
        "unapply",
        result=OutputTree(str(folder), changed=bool(paths or recovered)),
        headline=restored if paths else f"nothing is applied to {folder}, nothing to do",
        notes=(*session.remarks, *worktree.notes, *(_DROPPED if dropped else ()), *(edited if kept else ())),
        extra={"files": paths},
        kind="none",
    )

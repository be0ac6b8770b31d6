"""``status``: pin, series and the state of every patch; never writes."""

from __future__ import annotations

from pathlib import Path

from patchtool.domain.errors import ExitCode
from patchtool.domain.report import Report
from patchtool.workflow.lock_comparison import pin_moved, render_checked
from patchtool.workflow.releases import named_release, upstream_of
from patchtool.workflow.session import Session


def status(session: Session, *, on: str | None, tree: Path | None) -> Report:
    """Tell how the series stands on the pin, on another release, or on a tree.

    Args:
        session: The run.
        on: A release instead of the pin.
        tree: A folder with SGLang instead of a release.
    """
    if tree is not None:
        return _of_tree(session, tree)
    stored = named_release(session, on)
    project = session.project
    content = session.store.tree(stored.commit)
    settled = render_checked(session, content, stored.release)
    moved = pin_moved(project.lock, project.pin.release)
    return Report(
        "status",
        max(settled.exit_code, ExitCode.FINDINGS) if moved else settled.exit_code,
        upstream_of(stored, project.pin.hashes),
        patches=settled.rendering.patches,
        notes=(*session.notes(), *settled.notes, *([moved] if moved else [])),
    )


def _of_tree(session: Session, folder: Path) -> Report:
    from patchtool.workflow.worktrees import judge_tree, looked_at, tree_upstream  # late: only a tree needs it

    worktree = looked_at(folder)
    settled, notes = judge_tree(session, worktree)
    return Report(
        "status",
        settled.exit_code,
        tree_upstream(worktree),
        patches=settled.rendering.patches,
        notes=(*session.notes(), *worktree.notes, *notes, *settled.notes),
    )

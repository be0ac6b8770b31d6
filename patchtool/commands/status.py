"""``status``: pin, series and the state of every patch; never writes."""

from __future__ import annotations

from pathlib import Path

from patchtool.domain.errors import ExitCode
from patchtool.domain.report import Report
from patchtool.workflow.lock_comparison import pin_warning, render_series
from patchtool.workflow.releases import named_release, upstream_report
from patchtool.workflow.session import Session


def status(session: Session, *, on: str | None, tree: Path | None) -> Report:
    """Report the state of every patch on the pin, on another release, or on a tree.

    Args:
        session: The run.
        on: A release instead of the pin.
        tree: A folder with SGLang instead of a release.
    """
    if tree is not None:
        return _on_tree(session, tree)
    project, stored = session.project, named_release(session, on)
    rendering = render_series(session, session.store.tree(stored.commit), stored.release)
    warning = pin_warning(project.lock, project.pin.release)
    return Report(
        "status",
        max(rendering.exit_code, ExitCode.FINDINGS if warning else ExitCode.OK),
        upstream_report(stored, project.pin.hashes),
        patches=rendering.patches,
        notes=(*session.notes(), *rendering.notes, *([warning] if warning else [])),
    )


def _on_tree(session: Session, folder: Path) -> Report:
    from patchtool.workflow.disk_answer import answer_for  # late: a tree's only
    from patchtool.workflow.worktrees import look_at_worktree, open_read_only, worktree_report

    worktree = open_read_only(folder)
    looked = look_at_worktree(session, worktree)
    rendering, answer = looked.rendering, answer_for(session, folder, worktree, looked)
    other = ExitCode.FINDINGS if rendering.on_other_bytes else ExitCode.OK
    return Report(
        "status",
        max(rendering.exit_code, answer.exit_code, other),
        worktree_report(worktree),
        patches=rendering.patches,
        headline=answer.sentence,
        notes=(*session.notes(), *worktree.notes, *rendering.notes),
        extra={"folder": answer.to_json()},
    )

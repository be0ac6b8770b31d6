"""``status``: pin, series and the state of every patch; never writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.domain.errors import ExitCode
from patchtool.domain.report import Report
from patchtool.workflow.lock_comparison import pin_warning, render_series
from patchtool.workflow.releases import named_release, upstream_report
from patchtool.workflow.session import Session

if TYPE_CHECKING:
    from patchtool.adapters.worktree.running import Running


def status(session: Session, *, on: str | None, tree: Path | None, installed: str | None = None) -> Report:
    """Report the state of every patch on the pin, on another release, on a tree, or in what an interpreter runs.

    Args:
        session: The run.
        on: A release instead of the pin.
        tree: A folder with the package instead of a release.
        installed: An interpreter, for the package that it runs.
    """
    if tree is not None:
        return _on_tree(session, tree)
    if installed is not None:
        return _installed(session, installed)
    project, stored = session.project, named_release(session, on)
    base = session.store.tree(stored.commit)
    rendering = render_series(session, base, stored.release)
    warning = pin_warning(project.lock, project.pin.release)
    return Report(
        "status",
        max(rendering.exit_code, ExitCode.FINDINGS if warning else ExitCode.OK),
        upstream_report(stored, project.pin.hashes),
        patches=rendering.patches,
        notes=(*session.notes(), *rendering.notes, *([warning] if warning else [])),
    )


def _on_tree(session: Session, folder: Path, running: Running | None = None) -> Report:
    from patchtool.workflow.disk_answer import answer_for  # late: a tree's only
    from patchtool.workflow.worktrees import look_at_worktree, open_read_only, worktree_report

    worktree = open_read_only(session, folder)
    looked = look_at_worktree(session, worktree)
    rendering, answer = looked.rendering, answer_for(session, folder, worktree, looked, running)
    return Report(
        "status",
        answer.exit_code,
        worktree_report(worktree),
        patches=rendering.patches,
        headline=answer.sentence,
        notes=(*session.notes(), *worktree.notes, *rendering.notes),
        extra={"folder": answer.to_json()},
    )


def _installed(session: Session, python: str) -> Report:
    """The answer in one line; the table and notes are for ``-v``."""
    from patchtool.adapters.worktree.running import ask_interpreter  # late: a tree's only

    project = session.project
    targets = [path for info in project.patches for path in info.targets]
    running = ask_interpreter(python, project.package, targets)
    report = _on_tree(session, running.package.parent, running)
    others = [copy for copy in running.copies if not running.package.samefile(Path(copy, running.package.name))]
    unused = tuple(f"another copy, which {python} does not run, is in {copy}" for copy in others)
    return report._replace(kind="brief", notes=(*report.notes, *unused))

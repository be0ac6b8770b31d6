"""``status``: pin, series and the state of every patch; never writes."""

from __future__ import annotations

from pathlib import Path

from patchtool.commands.locking import judged, pin_moved
from patchtool.commands.session import Session, upstream_of
from patchtool.domain.errors import ExitCode
from patchtool.domain.report import Report


def status(session: Session, *, on: str | None, tree: Path | None) -> Report:
    """Tell how the series stands on the pin, on another release, or on a tree.

    Args:
        session: The run.
        on: A release instead of the pin.
        tree: A folder with SGLang instead of a release.
    """
    if tree is not None:
        return _of_tree(session, tree)
    stored = session.named(on)
    project = session.project
    content = session.store.tree(stored.commit)
    settled = judged(session, content, stored.release)
    moved = pin_moved(project.lock, project.pin.release)
    return Report(
        "status",
        max(settled.exit_code, ExitCode.FINDINGS) if moved else settled.exit_code,
        upstream_of(stored, project.pin.hashes),
        patches=settled.rendering.patches,
        notes=(*session.notes(), *settled.notes, *([moved] if moved else [])),
    )


def _of_tree(session: Session, folder: Path) -> Report:
    from patchtool.commands.trees import judge_tree, looked_at, tree_upstream  # late: only a tree needs it

    workplace = looked_at(folder)
    settled, notes = judge_tree(session, workplace)
    return Report(
        "status",
        settled.exit_code,
        tree_upstream(workplace),
        patches=settled.rendering.patches,
        notes=(*session.notes(), *workplace.notes, *notes, *settled.notes),
    )

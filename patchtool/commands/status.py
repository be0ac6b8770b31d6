"""``status``: pin, series and the state of every patch; never writes."""

from __future__ import annotations

from pathlib import Path

from patchtool.adapters.workplace import Workplace
from patchtool.commands.locking import Settled, pin_moved, settle
from patchtool.commands.rendering import Overlay, render, selected
from patchtool.commands.session import Session, upstream_of
from patchtool.domain.errors import ExitCode
from patchtool.domain.ports import Tree
from patchtool.domain.report import Report, Upstream


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
    rendering = render(project.patches, content, stored.release, session.cache)
    settled = settle(rendering, project.lock, stored.release, content)
    moved = pin_moved(project.lock, project.pin.release)
    return Report(
        "status",
        max(settled.exit_code, ExitCode.FINDINGS) if moved else settled.exit_code,
        upstream_of(stored, project.pin.hashes),
        patches=settled.rendering.patches,
        notes=(*session.notes(), *settled.notes, *([moved] if moved else [])),
    )


def _of_tree(session: Session, folder: Path) -> Report:
    from patchtool.adapters.workplace import open_workplace

    workplace = open_workplace(folder)
    settled, notes = judge_tree(session, workplace)
    return Report(
        "status",
        settled.exit_code,
        tree_upstream(workplace),
        patches=settled.rendering.patches,
        notes=(*session.notes(), *workplace.notes, *notes, *settled.notes),
    )


def tree_upstream(workplace: Workplace) -> Upstream:
    """What a report says of a tree that is not ours."""
    return Upstream(workplace.release, "tree", commit=workplace.head or "")


def judge_tree(
    session: Session, workplace: Workplace, *, only: tuple[str, ...] = (), skip: tuple[str, ...] = ()
) -> tuple[Settled, tuple[str, ...]]:
    """Judge the series on a folder, without what we wrote there ourselves.

    Args:
        session: The run.
        workplace: The folder.
        only: Names of the patches to judge; all where empty.
        skip: Names of patches to leave out.

    Returns:
        The rendering held against the lock, and notes on the folder.
    """
    from patchtool.adapters.workplace import originals, recorded

    project = session.project
    applied = recorded(workplace)
    notes: list[str] = []
    tree: Tree = workplace
    if applied is not None:
        tree = Overlay(workplace, originals(workplace, applied))
        notes.append(f"the series is applied here since an earlier run ({applied.branch or 'files only'})")
    release = workplace.release
    rendering = render(selected(project.patches, only, skip), tree, release, session.cache)
    if release is not None and release != project.pin.release:
        notes.append(f"this tree is {release}, the pin is {project.pin.release}")
    return settle(rendering, project.lock, release, tree), tuple(notes)

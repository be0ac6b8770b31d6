"""The series on a folder that somebody already has."""

from __future__ import annotations

from patchtool.adapters.workplace import Workplace, originals, recorded, state_of
from patchtool.commands.locking import Settled, judged
from patchtool.commands.rendering import Overlay, selected
from patchtool.commands.session import Session
from patchtool.domain.ports import Tree
from patchtool.domain.report import Upstream


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
    project = session.project
    applied = recorded(workplace)
    notes: list[str] = []
    tree: Tree = workplace
    standing = state_of(workplace, applied) if applied else None
    if applied is not None and standing is not None and standing.kind != "gone":
        tree = Overlay(workplace, originals(workplace, applied))
        edited = f", edited since: {', '.join(standing.paths)}" if standing.kind == "edited" else ""
        notes.append(f"the series is applied here since an earlier run ({applied.branch or 'files only'}){edited}")
    release = workplace.release
    if release is not None and release != project.pin.release:
        notes.append(f"this tree is {release}, the pin is {project.pin.release}")
    return judged(session, tree, release, selected(project.patches, only, skip)), tuple(notes)

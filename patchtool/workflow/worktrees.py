"""The series on a folder that somebody already has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from patchtool.adapters.worktree import Worktree, open_worktree, originals, recorded, recover, state_of
from patchtool.adapters.worktree.journal import Journal
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.domain.report import UpstreamReport
from patchtool.workflow.lock_comparison import CheckedRendering, render_checked
from patchtool.workflow.rendering import Overlay, selected
from patchtool.workflow.session import Session


def looked_at(folder: Path) -> Worktree:
    """A folder as it is, a run that was killed in it included; nothing is written."""
    worktree = open_worktree(folder)
    if Journal(worktree.state_dir).pending():
        note = "a run that wrote here was killed: the next apply or unapply brings this tree to rest"
        return replace(worktree, notes=(*worktree.notes, note))
    return worktree


def at_rest(folder: Path, lock_timeout: float) -> tuple[Worktree, tuple[str, ...]]:
    """A folder after what a killed run left was finished or taken back, and a sentence on that."""
    worktree = open_worktree(folder)
    recovery = recover(worktree, lock_timeout=lock_timeout)
    return (open_worktree(folder), (recovery.sentence,)) if recovery else (worktree, ())


def tree_upstream(worktree: Worktree) -> UpstreamReport:
    """What a report says of a tree that is not ours."""
    return UpstreamReport(worktree.release, "tree", commit=worktree.head or "")


def judge_tree(
    session: Session, worktree: Worktree, *, only: tuple[str, ...] = (), skip: tuple[str, ...] = ()
) -> tuple[CheckedRendering, tuple[str, ...]]:
    """Judge the series on a folder, without what we wrote there ourselves.

    Args:
        session: The run.
        worktree: The folder.
        only: Names of the patches to judge; all where empty.
        skip: Names of patches to leave out.

    Returns:
        The rendering held against the lock, and notes on the folder.
    """
    project = session.project
    applied = recorded(worktree)
    notes: list[str] = []
    tree: Tree = worktree
    standing = state_of(worktree, applied) if applied else None
    if applied is not None and standing is not None and standing.kind != "gone":
        tree = Overlay(worktree, _as_stored(worktree, originals(worktree, applied)))
        edited = f", edited since: {', '.join(standing.paths)}" if standing.kind == "edited" else ""
        where = f"on branch {applied.branch.removeprefix('refs/heads/')}" if applied.branch else "in its files only"
        notes.append(f"the series is applied here since an earlier run, {where}{edited}")
    release = worktree.release
    if release is None:
        notes.append("this tree does not say which release it is")
    elif release != project.pin.release:
        notes.append(f"this tree is {release}, the pin is {project.pin.release}")
    settled = render_checked(session, tree, release, selected(project.patches, only, skip))
    return settled, (*notes, *_mismatches(session, settled, release))


def _as_stored(worktree: Worktree, originals: dict[str, bytes]) -> dict[str, bytes]:
    """The bytes that git stores for what a checkout showed with other line endings."""
    endings = worktree.line_endings(originals)
    return {path: raw.replace(b"\r\n", b"\n") if path in endings else raw for path, raw in originals.items()}


def _mismatches(session: Session, settled: CheckedRendering, release: Release | None) -> list[str]:
    """Say which targets are not those of the release that the tree claims to be, as far as the lock knows them."""
    recorded = session.project.lock.releases.get(release) if release else None
    if recorded is None:
        return []
    known: dict[str, str] = {}
    found: dict[str, str] = {}
    for patch in settled.rendering.patches:
        locked = recorded.patches.get(patch.info.name)
        for path, (before, _) in locked.files.items() if locked else ():
            known.setdefault(path, before)
        for change in patch.judgement.changes:
            found.setdefault(change.path, change.before)
    differ = sorted(path for path, blob in found.items() if known.get(path, blob) != blob)
    return [
        f"{path} is not that of {release}: its blob is {found[path][:12]}, the lock has {known[path][:12]}"
        for path in differ
    ]

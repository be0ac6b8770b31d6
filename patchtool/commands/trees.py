"""The series on a folder that somebody already has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from patchtool.adapters.workplace import Workplace, open_workplace, originals, recorded, recover, state_of
from patchtool.adapters.workplace.journal import Journal
from patchtool.commands.locking import Settled, judged
from patchtool.commands.rendering import Overlay, selected
from patchtool.commands.session import Session
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.domain.report import Upstream


def looked_at(folder: Path) -> Workplace:
    """A folder as it is, a run that was killed in it included; nothing is written."""
    workplace = open_workplace(folder)
    if Journal(workplace.state_dir).pending():
        note = "a run that wrote here was killed: the next apply or unapply brings this tree to rest"
        return replace(workplace, notes=(*workplace.notes, note))
    return workplace


def at_rest(folder: Path, lock_timeout: float) -> tuple[Workplace, tuple[str, ...]]:
    """A folder after what a killed run left was finished or taken back, and a sentence on that."""
    workplace = open_workplace(folder)
    recovery = recover(workplace, lock_timeout=lock_timeout)
    return (open_workplace(folder), (recovery.sentence,)) if recovery else (workplace, ())


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
        tree = Overlay(workplace, _as_stored(workplace, originals(workplace, applied)))
        edited = f", edited since: {', '.join(standing.paths)}" if standing.kind == "edited" else ""
        where = f"on branch {applied.branch.removeprefix('refs/heads/')}" if applied.branch else "in its files only"
        notes.append(f"the series is applied here since an earlier run, {where}{edited}")
    release = workplace.release
    if release is None:
        notes.append("this tree does not say which release it is")
    elif release != project.pin.release:
        notes.append(f"this tree is {release}, the pin is {project.pin.release}")
    settled = judged(session, tree, release, selected(project.patches, only, skip))
    return settled, (*notes, *_mismatches(session, settled, release))


def _as_stored(workplace: Workplace, originals: dict[str, bytes]) -> dict[str, bytes]:
    """The bytes that git stores for what a checkout showed with other line endings."""
    endings = workplace.line_endings(originals)
    return {path: raw.replace(b"\r\n", b"\n") if path in endings else raw for path, raw in originals.items()}


def _mismatches(session: Session, settled: Settled, release: Release | None) -> list[str]:
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

"""Which release a folder is: by its commit, by what it says, or by the content of the files that the series reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from patchtool.adapters.worktree import Worktree, read_applied, read_originals
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.workflow.rendering import OverlayTree
from patchtool.workflow.session import Session
from patchtool.workflow.tree_base import locked_ids

_SHOWN = 3


class Placement(NamedTuple):
    """Which release a tree is.

    Args:
        release: The release; None where that is not certain.
        note: What the user should know, a sentence; may be empty.
    """

    release: Release | None
    note: str = ""


def placed(session: Session, worktree: Worktree) -> Worktree:
    """Place a folder among the releases that are known; see `place`."""
    says = worktree.release
    if _is_certain(session, says):
        return worktree
    found = place(session, _without_series(worktree), says)
    notes = (*worktree.notes, found.note) if found.note else worktree.notes
    return replace(worktree, placed=found.release, notes=notes)


def place(session: Session, tree: Tree, says: Release | None) -> Placement:
    """Place a tree among the releases that are known.

    A tree that says no release is the one whose files it has, if that is certain; else the nearest release and the
    files that differ are noted, and it stays without a release. Where the pin is a commit, a wheel of the same version
    is the pin if its files are the pin's.

    Args:
        session: The run.
        tree: Its files, without a series.
        says: The release that it says it is.
    """
    if _is_certain(session, says):
        return Placement(says)
    pin, files, known = session.project.pin.release, tree.blob_ids(session.footprint), _known(session)
    if says is not None:
        same = bool(known.get(pin)) and _differing(files, known[pin]) == []
        return Placement(pin, f"this tree is {says}, with the files of the pin, {pin}") if same else Placement(says)
    ranked = sorted(known, key=lambda release: (-len(_differing(files, known[release])), release == pin, release))
    nearest = ranked[-1] if ranked else None
    if nearest is None or not any(files.get(path) == blob for path, blob in known[nearest].items()):
        return Placement(None, "no known release has a file that the series reads as it is here")
    differing = _differing(files, known[nearest])
    if not differing:
        return Placement(nearest, f"this tree says no release; all files that the series reads are those of {nearest}")
    shown = ", ".join(differing[:_SHOWN]) + (f" and {len(differing) - _SHOWN} more" if len(differing) > _SHOWN else "")
    return Placement(None, f"the nearest release by its content is {nearest}; these files differ from it: {shown}")


def _is_certain(session: Session, says: Release | None) -> bool:
    pin = session.project.pin.release
    return says is not None and (says == pin or says.version != pin.version)


def known_releases(session: Session) -> tuple[Release, ...]:
    """The releases and commits that the project records: a folder is one of them if it has its commit or version."""
    return tuple(dict.fromkeys((session.project.pin.release, *session.project.lock.releases)))


def _without_series(worktree: Worktree) -> Tree:
    """The folder without what an earlier run wrote."""
    applied = read_applied(worktree)
    return OverlayTree(worktree, read_originals(worktree, applied)) if applied else worktree


def _known(session: Session) -> dict[Release, Mapping[str, str]]:
    """Blob ids of those files in every release of the lock and the store."""
    names = [info.name for info in session.project.patches]
    known: dict[Release, Mapping[str, str]] = {
        release: locked_ids(locked, names)[0] for release, locked in session.project.lock.releases.items()
    }
    stored = session.store.stored(dict.fromkeys((*known_releases(session), *session.store.releases())))
    found = session.store.git.regular_files([each.commit for each in stored.values()], session.footprint)
    known |= {release: found[each.commit] for release, each in stored.items()}
    return {release: files for release, files in known.items() if files}


def _differing(files: Mapping[str, str], known: Mapping[str, str]) -> list[str]:
    return sorted(path for path, blob in known.items() if files.get(path) != blob)

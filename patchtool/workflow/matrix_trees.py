"""What the matrix runs on: a release laid out in a folder, or a folder that somebody has, every subset rendered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from patchtool.adapters.store.checkout_folder import checkout_folder
from patchtool.adapters.store.records import StoredRelease
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.matrix.release_trees import ReleaseTrees
from patchtool.workflow.lock_comparison import with_locations
from patchtool.workflow.releases import named_release
from patchtool.workflow.rendering import Overlay, render
from patchtool.workflow.session import Session


@dataclass(frozen=True)
class BaseTree:
    """A tree to test on.

    Args:
        release: Which release it is, or is taken for.
        tree: Its files as upstream made them.
        folder: The folder that holds ``sglang/``.
        originals: Files in the folder that are not as upstream made them, with the bytes they had.
        stored: The release in the store, None for a folder of somebody's.
        notes: What a person must know.
    """

    release: Release
    tree: Tree
    folder: Path
    originals: dict[str, bytes] = field(default_factory=dict)
    stored: StoredRelease | None = None
    notes: tuple[str, ...] = ()


def ground_of_release(session: Session, text: str | None) -> BaseTree:
    """A release from the store, laid out once in the store's folder."""
    stored = named_release(session, text)
    store = session.store
    folder = checkout_folder(
        store.git, stored.commit, stored.tree, store.path / "trees", lock_timeout=session.lock_timeout
    )
    return BaseTree(stored.release, store.tree(stored.commit), folder, stored=stored)


def ground_of_tree(session: Session, folder: Path) -> BaseTree:
    """A folder that somebody has, without what we wrote there."""
    from patchtool.adapters.worktree import open_worktree, originals, recorded

    worktree = open_worktree(folder)
    applied = recorded(worktree)
    before = originals(worktree, applied) if applied else {}
    pin = session.project.pin.release
    notes = worktree.notes
    if worktree.release is None:
        notes = (*notes, f"{folder} does not say which release it is; taken for the pin, {pin}")
    return BaseTree(worktree.release or pin, Overlay(worktree, before), worktree.base, before, notes=notes)


def subject(session: Session, ground: BaseTree, subsets: Iterable[tuple[str, ...]]) -> ReleaseTrees:
    """Render every subset of the series that cells need.

    Args:
        session: The run.
        ground: The tree.
        subsets: Names of patches, in series order.
    """
    patches = with_locations(session.project.patches, session.project.lock, ground.release)
    overlays: dict[tuple[str, ...], dict[str, bytes]] = {}
    for subset in subsets:
        chosen = [info for info in patches if info.name in subset]
        contents = render(chosen, ground.tree, ground.release, session.cache).contents if chosen else {}
        overlays[subset] = {**ground.originals, **contents}
    return ReleaseTrees(ground.release, ground.folder, overlays)

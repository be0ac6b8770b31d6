"""The trees that the matrix runs on: a release in the store or the user's folder, and the rendered subsets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from patchtool.adapters.store.materialize import materialize
from patchtool.adapters.store.records import StoredRelease
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.matrix.planning.matrix_file import Matrix
from patchtool.matrix.release_trees import ReleaseTrees
from patchtool.workflow.prepared_series import prepared
from patchtool.workflow.releases import named_release, newest_release
from patchtool.workflow.rendering import render
from patchtool.workflow.session import Session

LATEST = "latest"
_ABSENT = b'raise ModuleNotFoundError(f"No module named {__name__!r}", name=__name__)\n'
"""Stands for a file that a subset does not have: that it deletes, or that an earlier apply created in the folder."""


@dataclass(frozen=True)
class BaseTree:
    """An upstream tree that subsets of the series are tested on.

    Args:
        release: The release; the pin for a folder that does not say.
        tree: Its files as upstream made them.
        folder: The folder that holds the package.
        originals: The upstream bytes of the files that an earlier ``apply`` changed in the folder.
        stored: The release in the store, None for the user's folder.
        notes: What the user should know, one sentence each.
    """

    release: Release
    tree: Tree
    folder: Path
    originals: dict[str, bytes | None] = field(default_factory=dict)
    stored: StoredRelease | None = None
    notes: tuple[str, ...] = ()


def base_trees(session: Session, matrix: Matrix, releases: Sequence[str], folder: Path | None) -> list[BaseTree]:
    """Open the trees to test on.

    Args:
        session: The run.
        matrix: The matrix file.
        releases: Releases, or ``latest``; the pin where empty, all that the matrix names for ``all``.
        folder: The user's folder, which is tested instead.
    """
    if folder is not None:
        return [_folder_tree(session, folder)]
    if tuple(releases) == ("all",):
        named = {release for row in matrix.rows for release in row.versions}
        releases = [release.tag for release in sorted(named | {session.project.pin.release})]
    named_texts = [str(newest_release(session)) if text == LATEST else text for text in releases]
    return [_release_tree(session, text) for text in named_texts or (None,)]


def _release_tree(session: Session, text: str | None) -> BaseTree:
    stored = named_release(session, text)
    store = session.store
    if stored.release.commit:
        store.tree(stored.commit).complete()
    folder = materialize(
        store.git,
        stored.commit,
        stored.tree,
        store.beside("trees"),
        store.package.layout,
        lock_timeout=session.lock_timeout,
    )
    return BaseTree(stored.release, store.tree(stored.commit), folder, stored=stored)


def _folder_tree(session: Session, folder: Path) -> BaseTree:
    from patchtool.workflow.worktrees import base_without_series, open_read_only  # late: a folder's only

    worktree = open_read_only(session, folder)
    base = base_without_series(session, worktree)
    before = {path: base.tree.read(path) for path in base.changed}
    pin = session.project.pin.release
    notes = worktree.notes
    if worktree.release is None:
        notes = (*notes, f"{folder} does not say which release it is; taken for the pin, {pin}")
    return BaseTree(worktree.release or pin, base.tree, worktree.base, before, notes=notes)


def render_subsets(session: Session, base: BaseTree, subsets: Iterable[tuple[str, ...]]) -> ReleaseTrees:
    """Render subsets of the series on a tree.

    Args:
        session: The run.
        base: The tree.
        subsets: Names of patches, in series order.
    """
    patches = prepared(session, base.release)
    overlays: dict[tuple[str, ...], dict[str, bytes]] = {}
    for subset in subsets:
        chosen = [info for info in patches if info.name in subset]
        contents = {
            **base.originals,
            **render(chosen, base.tree, base.release, session.cache, progress=session.progress).contents,
        }
        overlays[subset] = {path: _ABSENT if data is None else data for path, data in contents.items()}
    return ReleaseTrees(base.release, base.folder, overlays, session.project.package)

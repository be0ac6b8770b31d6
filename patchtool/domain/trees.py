"""Questions to a tree that not every tree answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchtool.domain.ports import TreeWithHistory, TreeWithModes
from patchtool.domain.text_patch import REGULAR

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from patchtool.domain.ports import Tree


def entries_of(tree: Tree, paths: Iterable[str]) -> Mapping[str, tuple[str, bytes]]:
    """Mode and bytes of the files of a tree; all are plain files where it does not tell modes."""
    if isinstance(tree, TreeWithModes):
        return tree.entries(paths)
    return {path: (REGULAR, data) for path in paths if (data := tree.read(path)) is not None}


def renames_of(tree: Tree, commit: str) -> Mapping[str, str]:
    """New paths of the files that were renamed since a commit, by old path; none where the tree does not tell."""
    return tree.renamed_since(commit) if commit and isinstance(tree, TreeWithHistory) else {}

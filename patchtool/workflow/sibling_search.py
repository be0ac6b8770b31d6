"""Searching a release for code that looks like the defects of the series."""

from __future__ import annotations

from collections import defaultdict

from patchtool.domain.errors import RefusedError
from patchtool.domain.kinds import kind_of
from patchtool.domain.patch import PatchInfo
from patchtool.domain.ports import SearchingKind, Tree
from patchtool.domain.sibling_sites import Siblings, SiblingSite
from patchtool.workflow.rendering import Rendering
from patchtool.workflow.session import Session


def require_search(session: Session) -> None:
    """Refuse a search where codemods, which state what to look for, must not be run.

    Raises:
        RefusedError: They must not.
    """
    if session.no_exec:
        raise RefusedError("--siblings runs the codemods of the series, which --no-exec forbids")


def find_siblings(tree: Tree, rendering: Rendering) -> Siblings:
    """Search a tree for code that looks like the defects of a series.

    Args:
        tree: The tree, as upstream has it.
        rendering: The series on it.

    Returns:
        The code, in series order; text patches state nothing to look for, and are named.
    """
    by_kind: dict[str, list[PatchInfo]] = defaultdict(list)
    for patch in rendering.patches:
        by_kind[type(kind_of(patch.info.source_file)).__name__].append(patch.info)
    sites: list[SiblingSite] = []
    unsearched: list[str] = []
    for infos in by_kind.values():
        kind = kind_of(infos[0].source_file)
        if isinstance(kind, SearchingKind):
            found = kind.siblings(infos, tree, rendering.contents)
            sites += found.sites
            unsearched += found.unsearched
        else:
            names = ", ".join(info.name for info in infos)
            unsearched.append(f"{names}: a text patch does not state what its defect looks like")
    order = {patch.info.name: number for number, patch in enumerate(rendering.patches)}
    return Siblings(tuple(sorted(sites, key=lambda site: order[site.patch])), tuple(unsearched))

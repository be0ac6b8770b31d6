"""Rendering the series on many releases: cached ones at once, the others spread over the cores.

Judging is pure Python and holds the GIL, so other cores are used by processes, forked after the engine is imported.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from functools import partial

from patchtool.adapters.store.judgement_cache import JudgementCache
from patchtool.domain.kinds import kind_of
from patchtool.domain.patch import PatchInfo
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.workflow.prepared_series import bound
from patchtool.workflow.rendering import Rendering, cached_rendering, render
from patchtool.workflow.session import Session


def render_many(session: Session, releases: Sequence[Release], trees: Sequence[Tree]) -> list[Rendering]:
    """Render the series on several releases, without comparing it with the lock.

    Args:
        session: The run.
        releases: The releases.
        trees: The tree of each of them.

    Returns:
        The renderings, in the same order.
    """
    patches, cache = bound(session), session.cache
    renderings = _cached(session, patches, releases, trees)
    missing = [index for index, rendering in enumerate(renderings) if rendering is None]
    rendered = _spread(patches, cache, [trees[index] for index in missing], [releases[index] for index in missing])
    known, total = len(releases) - len(missing), len(releases)
    session.progress("judging", known, total, "releases")
    for done, rendering in enumerate(rendered, start=1):
        renderings[missing[done - 1]] = rendering
        session.progress("judging", known + done, total, "releases")
    return [rendering for rendering in renderings if rendering is not None]


def _cached(
    session: Session, patches: Sequence[PatchInfo], releases: Sequence[Release], trees: Sequence[Tree]
) -> list[Rendering | None]:
    """Renderings from kept judgements; neighbouring commits with the same files have the same one."""
    footprint = session.footprint
    known: dict[tuple[object, ...], Rendering] = {}
    renderings: list[Rendering | None] = []
    for release, tree in zip(releases, trees):
        ids = tree.blob_ids(footprint)
        key = (*sorted(ids.items()), *(info.is_newer_than(release) for info in patches))
        rendering = known.get(key) or cached_rendering(patches, tree, release, session.cache)
        renderings.append(rendering)
        if rendering is not None and _reads_its_footprint(rendering, ids):
            known[key] = rendering
    return renderings


def _reads_its_footprint(rendering: Rendering, ids: Collection[str]) -> bool:
    """Whether no judgement depends on files that are not in the footprint: of a search, or of imports."""
    found = [patch.judgement for patch in rendering.patches]
    there = all(path in ids for patch in rendering.patches for path in patch.info.edited)
    return there and not any(judgement.looked_up or judgement.searched_tree for judgement in found)


def _spread(
    patches: Sequence[PatchInfo], cache: JudgementCache, trees: Sequence[Tree], releases: Sequence[Release]
) -> Iterator[Rendering]:
    if not trees:
        return
    from concurrent.futures import ProcessPoolExecutor  # late: a survey whose judgements are kept starts no process
    from multiprocessing import get_all_start_methods, get_context

    render_on = partial(render, patches, cache=cache)
    workers = min(os.cpu_count() or 1, len(trees))
    if workers < 2 or "fork" not in get_all_start_methods():
        yield from map(render_on, trees, releases)
        return
    for info in patches:
        kind_of(info.source_file).preload()  # before the fork, so that no worker has to
    with ProcessPoolExecutor(workers, mp_context=get_context("fork")) as pool:
        yield from pool.map(render_on, trees, releases)

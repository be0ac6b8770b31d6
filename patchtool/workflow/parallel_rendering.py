"""Rendering the series on many releases: cached ones at once, the others spread over the cores.

Judging is pure Python and holds the GIL, so other cores are used by processes, forked after the engine is imported.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_all_start_methods, get_context

from patchtool.adapters.git.commit_tree import CommitTree
from patchtool.adapters.store.judgement_cache import JudgementCache
from patchtool.domain.kinds import kind_of
from patchtool.domain.patch import PatchInfo
from patchtool.domain.release import Release
from patchtool.workflow.rendering import Rendering, cached_rendering, render
from patchtool.workflow.session import Session

_Job = tuple[Release, CommitTree]


def render_many(session: Session, jobs: Sequence[_Job]) -> list[Rendering]:
    """Render the series on several releases, without comparing it with the lock.

    Args:
        session: The run.
        jobs: The releases and their trees.

    Returns:
        The renderings, in the same order.
    """
    patches = session.project.patches
    renderings = [cached_rendering(patches, tree, release, session.cache) for release, tree in jobs]
    missing = [index for index, rendering in enumerate(renderings) if rendering is None]
    for done, rendering in enumerate(_spread(patches, session.cache, [jobs[index] for index in missing])):
        renderings[missing[done]] = rendering
        session.progress("judging releases", len(jobs) - len(missing) + done + 1, len(jobs))
    return [rendering for rendering in renderings if rendering is not None]


def _render(patches: Sequence[PatchInfo], cache: JudgementCache, job: _Job) -> Rendering:
    release, tree = job
    return render(patches, tree, release, cache)


def _spread(patches: Sequence[PatchInfo], cache: JudgementCache, jobs: Sequence[_Job]) -> Iterator[Rendering]:
    render_job = partial(_render, patches, cache)
    workers = min(os.cpu_count() or 1, len(jobs))
    if workers < 2 or "fork" not in get_all_start_methods():
        yield from map(render_job, jobs)
        return
    for info in patches:
        kind_of(info.source_file).preload()  # before the fork, so that no worker has to
    with ProcessPoolExecutor(workers, mp_context=get_context("fork")) as pool:
        yield from pool.map(render_job, jobs)

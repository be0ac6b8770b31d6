"""Rendering the series on many releases: cached ones at once, the others spread over the cores.

Judging is pure Python and holds the GIL, so other cores are used by processes, forked after the engine is imported.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_all_start_methods, get_context

from patchtool.adapters.git.commit_tree import GitTree
from patchtool.domain.release import Release
from patchtool.workflow.rendering import Rendering, cached_rendering, render
from patchtool.workflow.session import Session

_Job = tuple[Release, GitTree]
_judge: Callable[[_Job], Rendering] | None = None
"""Set before the fork, so that workers inherit the session instead of unpickling it for every job."""


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
    done = len(jobs) - len(missing)
    for index, rendering in zip(missing, _spread(session, [jobs[index] for index in missing])):
        renderings[index] = rendering
        done += 1
        session.progress("judging releases", done, len(jobs))
    return [rendering for rendering in renderings if rendering is not None]


def _spread(session: Session, jobs: Sequence[_Job]) -> Iterator[Rendering]:
    def judge(job: _Job) -> Rendering:
        release, tree = job
        return render(session.project.patches, tree, release, session.cache)

    workers = min(os.cpu_count() or 1, len(jobs))
    if workers < 2 or "fork" not in get_all_start_methods():
        yield from map(judge, jobs)
        return
    import patchtool.semantic.kind  # before the fork, so that no worker has to
    import patchtool.semantic.writing.write  # noqa: F401

    global _judge
    _judge = judge
    with ProcessPoolExecutor(workers, mp_context=get_context("fork")) as pool:
        yield from pool.map(_call, jobs)


def _call(job: _Job) -> Rendering:
    assert _judge is not None  # noqa: S101 -- set before the fork
    return _judge(job)

"""Rendering the series on many releases: cached ones at once, the others spread over the cores.

Judging is pure Python and holds the GIL, so other cores are used by processes, forked after the engine is imported. A
worker writes one byte to a pipe for each patch that it has judged, so that progress is told while it works.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters.store.judgement_cache import JudgementCache
from patchtool.domain.kinds import kind_of
from patchtool.domain.patch import PatchInfo
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.workflow.prepared_series import prepared_on
from patchtool.workflow.rendering import Rendering, cached_rendering, render
from patchtool.workflow.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

_SECONDS = 0.2
"""How often progress is told."""
_JUDGED = b"."


class _Task(NamedTuple):
    """What `render` takes."""

    patches: tuple[PatchInfo, ...]
    tree: Tree
    release: Release
    cache: JudgementCache


def render_many(session: Session, releases: Sequence[Release], trees: Sequence[Tree]) -> list[Rendering]:
    """Render the series on several releases, without comparing it with the lock.

    Args:
        session: The run.
        releases: The releases.
        trees: The tree of each of them.

    Returns:
        The renderings, in the same order.
    """
    tasks = [
        _Task(patches, tree, release, session.cache)
        for patches, tree, release in zip(prepared_on(session, releases), trees, releases)
    ]
    renderings = _cached(session, tasks)
    missing = [index for index, rendering in enumerate(renderings) if rendering is None]
    what = f"judging on {len(tasks)} release{'s' * (len(tasks) != 1)}"
    total = sum(len(task.patches) for task in tasks)
    judged = total - sum(len(tasks[index].patches) for index in missing)

    def tell(more: int) -> None:
        nonlocal judged
        judged += more
        session.progress(what, judged, total, "patches")

    tell(0)
    rendered = _rendered([tasks[index] for index in missing], tell)
    tell(total - judged)
    for index, rendering in zip(missing, rendered):
        renderings[index] = rendering
    return [rendering for rendering in renderings if rendering is not None]


def _cached(session: Session, tasks: Sequence[_Task]) -> list[Rendering | None]:
    """Renderings from kept judgements; neighbouring commits with the same files have the same one."""
    footprint = session.footprint
    known: dict[object, Rendering] = {}
    renderings: list[Rendering | None] = []
    for task in tasks:
        ids = task.tree.blob_ids(footprint)
        key = (tuple(sorted(ids.items())), *(_on_release(info, task.release) for info in task.patches))
        rendering = known.get(key) or cached_rendering(*task)
        renderings.append(rendering)
        if rendering is not None and _reads_its_footprint(rendering, ids):
            known[key] = rendering
    return renderings


def _on_release(info: PatchInfo, release: Release) -> object:
    """What differs in a patch from release to release."""
    kinds = tuple(sorted(info.kinds.items())) if info.kinds is not None else None
    return info.is_newer_than(release), info.at, kinds, info.text.key if info.text else ""


def _reads_its_footprint(rendering: Rendering, ids: Collection[str]) -> bool:
    """Whether no judgement depends on files that are not in the footprint: of a search, or of imports."""
    found = [patch.judgement for patch in rendering.patches]
    there = all(path in ids for patch in rendering.patches for path in patch.info.edited)
    return there and not any(judgement.looked_up or judgement.searched_tree for judgement in found)


def _rendered(tasks: Sequence[_Task], tell: Callable[[int], None]) -> list[Rendering]:
    if not tasks:
        return []
    from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait  # late: where nothing is kept
    from multiprocessing import get_all_start_methods, get_context

    workers = min(os.cpu_count() or 1, len(tasks))
    if workers < 2 or "fork" not in get_all_start_methods():
        return [render(*task, progress=lambda *_: tell(1)) for task in tasks]
    for info in tasks[0].patches:
        kind_of(info.source_file).preload()  # before the fork, so that no worker has to
        if info.text:
            info.text.change()  # else it is read when a task is sent, in a thread of the pool
    with _pipe() as (ours, theirs), ProcessPoolExecutor(workers, mp_context=get_context("fork")) as pool:
        futures = [pool.submit(_render_in_worker, theirs, task) for task in tasks]
        try:
            pending = set(futures)
            while pending:
                finished, pending = wait(pending, _SECONDS, FIRST_COMPLETED)
                tell(_count(ours))
                for future in finished:
                    future.result()  # else a failure is only told after all others have ended
        finally:
            for future in futures:
                future.cancel()
        return [future.result() for future in futures]


def _render_in_worker(end: int, task: _Task) -> Rendering:
    def tell(*_: object) -> None:
        with suppress(BlockingIOError):  # nobody reads so slowly; it is about progress only
            os.write(end, _JUDGED)

    return render(*task, progress=tell)


@contextmanager
def _pipe() -> Iterator[tuple[int, int]]:
    """The ends of a pipe, to read from and to write to, where neither ever waits."""
    ends = os.pipe()
    try:
        for end in ends:
            os.set_blocking(end, False)
        yield ends
    finally:
        for end in ends:
            os.close(end)


def _count(end: int) -> int:
    with suppress(BlockingIOError):
        return len(os.read(end, 1 << 16))
    return 0

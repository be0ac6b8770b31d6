"""``survey``: the states of every patch over many releases, and where a state changed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_all_start_methods, get_context

from patchtool.adapters.git.commit_tree import GitTree
from patchtool.adapters.store.records import StoredRelease
from patchtool.domain.errors import EnvironmentFault, ExitCode, InputError
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.domain.report import Report
from patchtool.domain.survey import Survey, SurveyedRelease
from patchtool.workflow.diffs import diff_of
from patchtool.workflow.releases import index_releases, named_release
from patchtool.workflow.rendering import Rendering, cached_rendering, render, selected
from patchtool.workflow.session import Session


@dataclass(frozen=True)
class SurveyOptions:
    """What to survey.

    Args:
        releases: The releases; all that are known where empty.
        since: The oldest.
        until: The newest.
        bisect: A patch whose changes of state are to be named.
        diffs: Whether the rendered diffs are wanted too.
    """

    releases: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    bisect: str | None = None
    diffs: bool = False


def survey(session: Session, options: SurveyOptions) -> Report:
    """Judge the series on many releases.

    Args:
        session: The run.
        options: Which, and what to tell.

    Returns:
        The matrix; its exit code is 0 whatever the states are, since nothing was asked of any of them.
    """
    project = session.project
    if options.bisect:
        selected(project.patches, (options.bisect,), ())
    wanted, notes = _wanted(session, options)
    known = session.store.stored(wanted)
    stored = [known.get(release) or named_release(session, release.tag) for release in wanted]
    paths = sorted({path for info in project.patches for path in info.footprint})
    trees = list(session.store.trees([s.commit for s in stored], paths).values())
    rows = list(_judged(session, stored, trees))
    surveyed = tuple(
        SurveyedRelease(s.release, r.patches, _diffs(t, r) if options.diffs else {})
        for s, t, r in zip(stored, trees, rows)
    )
    found = Survey(surveyed)
    changes = found.changes(options.bisect) if options.bisect else ()
    sentences = [str(change) for change in changes] or (
        [f"{options.bisect} never changes its state"] if options.bisect else []
    )
    return Report(
        "survey",
        ExitCode.OK,
        headline="\n".join(sentences),
        notes=(*session.notes(), *notes),
        extra=found.to_json() | ({"changes": [c.to_json() for c in changes]} if options.bisect else {}),
        kind="survey",
        survey=found,
    )


def _wanted(session: Session, options: SurveyOptions) -> tuple[list[Release], list[str]]:
    """The releases to survey, oldest first, and what could not be asked."""
    if options.releases:
        return sorted({Release.parse(text) for text in options.releases}), []
    known = set(session.store.releases())
    notes: list[str] = []
    try:
        known |= set(index_releases(session))
    except EnvironmentFault as error:
        notes.append(f"only the releases in the store: {error.message}")
    lowest = [Release(info.since) for info in session.project.patches if info.since]
    since = Release.parse(options.since) if options.since else min(lowest, default=None)
    until = Release.parse(options.until) if options.until else None
    found = sorted(r for r in known if (since is None or r >= since) and (until is None or r <= until))
    if not found:
        raise InputError("there is no release to survey", hint="name some, or widen --since and --until")
    return found, notes


def _judged(session: Session, stored: Sequence[StoredRelease], trees: Sequence[GitTree]) -> Iterator[Rendering]:
    """Renderings in the order of the releases: what is kept at once, the rest spread over the cores."""
    patches = session.project.patches
    found: dict[int, Rendering] = {}
    for index, (release, tree) in enumerate(zip(stored, trees)):
        known = cached_rendering(patches, tree, release.release, session.cache)
        if known is not None:
            found[index] = known
    missing = [index for index in range(len(stored)) if index not in found]
    jobs = [(stored[index].release, trees[index]) for index in missing]
    for index, rendering in zip(missing, _spread(session, jobs)):
        found[index] = rendering
        session.progress("judging releases", len(found), len(stored))
    return (found[index] for index in range(len(stored)))


def _spread(session: Session, jobs: Sequence[tuple[Release, GitTree]]) -> Iterator[Rendering]:
    def judge(job: tuple[Release, GitTree]) -> Rendering:
        release, tree = job
        return render(session.project.patches, tree, release, session.cache)

    workers = min(os.cpu_count() or 1, len(jobs))
    if workers < 2 or "fork" not in get_all_start_methods():
        yield from map(judge, jobs)
        return
    import patchtool.semantic.kind  # before the fork, so that the workers need not
    import patchtool.semantic.writing.write  # noqa: F401

    global _JUDGE
    _JUDGE = judge
    with ProcessPoolExecutor(workers, mp_context=get_context("fork")) as pool:
        yield from pool.map(_call, jobs)


_JUDGE: Callable[[tuple[Release, GitTree]], Rendering] | None = None


def _call(job: tuple[Release, GitTree]) -> Rendering:
    assert _JUDGE is not None  # noqa: S101 -- set before the fork
    return _JUDGE(job)


def _diffs(tree: Tree, rendering: Rendering) -> dict[str, str]:
    return {p.info.name: diff_of(rendering, tree, p) for p in rendering.patches if p.judgement.contents}

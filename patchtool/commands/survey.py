"""``survey``: the states of every patch over many releases, and where a state changed."""

from __future__ import annotations

from collections.abc import Sequence

from patchtool.domain.errors import EnvironmentFault, InputError
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.domain.report import Report
from patchtool.domain.survey import Survey, SurveyedRelease
from patchtool.workflow.diffs import rendering_diff
from patchtool.workflow.parallel_rendering import render_many
from patchtool.workflow.proofs import with_proofs
from patchtool.workflow.releases import find_release, index_releases, named_release
from patchtool.workflow.rendering import Rendering, select_patches
from patchtool.workflow.session import Session


def survey(
    session: Session, releases: Sequence[str], *, since: str | None, until: str | None, bisect: str | None, diffs: bool
) -> Report:
    """Judge the series on many releases.

    Args:
        session: The run.
        releases: The releases; all that are known where empty.
        since: The oldest.
        until: The newest.
        bisect: A patch whose changes of state are to be reported.
        diffs: Whether to render diffs as well.

    Returns:
        The states; the exit code is 0 whatever they are, since a survey expects none of them.
    """
    project = session.project
    if bisect:
        select_patches(project.patches, (bisect,))
    wanted, notes = _select_releases(session, releases, since, until)
    known = session.store.stored(wanted)
    stored = [known.get(release) or named_release(session, release.tag) for release in wanted]
    paths = sorted({path for info in project.patches for path in info.footprint})
    trees = list(session.store.trees([s.commit for s in stored], paths).values())
    renderings = [
        with_proofs(session, rendering, tree, s.release)
        for s, tree, rendering in zip(stored, trees, render_many(session, [s.release for s in stored], trees))
    ]
    result = Survey(
        tuple(
            SurveyedRelease(s.release, rendering.patches, _diffs(tree, rendering) if diffs else {})
            for s, tree, rendering in zip(stored, trees, renderings)
        )
    )
    changes = result.changes(bisect) if bisect else ()
    return Report(
        "survey",
        headline="\n".join(map(str, changes)) or (f"{bisect} never changes its state" if bisect else ""),
        notes=(*session.notes(), *notes),
        extra={"changes": [change.to_json() for change in changes]} if bisect else {},
        kind="survey",
        survey=result,
    )


def _select_releases(
    session: Session, releases: Sequence[str], since: str | None, until: str | None
) -> tuple[list[Release], list[str]]:
    """The named releases or those of index and store, oldest first, and a note if the index could not be asked."""
    if releases:
        return sorted({find_release(session, text) for text in releases}), []
    known = set(session.store.releases())
    notes: list[str] = []
    try:
        known |= set(index_releases(session))
    except EnvironmentFault as error:
        notes.append(f"only the releases in the store: {error.message}")
    lowest = [Release(info.since) for info in session.project.patches if info.since]
    oldest = Release.parse(since) if since else min(lowest, default=None)
    newest = Release.parse(until) if until else None
    selected = sorted(r for r in known if (oldest is None or r >= oldest) and (newest is None or r <= newest))
    if not selected:
        raise InputError("there is no release to survey", hint="name some, or widen --since and --until")
    return selected, notes


def _diffs(tree: Tree, rendering: Rendering) -> dict[str, str]:
    return {p.info.name: rendering_diff(rendering, tree, p) for p in rendering.patches if p.judgement.contents}

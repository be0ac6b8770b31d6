"""``survey``: the states of every patch over many releases, and where a state changed."""

from __future__ import annotations

from collections.abc import Sequence

from patchtool.adapters.store.records import StoredRelease
from patchtool.domain.errors import EnvironmentFault, ExitCode, InputError
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.domain.report import Report
from patchtool.domain.sibling_sites import SiblingSite
from patchtool.domain.survey import StateChange, Survey, SurveyedRelease
from patchtool.domain.text_patch import RESOLVED_BEFORE
from patchtool.workflow.diffs import rendering_diff
from patchtool.workflow.lock_comparison import compared
from patchtool.workflow.made import made
from patchtool.workflow.parallel_rendering import render_many
from patchtool.workflow.releases import find_release, index_releases, named_release
from patchtool.workflow.rendering import Rendering, select_patches
from patchtool.workflow.session import Session
from patchtool.workflow.sibling_search import find_siblings, require_search


def survey(
    session: Session,
    releases: Sequence[str],
    *,
    since: str | None,
    until: str | None,
    bisect: str | None,
    diffs: bool,
    every: int = 1,
    siblings: bool = False,
) -> Report:
    """Judge the series on many releases.

    Args:
        session: The run.
        releases: The releases, commits and ranges of commits; all releases that are known where empty.
        since: The oldest.
        until: The newest.
        bisect: A patch whose changes of state are to be reported.
        diffs: Whether to render diffs as well.
        every: Of a range, judge each so many-th commit.
        siblings: Whether to search for code that looks like the defects of the series; on the pin, where nothing else
            is named.

    Returns:
        The states; the exit code is the highest of all of them, or 0 where changes of a state were asked for.
    """
    project = session.project
    if bisect:
        select_patches(project.patches, (bisect,))
    if siblings:
        require_search(session)
        releases = releases or (() if since or until else (project.pin.release.tag,))
    wanted, notes = _select_releases(session, releases, since, until, every)
    stored = _stored(session, wanted)
    trees = list(session.store.trees([s.commit for s in stored], session.footprint).values())
    renderings = [
        compared(session, rendering, tree, s.release)
        for s, tree, rendering in zip(stored, trees, render_many(session, [s.release for s in stored], trees))
    ]
    searched, unsearched = _search(session, stored, trees, renderings) if siblings else ([None] * len(stored), [])
    result = Survey(
        tuple(
            SurveyedRelease(s.release, rendering.patches, _diffs(tree, rendering) if diffs else {}, found)
            for s, tree, rendering, found in zip(stored, trees, renderings, searched)
        )
    )
    of_lock = dict.fromkeys(note for rendering in renderings for note in rendering.notes)
    changes = [_with_commit(session, change) for change in result.changes(bisect)] if bisect else []
    return Report(
        "survey",
        ExitCode.OK if bisect else max((rendering.exit_code for rendering in renderings), default=ExitCode.OK),
        headline="\n".join(map(str, changes)) or (f"{bisect} never changes its state" if bisect else ""),
        notes=(
            *session.notes(),
            *notes,
            *of_lock,
            *_resolved_before(result),
            *unsearched,
        ),
        extra={"made": made(session)} | ({"changes": [change.to_json() for change in changes]} if bisect else {}),
        kind="survey",
        survey=result,
    )


def _search(
    session: Session, stored: Sequence[StoredRelease], trees: Sequence[Tree], renderings: Sequence[Rendering]
) -> tuple[list[tuple[SiblingSite, ...] | None], list[str]]:
    """What looks like the defects of the series on each release, and what could not be searched."""
    found: list[tuple[SiblingSite, ...] | None] = []
    problems: dict[str, None] = {}
    for done, (release, tree, rendering) in enumerate(zip(stored, trees, renderings)):
        session.progress("searching", done, len(stored), "releases")
        siblings = find_siblings(tree, rendering)
        found.append(siblings.sites)
        problems |= dict.fromkeys(f"{release.release}: {problem}" for problem in siblings.unsearched)
    session.progress("searching", len(stored), len(stored), "releases")
    return found, list(problems)


def _resolved_before(result: Survey) -> list[str]:
    """Which states are so because a person resolved a conflict here: on another machine it is one."""
    return [
        f"{patch.info.name} on {row.release}: {patch.judgement.detail}, used again"
        for row in result.releases
        for patch in row.patches
        if patch.judgement.reason == RESOLVED_BEFORE
    ]


def _stored(session: Session, wanted: Sequence[Release]) -> list[StoredRelease]:
    """The releases in the store; commits that are missing, and their target files, are fetched in one go."""
    commits = [release for release in wanted if release.commit]
    known: dict[Release, StoredRelease] = {}
    if commits and session.store.remote is not None:
        from patchtool.workflow.upstream_history import acquire_commits

        known = dict(zip(commits, acquire_commits(session, commits)))
    known |= session.store.stored(release for release in wanted if release not in known)
    return [known.get(release) or named_release(session, release.tag) for release in wanted]


def _with_commit(session: Session, change: StateChange) -> StateChange:
    """The change with the commit that made it, where both ends of it are commits."""
    if not change.release.commit or not change.previous.commit:
        return change
    from patchtool.workflow.state_changes import changed_between

    (info,) = select_patches(session.project.patches, (change.patch,))
    return change._replace(by=changed_between(session, info, change.previous, change.release))


def _select_releases(
    session: Session, releases: Sequence[str], since: str | None, until: str | None, every: int
) -> tuple[list[Release], list[str]]:
    """The named releases or those of index and store, oldest first, and a note if the index could not be asked."""
    if any(".." in text for text in releases):
        chosen: dict[Release, None] = {}
        notes: list[str] = []
        for text in releases:
            found, more = _in_range(session, text, every) if ".." in text else ([find_release(session, text)], [])
            chosen |= dict.fromkeys(found)
            notes += more
        return (sorted(chosen) if session.git_source is None else list(chosen)), notes
    if releases:
        return sorted({find_release(session, text) for text in releases}), []
    lowest = [Release(info.since) for info in session.project.patches if info.since]
    oldest = Release.parse(since) if since else min(lowest, default=None)
    return _between(session, oldest, Release.parse(until) if until else None)


def _in_range(session: Session, text: str, every: int) -> tuple[list[Release], list[str]]:
    """The commits of ``OLD..NEW``; where no git upstream is known, the releases from the old one to the new one."""
    from patchtool.workflow.upstream_history import commits_in_range, ends_of_range

    ends = ends_of_range(text)
    old, new = map(Release.of_tag, ends)
    if session.git_source is not None or old is None or new is None:
        return commits_in_range(session, text, every), []
    if new < old:
        raise InputError(f"{new} is older than {old}", hint=f"did you mean {ends[1]}..{ends[0]}?")
    found, notes = _between(session, old, new)
    return [*dict.fromkeys([found[0], *found[::-1][::every][::-1]])], notes


def _between(session: Session, oldest: Release | None, newest: Release | None) -> tuple[list[Release], list[str]]:
    """The releases of index and store between two, both included, and a note if the index could not be asked."""
    known = set(session.store.releases())
    notes: list[str] = []
    try:
        known |= set(index_releases(session))
    except EnvironmentFault as error:
        notes.append(f"only the releases in the store: {error.message}")
    selected = sorted(r for r in known if (oldest is None or r >= oldest) and (newest is None or r <= newest))
    if not selected:
        if notes and not known:
            raise EnvironmentFault(
                "there is no release to survey", cause="; ".join(notes), hint="patchtool fetch RELEASE"
            )
        raise InputError("there is no release to survey", hint="name some, or widen --since and --until")
    return selected, notes


def _diffs(tree: Tree, rendering: Rendering) -> dict[str, str]:
    return {p.info.name: rendering_diff(rendering, tree, p) for p in rendering.patches if p.judgement.contents}

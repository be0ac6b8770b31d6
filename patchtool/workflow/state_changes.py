"""Which commit of upstream changed the state of a patch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from patchtool.domain.history import HistoryEntry
from patchtool.domain.patch import PatchInfo
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.domain.state import State
from patchtool.workflow.prepared_series import prepared_on
from patchtool.workflow.rendering import render
from patchtool.workflow.session import Session
from patchtool.workflow.upstream_history import acquire_commits, upstream_commits

_FIRST_WINDOW = 64


def changed_between(session: Session, info: PatchInfo, old: Release, new: Release) -> HistoryEntry | None:
    """Find the commit with which a patch got the state that it has on the newer of two commits.

    Returns:
        The first commit after the old one from which on the state is that of the new one; None where the history of
        first parents does not say.
    """
    entries = upstream_commits(session).history(new.commit, old.commit)
    found = _last_change(_states(session, info, entries, old))
    return found[0] if found else entries[-1] if entries else None


def changed_by(session: Session, info: PatchInfo, release: Release) -> tuple[HistoryEntry, State] | None:
    """Find the commit with which a patch got the state that it has on a commit.

    Returns:
        That commit, and the state before it; None if it has this state as far back as the history goes.
    """
    entries = upstream_commits(session).history(release.commit)
    start, size = 0, _FIRST_WINDOW
    while start < len(entries):  # twice as many each time: the trees of an old project's whole history are large
        window = entries[start : start + size]
        found = _last_change(_states(session, info, window, release))
        if found is not None:
            return found
        start, size = start + len(window) - 1, size * 2
        if len(window) == 1:
            break
    return None


def _last_change(states: Iterator[tuple[HistoryEntry, State]]) -> tuple[HistoryEntry, State] | None:
    """The newest commit whose state differs from that of the one before it, and the state there."""
    changes = ((entry, before) for (entry, state), (_, before) in pairwise(states) if state is not before)
    return next(changes, None)


def _states(
    session: Session, info: PatchInfo, entries: Sequence[HistoryEntry], named: Release
) -> Iterator[tuple[HistoryEntry, State]]:
    """The state of a patch on each of some commits; those with the same target files are judged once."""
    releases = [entry.release for entry in entries]
    acquire_commits(session, releases)
    trees = session.store.trees([entry.commit for entry in entries], session.footprint)
    known: dict[tuple[tuple[str, str], ...], State] = {}
    on = [Release(named.version, entry.commit) for entry in entries]
    for entry, release, series in zip(entries, on, prepared_on(session, on)):
        tree: Tree = trees[entry.commit]
        files = tuple(sorted(tree.blob_ids(session.footprint).items()))
        if files not in known:
            rendering = render(series, tree, release, session.cache, progress=session.progress)
            known[files] = rendering.patch(info.name).judgement.state
        yield entry, known[files]

"""The plan of a rebase: the state of every patch before and after, and since when a failing patch fails."""

from __future__ import annotations

from collections.abc import Mapping

from patchtool.domain.errors import EnvironmentFault, ExitCode
from patchtool.domain.patch import PatchInfo
from patchtool.domain.rebase import RebasePlan, RebaseStep
from patchtool.domain.release import Release
from patchtool.workflow.lock_comparison import render_series
from patchtool.workflow.prepared_series import prepared
from patchtool.workflow.rendering import Rendering, render
from patchtool.workflow.session import Session


def plan_rebase(session: Session, to: Release, rendering: Rendering) -> RebasePlan:
    """Plan the move of the series to another release.

    Args:
        session: The run.
        to: The release.
        rendering: The series on that release.
    """
    start = _start(session, to)
    before = _states_on(session, start)
    steps = []
    for patch in rendering.patches:
        state, name = patch.judgement.state, patch.info.name
        failing = state.exit_code >= ExitCode.CONFLICT
        changed_on = _fails_since(session, patch.info, start, to) if failing else None
        steps.append(RebaseStep(name, before.get(name), state.value, changed_on))
    return RebasePlan(start, to, tuple(steps))


def _start(session: Session, to: Release) -> Release:
    """The pinned release, or the lock's if a bot moved the pin without the lock; without a pin, the release itself."""
    if not session.project.is_pinned:
        return to
    pin, lock = session.project.pin.release, session.project.lock
    return lock.pin if lock.pin is not None and pin not in lock.releases else pin


def _states_on(session: Session, release: Release) -> Mapping[str, str]:
    locked = session.project.lock.releases.get(release)
    if locked is not None:
        return {name: patch.state for name, patch in locked.patches.items()}
    stored = session.store.release(release)
    if stored is None:
        return {}
    rendering = render_series(session, session.store.tree(stored.commit), stored.release)
    return {patch.info.name: patch.judgement.state.value for patch in rendering.patches}


def _fails_since(session: Session, info: PatchInfo, start: Release, to: Release) -> Release | None:
    """The first release between the two, among those in the store, on which the patch fails."""
    low, high = min(start, to), max(start, to)
    if to.commit:
        return _failing_commit(session, info, to)
    if start.commit:
        return None
    between = [r for r in session.store.releases() if low <= r <= high]
    for release in between if start <= to else reversed(between):
        stored = session.store.release(release)
        if stored is None:
            continue
        tree = session.store.tree(stored.commit)
        rendering = render(prepared(session, release), tree, release, session.cache, progress=session.progress)
        if rendering.patch(info.name).judgement.state.exit_code >= ExitCode.CONFLICT:
            return release
    return None


def _failing_commit(session: Session, info: PatchInfo, to: Release) -> Release | None:
    """The commit since which the patch has the state that it has on a commit, in the history of the git upstream."""
    from patchtool.workflow.state_changes import changed_by  # late: only a failing patch needs the history

    try:
        found = changed_by(session, info, to)
    except EnvironmentFault as error:
        session.remarks.append(f"which commit broke {info.name} is not known: {error.message}")
        return None
    if found is not None:
        session.remarks.append(f"{info.name} was {found[1].value} before {found[0]}")
    return found[0].release if found else None

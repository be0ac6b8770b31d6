"""Comparing a rendering with what the lock recorded for the release, and recording it there."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from patchtool.adapters.store.records import StoredRelease
from patchtool.domain.lock import Lock, LockedPatch, LockedRelease
from patchtool.domain.patch import Judgement, PatchInfo, PatchReport
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.domain.state import Proof, State
from patchtool.workflow.prepared_series import prepared
from patchtool.workflow.proofs import tests_of, with_proofs
from patchtool.workflow.rendering import Rendering, render
from patchtool.workflow.session import Session


def render_series(
    session: Session,
    tree: Tree,
    release: Release | None,
    patches: Sequence[PatchInfo] | None = None,
    *,
    rendered: Rendering | None = None,
) -> Rendering:
    """Render the series on a tree, beside what is recorded of it.

    Args:
        session: The run.
        tree: The upstream state.
        release: Which release that is, where known.
        patches: The patches of the series to render; all by default.
        rendered: Their rendering on that tree, if it was made before.
    """
    if rendered is None:
        rendered = render(prepared(session, release, patches), tree, release, session.cache, progress=session.progress)
    return compared(session, rendered, tree, release)


def compared(session: Session, rendered: Rendering, tree: Tree, release: Release | None) -> Rendering:
    """Compare a rendering with the lock and the proofs; every verb that tells of states tells those of this function.

    Args:
        session: The run.
        rendered: The series on the tree.
        tree: The upstream state.
        release: Which release that is, where known.

    Returns:
        The rendering with drifts, each beside what it was, with recorded acceptances, and with proofs.
    """
    rendering = with_proofs(session, compare_with_lock(rendered, session.project.lock, release), tree, release)
    if not any(patch.judgement.state is State.DRIFTED for patch in rendering.patches):
        return rendering
    from patchtool.workflow.drift import with_drifts  # late: only a drift needs two renderings

    return with_drifts(session, rendering, tree, release)


def compare_with_lock(rendering: Rendering, lock: Lock, release: Release | None) -> Rendering:
    """Compare a rendering with the lock's record of the release.

    Args:
        rendering: The series as it renders now.
        lock: The lock.
        release: Which release this is; None for a tree that does not say.

    Returns:
        The rendering with recorded acceptances; a patch that renders differently is drifted.
    """
    recorded = lock.releases.get(release) if release else None
    if recorded is None:
        return rendering
    patches: list[PatchReport] = []
    notes: list[str] = []
    for patch in rendering.patches:
        name = patch.info.name
        locked = recorded.patches.get(name)
        if locked is None or locked.digest != patch.info.digest:
            notes.append(_edited(name, lock, release))
            patches.append(patch)
            continue
        drift = _drift(patch.judgement, locked)
        # What was accepted is what the lock records, and nothing later.
        patches.append(patch._replace(judgement=drift) if drift else patch._replace(accepted=locked.accepted))
    return Rendering(tuple(patches), tuple(notes))


def _edited(name: str, lock: Lock, release: Release | None) -> str:
    if release == lock.pin:
        return f"{name} was edited since the lock was written: patchtool refresh {name}"
    return f"{name} was edited since the lock recorded {release}: its rendering there is not compared"


def _drift(judgement: Judgement, locked: LockedPatch) -> Judgement | None:
    same_input = all(locked.files.get(c.path, (c.before,))[0] == c.before for c in judgement.changes)
    difference = locked.difference(judgement)
    if difference and same_input and judgement.state.changes_tree:
        return judgement.with_state(State.DRIFTED, "differs-from-lock", difference)
    return None


def pin_warning(lock: Lock, release: Release) -> str | None:
    """Say that the pin was moved to a release that the lock was not written for; None if it was not."""
    if lock.pin is None or lock.pin == release or release in lock.releases:
        return None
    return f"the pin is {release}, the lock was written for {lock.pin}: run patchtool rebase --to {release}"


def record(session: Session, stored: StoredRelease, rendering: Rendering) -> Lock:
    """The lock with this rendering and its proofs recorded; acceptances of unchanged patches are kept."""
    lock = session.project.lock
    old = lock.releases.get(stored.release)
    tree = session.store.tree(stored.commit)
    patches = {}
    for patch in with_proofs(session, rendering, tree, stored.release).patches:
        now = LockedPatch.of(patch.info, patch.judgement)
        before = old.patches.get(patch.info.name) if old else None
        if before is not None and before.digest == now.digest:
            now = now._replace(accepted=before.accepted)
        if now.proof != Proof.NONE.value:
            # A proof of an earlier version, which did not digest the tests, stays one.
            unknown = before is not None and before.proof == now.proof and not before.tests
            now = now._replace(tests="" if unknown else tests_of(session, patch.info))
        patches[patch.info.name] = now
    return lock.with_release(stored.release, LockedRelease(stored.commit, stored.tree, patches))


def accept(lock: Lock, release: Release, names: Collection[str], reason: str) -> Lock:
    """The lock with the named patches' drift or dispute accepted for this reason, if the release is recorded."""
    recorded = lock.releases.get(release)
    if recorded is None:
        return lock
    patches = {
        name: patch._replace(accepted=reason) if name in names else patch for name, patch in recorded.patches.items()
    }
    return lock._replace(releases={**lock.releases, release: recorded._replace(patches=patches)})

"""Comparing a rendering with what the lock recorded, and recording it anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from patchtool.adapters.store.records import StoredRelease
from patchtool.domain.errors import ExitCode
from patchtool.domain.lock import Lock, LockedPatch, LockedRelease
from patchtool.domain.patch import Judgement, PatchInfo
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.domain.report import PatchReport
from patchtool.domain.state import Proof, State
from patchtool.workflow.rendering import Rendering, render
from patchtool.workflow.session import Session


class CheckedRendering(NamedTuple):
    """A rendering after it was held against the lock.

    Args:
        rendering: With states and proofs as the lock changes them.
        exit_code: Of both together.
        tree: What was rendered on.
        notes: What a person must know.
    """

    rendering: Rendering
    exit_code: ExitCode
    tree: Tree
    notes: tuple[str, ...] = ()


def check_against_lock(rendering: Rendering, lock: Lock, release: Release | None, tree: Tree) -> CheckedRendering:
    """Hold a rendering against the lock's record of the release.

    Args:
        rendering: What the series comes to now.
        lock: What was recorded.
        release: Which release this is; None for a tree that does not say.
        tree: What was rendered on.
    """
    recorded = lock.releases.get(release) if release else None
    if recorded is None:
        return CheckedRendering(rendering, rendering.exit_code, tree)
    patches: list[PatchReport] = []
    notes: list[str] = []
    accepted: set[str] = set()
    for patch in rendering.patches:
        locked = recorded.patches.get(patch.info.name)
        if locked is None or locked.digest != patch.info.digest:
            notes.append(
                f"{patch.info.name} was edited since the lock was written: patchtool refresh {patch.info.name}"
            )
            patches.append(patch)
            continue
        if locked.accepted:
            accepted.add(patch.info.name)
        patches.append(patch._replace(judgement=_held_against(patch.judgement, locked)))
    settled = Rendering(tuple(patches))
    open_codes = [_code(p) for p in settled.patches if p.info.name not in accepted]
    hard = [p.judgement.state.exit_code for p in settled.patches if p.judgement.state.exit_code >= ExitCode.CONFLICT]
    return CheckedRendering(settled, max([*open_codes, *hard], default=ExitCode.OK), tree, tuple(notes))


def _held_against(judgement: Judgement, locked: LockedPatch) -> Judgement:
    render_checked = judgement._replace(proof=Proof(locked.proof))
    same_start = all(locked.files.get(c.path, (c.before,))[0] == c.before for c in judgement.changes)
    difference = locked.difference(judgement)
    if difference and same_start and judgement.state.changes_tree and not locked.accepted:
        return render_checked.as_state(State.DRIFTED, "differs-from-lock", difference)
    return render_checked


def _code(patch: PatchReport) -> ExitCode:
    return max(patch.judgement.state.exit_code, patch.judgement.proof.exit_code)


def render_checked(
    session: Session, tree: Tree, release: Release | None, patches: Sequence[PatchInfo] | None = None
) -> CheckedRendering:
    """Render the series on a tree and hold it against the lock.

    Args:
        session: The run.
        tree: The upstream state.
        release: Which release that is, where known.
        patches: Those of the series that are asked for; all by default.
    """
    project = session.project
    chosen = with_locations(project.patches if patches is None else patches, project.lock, release)
    return check_against_lock(render(chosen, tree, release, session.cache), project.lock, release, tree)


def with_locations(patches: Sequence[PatchInfo], lock: Lock, release: Release | None) -> tuple[PatchInfo, ...]:
    """The series with the places that a person pointed at when the release was recorded."""
    recorded = lock.releases.get(release) if release else None
    if recorded is None:
        return tuple(patches)
    places = {name: patch.at for name, patch in recorded.patches.items()}
    return tuple(info.placed(info.at or places.get(info.name, "")) for info in patches)


def pin_moved(lock: Lock, release: Release) -> str | None:
    """A sentence when the pin stands on a release that the lock was not written for, or None."""
    if lock.pin is None or lock.pin == release or release in lock.releases:
        return None
    return f"the pin is {release}, the lock was written for {lock.pin}: patchtool rebase --to {release} takes it there"


def record(lock: Lock, stored: StoredRelease, rendering: Rendering) -> Lock:
    """The lock with this rendering recorded; proofs and reviews of unchanged patches stay."""
    old = lock.releases.get(stored.release)
    patches = {}
    for patch in rendering.patches:
        now = LockedPatch.of(patch.info, patch.judgement)
        before = old.patches.get(patch.info.name) if old else None
        if before is not None and before.digest == now.digest:
            now = now._replace(proof=before.proof, accepted=before.accepted)
        patches[patch.info.name] = now
    return lock.with_release(stored.release, LockedRelease(stored.commit, stored.tree, patches))

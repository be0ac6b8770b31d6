"""What a drift is about: a patch as it was recorded, or as it is on the pin, beside what it renders now."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from patchtool.domain.errors import EnvironmentFault, InputError
from patchtool.domain.objects import MISSING
from patchtool.domain.state import State
from patchtool.domain.text_patch import REGULAR
from patchtool.workflow.diffs import git_diff, rendering_diff
from patchtool.workflow.prepared_series import prepared
from patchtool.workflow.releases import ensure_release
from patchtool.workflow.rendering import render

if TYPE_CHECKING:
    from patchtool.domain.lock import LockedPatch
    from patchtool.domain.patch import PatchReport
    from patchtool.domain.ports import Tree
    from patchtool.domain.release import Release
    from patchtool.workflow.rendering import Rendering
    from patchtool.workflow.session import Session

_IDS = re.compile(r"^index .*\n", re.MULTILINE)
_HUNK = re.compile(r"^@@ .*? @@", re.MULTILINE)


def with_drifts(session: Session, rendering: Rendering, tree: Tree, release: Release | None) -> Rendering:
    """Add to each patch that is drifted how its rendering differs from the one before.

    Args:
        session: The run.
        rendering: The series on the tree, compared with the lock.
        tree: The tree.
        release: Which release that is, where known.
    """
    drifted = [patch for patch in rendering.patches if patch.judgement.state is State.DRIFTED]
    shown = {patch.info.name: _drift(session, rendering, tree, release, patch) for patch in drifted}
    patches = tuple(patch._replace(drift=shown.get(patch.info.name, "")) for patch in rendering.patches)
    return rendering._replace(patches=patches)


def _drift(session: Session, rendering: Rendering, tree: Tree, release: Release | None, patch: PatchReport) -> str:
    """A diff from the old diff to the new one; ids and line numbers, which change with every release, are left out."""
    old, label = _before(session, release, patch.info.name)
    new = rendering_diff(rendering, tree, patch)
    name = patch.info.name
    names = (f"{name} {label}", f"{name} now, on {release or 'this tree'}")
    lines = difflib.unified_diff(_comparable(old), _comparable(new), *names)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _comparable(diff: str) -> list[str]:
    return _IDS.sub("", _HUNK.sub("@@", diff)).splitlines(keepends=True)


def _before(session: Session, release: Release | None, name: str) -> tuple[str, str]:
    """The old diff of a patch, empty where it is not known any more, and what it is."""
    lock = session.project.lock
    recorded = lock.releases.get(release) if release else None
    if recorded is not None and name in recorded.patches:
        text = _recorded(session, recorded.patches[name])
        return (text, f"as recorded on {release}") if text else ("", "as recorded, which this store does not have")
    pin = lock.pin or session.project.pin.release
    try:
        stored = ensure_release(
            session, pin, session.project.pin.hashes if pin == session.project.pin.release else None
        )
    except (EnvironmentFault, InputError):  # the drift is told all the same
        return "", f"on {pin}, which this store does not have"
    base = session.store.tree(stored.commit)
    rendering = render(prepared(session, pin), base, pin, session.cache, progress=session.progress)
    return rendering_diff(rendering, base, rendering.patch(name)), f"on {pin}"


def _recorded(session: Session, locked: LockedPatch) -> str:
    """The diff between the blobs that the lock names; empty where the store lacks one."""
    wanted = {blob for ids in locked.files.values() for blob in ids if blob != MISSING}
    blobs = session.store.git.objects(sorted(wanted))
    if wanted - blobs.keys():
        return ""
    entry = {blob: (REGULAR, data) for blob, (_, data) in blobs.items()}
    files = sorted(locked.files.items())
    return "".join(git_diff(path, entry.get(before), entry.get(after)) for path, (before, after) in files)

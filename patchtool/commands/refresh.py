"""``refresh``: records anew what the series comes to on the pin, after a patch was edited."""

from __future__ import annotations

from collections.abc import Sequence

from patchtool.adapters.files import atomic_write
from patchtool.adapters.project.project import LOCK, write_lock
from patchtool.domain.errors import ExitCode
from patchtool.domain.patch import PatchInfo
from patchtool.domain.report import Report
from patchtool.workflow.commits import keep_rendering
from patchtool.workflow.lock_comparison import record, with_locations
from patchtool.workflow.releases import pinned_release, upstream_of
from patchtool.workflow.rendering import render, selected
from patchtool.workflow.session import Session

_RENDERED = "refs/rendered"


def refresh(session: Session, names: Sequence[str]) -> Report:
    """Render the series on the pin, write the lock, and show what changed against the last rendering.

    Args:
        session: The run.
        names: Patches that may have changed; any where empty.
    """
    project = session.own_project("refresh")
    selected(project.patches, names, ())
    stored = pinned_release(session)
    patches = with_locations(project.patches, project.lock, stored.release)
    rendering = render(patches, session.store.tree(stored.commit), stored.release, session.cache)
    code = rendering.exit_code
    old = project.lock.releases.get(stored.release)
    strangers = _changed_besides(project.patches, names, {n: p.digest for n, p in old.patches.items()} if old else {})
    notes = [f"{name} was edited too and is recorded with the others" for name in strangers]
    if code >= ExitCode.CONFLICT:
        return Report("refresh", code, upstream_of(stored, project.pin.hashes), patches=rendering.patches,
                      headline="nothing was written", notes=tuple(notes))  # fmt: skip
    text = keep_rendering(session, stored, rendering)
    lock = record(project.lock, stored, rendering)
    data = write_lock(lock)
    path = project.root / LOCK
    changed = not path.exists() or path.read_bytes() != data
    if changed:
        atomic_write(path, data)
    return Report(
        "refresh",
        code,
        upstream_of(stored, project.pin.hashes),
        patches=rendering.patches,
        headline=f"{LOCK} records {stored.release}" if changed else f"{LOCK} is up to date, nothing to do",
        notes=tuple(notes),
        text=text,
        extra={"range_diff": text},
    )


def _changed_besides(patches: Sequence[PatchInfo], names: Sequence[str], old: dict[str, str]) -> list[str]:
    if not names:
        return []
    return [p.name for p in patches if p.name not in names and old.get(p.name, p.digest) != p.digest]

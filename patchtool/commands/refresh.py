"""``refresh``: records how the series renders on the pin, after a patch was edited."""

from __future__ import annotations

from collections.abc import Sequence

from patchtool.adapters.project.project import LOCK, Project, write_lock
from patchtool.adapters.project.transaction import write_all
from patchtool.domain.errors import ExitCode, RefusedError
from patchtool.domain.report import Report
from patchtool.workflow.commits import save_rendering
from patchtool.workflow.drift import with_drifts
from patchtool.workflow.lock_comparison import record
from patchtool.workflow.prepared_series import prepared
from patchtool.workflow.releases import pinned_release, upstream_report
from patchtool.workflow.rendering import render, select_patches
from patchtool.workflow.session import Session


def refresh(session: Session, names: Sequence[str]) -> Report:
    """Render the series on the pin, write the lock, and show what changed since the last rendering.

    Args:
        session: The run.
        names: Patches that may have changed; any where empty.
    """
    with session.changing("refresh") as project:
        return _refresh(session, project, names)


def _refresh(session: Session, project: Project, names: Sequence[str]) -> Report:
    select_patches(project.patches, names)
    stored = pinned_release(session)
    patches = prepared(session, stored.release)
    if (made_for := project.lock.pin) not in (None, stored.release) and any(info.is_text for info in patches):
        raise RefusedError(
            f"the pin is {stored.release}, and the text patches were made for {made_for}",
            hint=f"patchtool rebase --to {stored.release} carries them",
        )
    tree = session.store.tree(stored.commit)
    rendering = render(patches, tree, stored.release, session.cache, progress=session.progress)
    old = project.lock.releases.get(stored.release)
    recorded = {name: patch.digest for name, patch in old.patches.items()} if old else {}
    also = [p.name for p in patches if names and p.name not in names and recorded.get(p.name, p.digest) != p.digest]
    report = Report(
        "refresh",
        rendering.exit_code,
        upstream_report(stored, project.pin.hashes),
        patches=with_drifts(session, rendering, tree, stored.release).patches,
        headline="nothing was written",
        notes=(*session.notes(), *(f"{name} was edited too and is recorded with the others" for name in also)),
    )
    if rendering.exit_code >= ExitCode.CONFLICT:
        return report
    with session.store.writing(session.lock_timeout):
        text = save_rendering(session.store.git, project.root, stored, rendering)
    changed = write_all(project.root, {LOCK: write_lock(record(session, stored, rendering))})
    headline = f"{LOCK} records {stored.release}" if changed else f"{LOCK} is up to date, nothing to do"
    return report._replace(headline=headline, text=text, extra={"range_diff": text})

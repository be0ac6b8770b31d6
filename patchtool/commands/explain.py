"""``explain``: why a patch has the state it has."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.adapters.store.records import StoredRelease
from patchtool.domain.errors import EnvironmentFault, InputError, RefusedError
from patchtool.domain.kinds import kind_of
from patchtool.domain.patch import PatchReport
from patchtool.domain.ports import ComparingKind, Tree
from patchtool.domain.release import Release
from patchtool.domain.report import Report, UpstreamReport
from patchtool.domain.state import State
from patchtool.workflow.lock_comparison import render_series
from patchtool.workflow.releases import named_release, upstream_report
from patchtool.workflow.rendering import OverlayTree, Rendering, select_patches
from patchtool.workflow.session import Session

if TYPE_CHECKING:
    from patchtool.workflow.upstream_history import Match


def explain(session: Session, name: str, *, on: str | None, tree: Path | None, why_not: bool = False) -> Report:
    """Report goals, sites, evidence and nearest code of one patch, and the release since which it has its state.

    Args:
        session: The run.
        name: The patch.
        on: A release instead of the pin.
        tree: A folder with the package instead of a release.
        why_not: Whether to compare the templates that are not found with the nearest code.
    """
    project = session.project
    select_patches(project.patches, (name,))
    if tree is not None:
        from patchtool.workflow.worktrees import look_at_worktree, open_read_only, worktree_report  # late

        worktree = open_read_only(session, tree)
        looked = look_at_worktree(session, worktree)
        report = _report(looked.rendering.patch(name), worktree_report(worktree), looked.rendering.notes)
        return _with_mismatches(session, report, looked.rendering, looked.tree, worktree.release) if why_not else report
    stored = named_release(session, on)
    report = _on_release(session, stored, name)
    if not why_not:
        return report
    base = session.store.tree(stored.commit)
    return _with_mismatches(session, report, render_series(session, base, stored.release), base, stored.release)


def _with_mismatches(
    session: Session, report: Report, rendering: Rendering, base: Tree, release: Release | None
) -> Report:
    """The report with what keeps the patch's templates from being found, on the tree that the patches before it left.

    Raises:
        InputError: The patch is of a kind that has no templates.
        RefusedError: Codemods may not be run.
    """
    (patch,) = report.patches
    kind = kind_of(patch.info.source_file)
    if not isinstance(kind, ComparingKind):
        raise InputError(
            f"--why-not compares templates with code, and {patch.info.name} is a text patch",
            hint=f"patchtool explain {patch.info.name} tells about each hunk",
        )
    if session.no_exec:
        raise RefusedError("--why-not runs the patch's codemod, which --no-exec forbids")
    if patch.judgement.state is State.CRASHED:
        raise InputError(f"{patch.info.name} has no templates to compare: {patch.judgement.detail}")
    before = takewhile(lambda other: other.info.name != patch.info.name, rendering.patches)
    below = OverlayTree(base, {path: data for p in before for path, data in p.judgement.contents.items()})
    found = tuple(kind.why_not(rendering.patch(patch.info.name).info, below, release))
    return report._replace(extra={**report.extra, "why_not": [each.to_json() for each in found]}, mismatches=found)


def _on_release(session: Session, stored: StoredRelease, name: str) -> Report:
    project = session.project
    patch = _judged(session, stored, name)
    if stored.release.commit:
        return _with_commit(session, stored, patch)
    since, note = _since(session, stored, patch)
    if match := _match(session, stored):
        session.remarks.append(match.sentence(stored.release))
        if not match.differing:
            return _with_commit(session, stored, patch._replace(since=since), match.commit)
    upstream = upstream_report(stored, project.pin.hashes)
    return _report(patch._replace(since=since), upstream, (*session.notes(), note))


def _report(patch: PatchReport, upstream: UpstreamReport, notes: tuple[str, ...]) -> Report:
    code = patch.on_disk.state.exit_code if patch.on_disk else patch.exit_code
    return Report("explain", code, upstream, patches=(patch,), notes=notes, kind="explain")


def _match(session: Session, stored: StoredRelease) -> Match | None:
    """The commit that the release was built from, where a git upstream is known and can be asked."""
    if session.git_source is None:
        return None
    from patchtool.workflow.upstream_history import match_release

    try:
        return match_release(session, stored)
    except EnvironmentFault as error:
        session.remarks.append(f"its commit is not known: {error.message}")
        return None


def _with_commit(session: Session, stored: StoredRelease, patch: PatchReport, commit: Release | None = None) -> Report:
    """The report on a commit of upstream, or on a release built from one, with the commit that changed the state."""
    from patchtool.workflow.state_changes import changed_by

    upstream = upstream_report(stored)
    try:
        found = changed_by(session, patch.info, commit or stored.release)
    except EnvironmentFault as error:
        return _report(patch, upstream, (*session.notes(), f"since which commit is not known: {error.message}"))
    state = patch.judgement.state.value
    if found is None:
        return _report(patch, upstream, (*session.notes(), f"{state} as far back as upstream's history goes"))
    entry, before = found
    note = f"{state} since {entry}; before it is {before.value}"
    report = _report(patch._replace(since=patch.since or entry.release), upstream, (*session.notes(), note))
    return report._replace(extra={"changed_by": entry.to_json()})


def _judged(session: Session, stored: StoredRelease, name: str) -> PatchReport:
    return render_series(session, session.store.tree(stored.commit), stored.release).patch(name)


def _since(session: Session, stored: StoredRelease, patch: PatchReport) -> tuple[Release | None, str]:
    """Find the first release of the unbroken run that has this state, among those in the store."""
    state, first = patch.judgement.state, stored.release
    older = [release for release in session.store.releases() if release < stored.release]
    for release in reversed(older):
        earlier = session.store.release(release)
        before = _judged(session, earlier, patch.info.name).judgement.state if earlier else None
        if before is not state:
            return first, f"{state.value} since {first}; on {release} it is {before.value if before else 'unknown'}"
        first = release
    if not older:
        return None, "no older release is in the store to compare with: patchtool fetch RELEASE brings one"
    return first, f"{state.value} since {first} at least, the oldest release in the store"

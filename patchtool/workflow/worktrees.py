"""The series on a folder that the user already has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from patchtool.adapters.worktree import Worktree, applied_state, open_worktree, read_applied, read_originals, recover
from patchtool.adapters.worktree.journal import Journal
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.domain.report import UpstreamReport
from patchtool.workflow.lock_comparison import render_series
from patchtool.workflow.proofs import proof_notes
from patchtool.workflow.rendering import OverlayTree, Rendering, select_patches
from patchtool.workflow.session import Session


def open_read_only(folder: Path) -> Worktree:
    """Open a folder as it is, even where an earlier run was killed in it; nothing is written."""
    worktree = open_worktree(folder)
    if Journal(worktree.state_dir).pending():
        note = "an earlier run was killed while it wrote here: the next apply or unapply recovers this tree"
        return replace(worktree, notes=(*worktree.notes, note))
    return worktree


def open_recovered(folder: Path, lock_timeout: float) -> tuple[Worktree, tuple[str, ...]]:
    """Open a folder after finishing or rolling back what a killed run left there.

    Returns:
        The worktree, and notes on what was recovered.
    """
    worktree = open_worktree(folder)
    recovery = recover(worktree, lock_timeout=lock_timeout)
    return (open_worktree(folder), (recovery.sentence,)) if recovery else (worktree, ())


def worktree_report(worktree: Worktree) -> UpstreamReport:
    """Describe a worktree in a report."""
    return UpstreamReport(worktree.release, "tree", commit=worktree.head or "")


def render_on_worktree(
    session: Session, worktree: Worktree, *, only: tuple[str, ...] = (), skip: tuple[str, ...] = ()
) -> tuple[Rendering, Tree]:
    """Render the series on a worktree as it was before the series was applied to it.

    Args:
        session: The run.
        worktree: The folder.
        only: Names of the patches to render; all where empty.
        skip: Names of patches to leave out.

    Returns:
        The rendering, compared with the lock and with notes on the worktree, and the tree it was rendered on.
    """
    project = session.project
    applied = read_applied(worktree)
    notes: list[str] = []
    tree: Tree = worktree
    state = applied_state(worktree, applied) if applied else None
    if applied is not None and state is not None and state.kind != "reverted":
        tree = OverlayTree(worktree, _as_stored(worktree, read_originals(worktree, applied)))
        edited = f", edited since: {', '.join(state.paths)}" if state.kind == "edited" else ""
        where = f"on branch {applied.branch.removeprefix('refs/heads/')}" if applied.branch else "in its files only"
        notes.append(f"an earlier run applied the series here, {where}{edited}")
    release = worktree.release
    if release is None:
        notes.append("this tree does not say which release it is")
    elif release != project.pin.release:
        notes.append(f"this tree is {release}, the pin is {project.pin.release}")
    rendering = render_series(session, tree, release, select_patches(project.patches, only, skip))
    notes += [*_mismatches(session, rendering, release), *rendering.notes]
    notes += proof_notes(rendering, f"patchtool test --tree {worktree.root}")
    return rendering._replace(notes=tuple(notes)), tree


def _as_stored(worktree: Worktree, originals: dict[str, bytes | None]) -> dict[str, bytes | None]:
    """The bytes that git stores for a checkout with other line endings."""
    endings = worktree.line_endings({path: raw for path, raw in originals.items() if raw is not None})
    return {path: raw.replace(b"\r\n", b"\n") if raw and path in endings else raw for path, raw in originals.items()}


def _mismatches(session: Session, rendering: Rendering, release: Release | None) -> list[str]:
    """Report targets that differ from those of the release that the tree claims to be, where the lock has them."""
    recorded = session.project.lock.releases.get(release) if release else None
    if recorded is None:
        return []
    series = rendering.patches[::-1]  # so that of the patches that change a file, the first decides
    actual = {change.path: change.before for patch in series for change in patch.judgement.changes}
    locked = [recorded.patches[patch.info.name] for patch in series if patch.info.name in recorded.patches]
    expected = {path: before for patch in locked for path, (before, _) in patch.files.items()}
    return [
        f"{path} is not that of {release}: its blob is {blob[:12]}, the lock has {expected[path][:12]}"
        for path, blob in sorted(actual.items())
        if expected.get(path, blob) != blob
    ]

"""The series on a folder that the user already has."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from patchtool.adapters.git.repository import Repository
from patchtool.adapters.worktree import Worktree, adopt, open_worktree, recover
from patchtool.adapters.worktree.file_ids import FileIds
from patchtool.adapters.worktree.journal import Journal
from patchtool.domain.errors import RefusedError
from patchtool.domain.patch import PatchInfo
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.domain.report import UpstreamReport
from patchtool.workflow.commits import patch_commits
from patchtool.workflow.disk_states import SeriesOnDisk, series_on_disk
from patchtool.workflow.lock_comparison import render_series
from patchtool.workflow.placing import known_releases, placed
from patchtool.workflow.prepared_series import prepared
from patchtool.workflow.proofs import proof_notes
from patchtool.workflow.rendering import Rendering, select_patches
from patchtool.workflow.session import Session
from patchtool.workflow.tree_base import TreeBase, recorded_base


def open_read_only(session: Session, folder: Path) -> Worktree:
    """Open a folder as it is, even where an earlier run was killed in it; nothing is written."""
    worktree = _placed(session, open_worktree(folder, session.project.package))
    if Journal(worktree.state_dir, worktree.upstream).pending():
        note = "an earlier run was killed while it wrote here: the next apply or unapply recovers this tree"
        return replace(worktree, notes=(*worktree.notes, note))
    return worktree


def open_recovered(session: Session, folder: Path, *, place: bool = True) -> tuple[Worktree, bool]:
    """Open a folder after finishing or rolling back what a killed run left there, which is remarked.

    Args:
        session: The run.
        folder: The folder.
        place: Whether to find out which release it is where it says none.

    Returns:
        The worktree, and whether anything was recovered.
    """
    worktree = open_worktree(folder, session.project.package)
    recovery = recover(worktree, lock_timeout=session.lock_timeout)
    if recovery:
        session.remarks.append(recovery.sentence)
        worktree = open_worktree(folder, session.project.package)
    return (_placed(session, worktree) if place else worktree), recovery is not None


def _placed(session: Session, worktree: Worktree) -> Worktree:
    worktree.refuse_left_out(session.footprint)
    return placed(session, replace(worktree, known=known_releases(session), ids=_file_ids(session, worktree)))


def _file_ids(session: Session, worktree: Worktree) -> FileIds:
    name = hashlib.sha256(os.fsencode(worktree.package.resolve())).hexdigest()[:32]
    return FileIds(session.store.beside("file-ids") / f"{name}.json", writes=session.cache_writes)


def worktree_report(worktree: Worktree) -> UpstreamReport:
    """Describe a worktree in a report."""
    return UpstreamReport(worktree.release, "tree", commit=worktree.head or "", project=worktree.package.name)


ADOPTED = "the files are what the series makes of the release, and are recorded as such: no record was here"


class RenderedWorktree(NamedTuple):
    """The series on a folder.

    Args:
        rendering: The series on the folder as it was before; compared with the lock, and with notes on the folder.
        tree: The folder as it was before.
        upstream: Blob ids of the release's files, where the record of an earlier run does not hold as it is.
        series: What the patches are on disk; for writing, only where no record tells.
    """

    rendering: Rendering
    tree: Tree
    upstream: Mapping[str, str]
    series: SeriesOnDisk | None = None


def render_on_worktree(
    session: Session, worktree: Worktree, *, only: tuple[str, ...] = (), skip: tuple[str, ...] = ()
) -> RenderedWorktree:
    """Render the series on a worktree as it was before the series was applied to it, for writing it.

    Args:
        session: The run.
        worktree: The folder.
        only: Names of the patches to render; all where empty.
        skip: Names of patches to leave out.
    """
    patches, base = select_patches(session.project.patches, only, skip), recorded_base(session, worktree)
    if base.changed and not base.committed:
        return _rendered(session, worktree, base, patches)
    series = series_on_disk(session, worktree, base, _located(session, worktree, patches))
    if series.complete:
        return _rendered(session, worktree, series.base, patches, series)
    if base.committed:
        onto = (worktree.branch or "").removeprefix("refs/heads/")
        exchange = f"; or exchange them: patchtool apply --tree {worktree.root} --onto {onto} --replace" if onto else ""
        raise RefusedError(
            f"the commits of another series are at HEAD of {worktree.root}, and no record of them is here",
            hint=f"leave them ({base.way_back}), then run it again{exchange}",
        )
    return _rendered(session, worktree, base, patches, series)


def base_without_series(session: Session, worktree: Worktree) -> TreeBase:
    """The folder as it was before the series, by the record of an earlier run or because the files tell."""
    base = recorded_base(session, worktree)
    if base.changed:
        return base
    series = series_on_disk(session, worktree, base, _located(session, worktree, session.project.patches))
    return series.base if series.recognised else base


def adopt_series(session: Session, worktree: Worktree, series: SeriesOnDisk | None = None) -> bool:
    """Record what is applied in a folder that has no record, where the files are exactly what the series makes.

    Args:
        session: The run.
        worktree: The folder.
        series: What the patches are on disk, if that was found out before.

    Returns:
        Whether something was recorded. Commits are not: git has them.
    """
    if series is None:
        base = recorded_base(session, worktree)
        if base.changed:
            return False
        series = series_on_disk(session, worktree, base, _located(session, worktree, session.project.patches))
    found, base = series.recognised, series.base
    if found is None or base.committed or not _is_uncommitted(worktree, base.changed):
        return False
    originals = {path: base.tree.read(path) for path in base.changed}
    release = (worktree.release or session.project.pin.release).slug
    adopt(worktree, patch_commits(found), originals, release=release, lock_timeout=session.lock_timeout)
    return True


def _is_uncommitted(worktree: Worktree, paths: Iterable[str]) -> bool:
    names = {worktree.in_repository(path) for path in paths} if worktree.checkout else set()
    return not worktree.checkout or names <= set(Repository(worktree.checkout).changed_paths(names))


def look_at_worktree(session: Session, worktree: Worktree) -> RenderedWorktree:
    """Judge what every patch of the series is in a worktree; nothing is written."""
    patches, base = session.project.patches, recorded_base(session, worktree)
    series = series_on_disk(session, worktree, base, _located(session, worktree, patches))
    found = _rendered(session, worktree, series.base, patches, series)
    return found._replace(rendering=found.rendering._replace(patches=series.reports(found.rendering)))


def _located(session: Session, worktree: Worktree, patches: Sequence[PatchInfo]) -> tuple[PatchInfo, ...]:
    return prepared(session, worktree.release, patches)


def _rendered(
    session: Session,
    worktree: Worktree,
    base: TreeBase,
    patches: Sequence[PatchInfo],
    series: SeriesOnDisk | None = None,
) -> RenderedWorktree:
    notes, release, pin = list(base.notes), worktree.release, session.project.pin.release
    if release is None:
        notes.append("this tree does not say which release it is")
    elif release != pin:
        notes.append(f"this tree is {release}, the pin is {pin}")
    rendered = None
    if series is not None:
        rendered = series.without if base.tree is series.base.tree else series.on_disk
    rendering = render_series(session, base.tree, release, patches, rendered=rendered)
    notes += [*_mismatches(session, rendering, release), *rendering.notes]
    notes += proof_notes(rendering, f"patchtool test --tree {worktree.root}")
    return RenderedWorktree(rendering._replace(notes=tuple(notes)), base.tree, base.upstream, series)


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

"""The series on a folder that the user already has."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from patchtool.adapters.git.repository import Repository
from patchtool.adapters.worktree import Worktree, adopt, open_worktree, recover
from patchtool.adapters.worktree.file_ids import FileIds
from patchtool.adapters.worktree.journal import Journal
from patchtool.adapters.worktree.ownership import foreign
from patchtool.domain.errors import EnvironmentFault, InputError, RefusedError
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
    located = _located(session, worktree, patches)
    series = series_on_disk(session, worktree, base, located)
    part = len(patches) < len(session.project.patches)
    if series.unknown and session.cache_writes and (part or not series.complete):
        try:
            series = series_on_disk(session, worktree, base, located, fetch=True)
        except (EnvironmentFault, InputError):  # not here, or in no index
            if series.applied_by_lock:
                raise  # what is there of the series would be taken for upstream's
    if series.complete:
        found = _rendered(session, worktree, series.base, patches, series)
        return _with_states(found, series) if series.unknown else found
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
        series: What all patches are on disk, if that was found out before.

    Returns:
        Whether something was recorded. Commits are not: git has them.
    """
    if series is None:
        patches = _located(session, worktree, session.project.patches)
        series = series_on_disk(session, worktree, recorded_base(session, worktree), patches)
    found = series.recognised
    if found is None or series.base.committed or not _is_uncommitted(worktree, found.contents):
        return False
    _adopt(session, worktree, series, found)
    return True


def adopt_to_unapply(session: Session, worktree: Worktree) -> bool:
    """Record what is applied in a folder that has no record, so that it can be taken out; edits may be beside it.

    Args:
        session: The run.
        worktree: The folder, which need not be placed.

    Returns:
        Whether something was recorded; if not, nothing of the series is in the folder's files.

    Raises:
        RefusedError: The series is in commits, or which release the folder is of is not known.
        EnvironmentFault: The release is not in the store, and cannot be fetched.
    """
    worktree = _placed(session, worktree)
    base = recorded_base(session, worktree)
    if base.committed:
        raise _in_commits(worktree, base)
    patches = _located(session, worktree, session.project.patches)
    series = series_on_disk(session, worktree, base, patches, fetch=True)
    if series.unknown:
        raise RefusedError(
            f"whether the fixes in {worktree.root} are upstream's is not known: it does not say which release it is",
            hint="restore its files from the release, if this tool has patched them elsewhere",
        )
    if found := series.recognised or series.held:
        _adopt(session, worktree, series, found)
    return found is not None


def _in_commits(worktree: Worktree, base: TreeBase) -> RefusedError:
    """Refuse to take commits out that no record of ours is about."""
    why, series = foreign(worktree.state_dir), worktree.committed
    record = f"the record of them is not acted on: {why}" if why else "no record of them is here"
    hint = f"leave them: {base.way_back}"
    if series and series.tip != worktree.head and not any(not unchanged for unchanged in base.changed.values()):
        commits = " ".join(series.commits[::-1])
        hint = f"git -C {quote(str(worktree.root))} revert --no-edit {commits}"
    return RefusedError(f"the series is in the commits of {worktree.root}, and {record}", hint=hint)


def _adopt(session: Session, worktree: Worktree, series: SeriesOnDisk, found: Rendering) -> None:
    originals = {path: series.base.tree.read(path) for path in found.contents}
    release = (worktree.release or session.project.pin.release).slug
    adopt(worktree, patch_commits(found), originals, found.contents, release=release, lock_timeout=session.lock_timeout)


def _is_uncommitted(worktree: Worktree, paths: Iterable[str]) -> bool:
    names = {worktree.in_repository(path) for path in paths} if worktree.checkout else set()
    return not worktree.checkout or names <= set(Repository(worktree.checkout).changed_paths(names))


def look_at_worktree(session: Session, worktree: Worktree) -> RenderedWorktree:
    """Judge what every patch of the series is in a worktree; nothing is written."""
    patches, base = session.project.patches, recorded_base(session, worktree)
    series = series_on_disk(session, worktree, base, _located(session, worktree, patches))
    return _with_states(_rendered(session, worktree, series.base, patches, series), series)


def _with_states(found: RenderedWorktree, series: SeriesOnDisk) -> RenderedWorktree:
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
    if series is not None and series.applied_by_lock:  # a proof is about the files without the series
        rendering = rendering._replace(on_other_bytes=frozenset())
        notes.append(f"proofs cannot be compared without {release} in the store: patchtool fetch {release}")
    else:
        notes += proof_notes(rendering, f"patchtool test --tree {quote(str(worktree.root))}")
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

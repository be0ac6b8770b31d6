"""What each patch of a series is in a folder of the user: a judgement of the bytes on disk, not of any record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from patchtool.adapters.worktree import Worktree
from patchtool.domain.objects import MISSING, blob_id
from patchtool.domain.patch import Judgement, OnDisk, PatchInfo, PatchReport
from patchtool.domain.state import DiskState, State
from patchtool.workflow.rendering import Rendering, render
from patchtool.workflow.session import Session
from patchtool.workflow.tree_base import TreeBase, locked_ids, release_base, restoring

_OTHERWISE = {
    State.LANDED: DiskState.LANDED,
    State.ABSENT: DiskState.ABSENT,
    State.OBSOLETE: DiskState.OBSOLETE,
    State.CONFLICT: DiskState.CONFLICT,
    State.AMBIGUOUS: DiskState.AMBIGUOUS,
    State.BLOCKED: DiskState.BLOCKED,
    State.CRASHED: DiskState.CRASHED,
}
_IN_EFFECT = (State.LANDED, State.PARTIAL)
_FAILED = (State.CONFLICT, State.AMBIGUOUS)


def series_on_disk(
    session: Session, worktree: Worktree, base: TreeBase, patches: Sequence[PatchInfo], *, fetch: bool = False
) -> SeriesOnDisk:
    """Judge the series on a folder as it is.

    Args:
        session: The run.
        worktree: The folder.
        base: What a record says of it.
        patches: The series, with the locations and kinds that the lock has for the release.
        fetch: Whether the release is fetched where only its files can tell whose code the folder has.

    Raises:
        EnvironmentFault: The release is to be fetched, and cannot be.
    """
    on_disk = render(patches, worktree, worktree.release, session.cache, progress=session.progress)
    if base.changed:
        return SeriesOnDisk(session, worktree, base, tuple(patches), on_disk)
    # Without a record, code that has the fix may be upstream's, or of an earlier run: the lock or the release tells.
    locked = session.project.lock.releases.get(worktree.release) if worktree.release else None
    records = locked.patches if locked else {}
    landed = {name for name, record in records.items() if record.state == State.LANDED.value}
    held = {patch.info.name for patch in on_disk.patches if patch.judgement.state in _IN_EFFECT} - landed
    failed = [patch for patch in on_disk.patches if patch.judgement.state in _FAILED]
    if held or failed:
        paths = {path for info in patches for path in info.targets}
        found = release_base(session, worktree, paths, fetch=fetch and bool(held))
        if found is None:
            return SeriesOnDisk(session, worktree, base, tuple(patches), on_disk, unknown=bool(held))
        release = render(patches, found.tree, worktree.release, session.cache, progress=session.progress)
        only_here = [patch for patch in failed if release.patch(patch.info.name).judgement.state not in _FAILED]
        files = (path for patch in only_here for path in patch.info.targets if path in found.changed)
        path = next(files, None)
        way_back = restoring(session, worktree, path) if path else ""
        if any(release.patch(name).judgement.state not in _IN_EFFECT for name in held):
            base = found._replace(notes=base.notes, way_back=way_back)
        elif way_back:
            base = base._replace(
                notes=(*base.notes, f"{path} is not that of {worktree.release}, which this brings back: {way_back}")
            )
    return SeriesOnDisk(session, worktree, base, tuple(patches), on_disk)


@dataclass(frozen=True)
class SeriesOnDisk:
    """The patches of a series in a folder.

    Args:
        session: The run.
        worktree: The folder.
        base: The folder without the series.
        patches: The series.
        on_disk: The series rendered on the folder as it is: a patch that is applied has landed there.
        unknown: Whether it is not known what the release has in its files.
    """

    session: Session
    worktree: Worktree
    base: TreeBase
    patches: tuple[PatchInfo, ...]
    on_disk: Rendering
    unknown: bool = False

    @cached_property
    def without(self) -> Rendering:
        """The series rendered on the folder without the series."""
        return self._render(self.patches) if self.base.changed else self.on_disk

    @property
    def recognised(self) -> Rendering | None:
        """The patches whose rendering is exactly what is on disk, where no record says so; None without any."""
        if self.base.recorded or not self._exact:
            return None
        return self._render([info for info in self.patches if info.name in self._exact])

    @property
    def held(self) -> Rendering | None:
        """The patches whose fix is on disk, where no record says so, beside other changes too; None without any."""
        if self.base.recorded or not self.base.changed:
            return None
        changing = [patch for patch in self.without.patches if patch.judgement.contents]
        infos = [patch.info for patch in changing if self._state(patch).state is DiskState.APPLIED]
        return self._render(infos) if infos else None

    @property
    def applied_by_lock(self) -> bool:
        """Whether the lock tells that something is applied, where the release's files are not known."""
        return self.unknown and any(
            self._state(patch).state in (DiskState.APPLIED, DiskState.OUTDATED) for patch in self.on_disk.patches
        )

    @property
    def complete(self) -> bool:
        """Whether what is on disk is exactly the whole series, but for what the person committed on top of it."""
        if self.unknown:
            states = [self._state(patch) for patch in self.on_disk.patches]
            return self.applied_by_lock and all(each.state.has_fix and not each.reason for each in states)
        changing = {patch.info.name: patch for patch in self.without.patches if patch.judgement.contents}
        if not changing or self._exact == changing.keys():
            return bool(changing)
        return bool(self.base.own) and all(self._state(p).state is DiskState.APPLIED for p in changing.values())

    @property
    def left(self) -> list[str]:
        """Names of the patches that an earlier run applied and that are not in the series any more."""
        names = {info.name for info in self.patches}
        return [name for name in self.base.recorded if name not in names]

    def reports(self, rendering: Rendering) -> tuple[PatchReport, ...]:
        """The reports of a rendering on the folder without the series, each with what the patch is on disk."""
        return tuple(patch._replace(on_disk=self._state(patch)) for patch in rendering.patches)

    def _render(self, patches: Sequence[PatchInfo]) -> Rendering:
        return render(
            patches, self.base.tree, self.worktree.release, self.session.cache, progress=self.session.progress
        )

    @cached_property
    def _exact(self) -> frozenset[str] | None:
        """The patches whose rendering is exactly what is on disk; None where no rendering of the series is."""
        changing = [patch.info for patch in self.without.patches if patch.judgement.contents]
        held = [info for info in changing if self._on_disk(info.name).state in _IN_EFFECT]
        recorded = [info for info in changing if self.base.recorded.get(info.name) == info.digest]
        for chosen in (changing, held, recorded):
            if chosen and self._is_on_disk(self.without if chosen == changing else self._render(chosen)):
                return frozenset(info.name for info in chosen)
        return None

    def _is_on_disk(self, rendering: Rendering) -> bool:
        wanted = {p: MISSING if data is None else blob_id(data) for p, data in rendering.contents.items()}
        untouched = [path for path in self.base.changed if path not in wanted]
        wanted |= {path: self.base.tree.blob_ids([path]).get(path, MISSING) for path in untouched}
        there = self.worktree.blob_ids(wanted)
        set_modes = {p: mode for p, mode in rendering.modes.items() if rendering.contents[p] is not None}
        entries = self.worktree.entries(set_modes)
        if any(path not in entries or entries[path][0] != mode for path, mode in set_modes.items()):
            return False
        return all(there.get(path, MISSING) == blob for path, blob in wanted.items())

    def _on_disk(self, name: str) -> Judgement:
        return self.on_disk.patch(name).judgement

    def _state(self, patch: PatchReport) -> OnDisk:
        """What one patch is on disk, given its report on the folder without the series."""
        now = self._on_disk(patch.info.name)
        held = frozenset(goal.name for goal in now.goals if goal.held_before)
        if not patch.judgement.state.changes_tree:
            return self._not_needed(patch, held)
        found = self._differing(patch, now) if self.base.changed else OnDisk(DiskState.NOT_APPLIED)
        return found._replace(held=held)

    def _not_needed(self, patch: PatchReport, held: frozenset[str]) -> OnDisk:
        state = _OTHERWISE[patch.judgement.state]
        if state is not DiskState.LANDED or not self.unknown:
            return OnDisk(state, held=held)
        release = self.worktree.release
        locked = self.session.project.lock.releases.get(release) if release else None
        if locked is None or patch.info.name not in locked.patches:
            return OnDisk(
                state,
                "release-unknown",
                "the fix is here; whether upstream has it, or an earlier run wrote it, is not known"
                + (f" without {release} in the store" if release else " where the release is not"),
                held,
            )
        files = locked.patches[patch.info.name].files
        _, after = locked_ids(locked, [info.name for info in self.patches])
        there = self.worktree.blob_ids(files)
        if not files:
            return OnDisk(state, held=held)
        if any(there.get(path) != after[path] for path in files):
            return _with_other_lines(files)._replace(held=held)
        if locked.patches[patch.info.name].digest != patch.info.digest:
            return OnDisk(DiskState.OUTDATED, "older-version", "the lock has an older version of the patch", held)
        return OnDisk(DiskState.APPLIED, held=held)

    def _differing(self, patch: PatchReport, now: Judgement) -> OnDisk:
        """What a patch is that the release needs, in a folder that is not as the release."""
        name = patch.info.name
        if self._exact is not None:
            return OnDisk(DiskState.APPLIED if name in self._exact else DiskState.NOT_APPLIED)
        recorded = self.base.recorded.get(name)
        paths = [change.path for change in patch.judgement.changes]
        edited = [path for path in paths if self.base.changed.get(path) is False]
        holds = now.state in _IN_EFFECT
        older = recorded is not None and recorded != patch.info.digest
        own = self.base.own.issuperset(edited)  # commits on top of a series may change its files, too
        if edited and holds and (recorded is None or (own and not older)):
            return _with_other_lines(edited)
        if edited and recorded and not (own and older):
            words = "the fix is still there" if holds else "the fix is not there any more"
            return OnDisk(DiskState.EDITED, "edited-since", f"{_first_of(edited)} was edited since; {words}")
        missing = [path for path in paths if path not in self.base.changed]
        if missing == paths:
            return OnDisk(DiskState.NOT_APPLIED)
        if recorded is None and now.state in _FAILED:
            return OnDisk(_OTHERWISE[now.state], now.reason, now.detail)
        if recorded is None:
            return OnDisk(DiskState.APPLIED if holds else DiskState.NOT_APPLIED)
        if older:
            return OnDisk(DiskState.OUTDATED, "older-version", "an older version of the patch is applied")
        if missing:
            return OnDisk(DiskState.EDITED, "taken-out", f"{_first_of(missing)} is as without the patch")
        if holds and (not self._only_the_tool_differs or self._is_rendered(paths)):
            return OnDisk(DiskState.APPLIED)
        return OnDisk(DiskState.OUTDATED, "renders-differently", "this version of patchtool renders it differently")

    def _is_rendered(self, paths: Sequence[str]) -> bool:
        """Whether files are as the whole series leaves them, whatever was edited beside them."""
        wanted = {path: self.without.contents.get(path) for path in paths}
        there = self.worktree.blob_ids(paths)
        return all(there.get(path) == (None if data is None else blob_id(data)) for path, data in wanted.items())

    @cached_property
    def _only_the_tool_differs(self) -> bool:
        """Whether exactly these versions of these patches were applied."""
        changing = {p.info.name: p.info.digest for p in self.without.patches if p.judgement.contents}
        return dict(self.base.recorded) == changing


def _with_other_lines(paths: Iterable[str]) -> OnDisk:
    """A fix that is there, in a file with changes of its own: whether they were made since, no record tells."""
    return OnDisk(DiskState.APPLIED, "other-lines", f"the fix is there; {_first_of(paths)} has other changes, too")


def _first_of(paths: Iterable[str]) -> str:
    first, *others = paths
    return f"{first} and {len(others)} more" if others else first

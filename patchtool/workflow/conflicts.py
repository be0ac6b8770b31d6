"""Conflicts of text patches as a person resolves them: in a checkout, patch by patch."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from patchtool.adapters.git.conflict_checkout import ConflictCheckout, Entry, Resolved, Sides, conflict_markers
from patchtool.adapters.git.resolutions import record_resolution
from patchtool.adapters.store.records import StoredRelease
from patchtool.domain.errors import ExitCode, RefusedError
from patchtool.domain.objects import MISSING, blob_id
from patchtool.domain.patch import Change, Judgement, PatchReport
from patchtool.domain.state import State
from patchtool.domain.text_patch import REGULAR, CarryOutcome, FileChange, Region, TextChange
from patchtool.domain.trees import entries_of
from patchtool.textual.carry_change import CarriedChange, carry_change
from patchtool.textual.carry_entry import CarriedEntry
from patchtool.textual.guards import check_merged
from patchtool.textual.python import conflict_regions
from patchtool.workflow.commits import branch_name, commit_patches, commit_rendering, patch_commits
from patchtool.workflow.rendering import OverlayTree, Rendering
from patchtool.workflow.session import Session

_FAILED = (CarryOutcome.CONFLICT, CarryOutcome.OBSOLETE)
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? ")
_NEAR = 3
_MOST_LINES = 60


class Stop(NamedTuple):
    """A conflict that a person is to resolve.

    Args:
        patch: The patch.
        tip: The commit in the checkout that has the patches before.
        files: Whether there are conflict markers in it, for each file that conflicts; empty where the patch has no
            change that could be merged.
        upstream: What changed in these files since the release that the patch was made for, around its conflicts.
    """

    patch: PatchReport
    tip: str
    files: Mapping[str, bool]
    upstream: str


class Taken(NamedTuple):
    """What became of a resolution: recorded, unless there is a problem.

    Args:
        problems: Why it is none yet, one sentence each.
        notes: What the person should know of it.
    """

    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def first_stuck(rendering: Rendering) -> PatchReport | None:
    """The first patch of a series that a person has to do something about before the release can be the pin."""
    return next((patch for patch in rendering.patches if is_stuck(patch.judgement)), None)


def is_stuck(judgement: Judgement) -> bool:
    """Whether a patch cannot be applied, and an acceptance would not change that."""
    return judgement.state.exit_code >= ExitCode.CONFLICT or judgement.state is State.OBSOLETE


def stop_at(session: Session, stored: StoredRelease, rendering: Rendering, patch: PatchReport, work: Path) -> Stop:
    """Put the patches before one into the checkout, and that patch with its conflicts on top.

    Args:
        session: The run.
        stored: The release.
        rendering: The series on it.
        patch: The patch.
        work: The checkout's folder.
    """
    before, below = _below(session, stored, rendering, patch)
    checkout = ConflictCheckout(work)
    tip = checkout.check_out(
        session.store.git,
        stored.commit,
        patch_commits(before),
        branch_name(stored.release),
        prepare=session.store.tree(stored.commit).complete if stored.release.commit else None,
        lock_timeout=session.lock_timeout,
    )
    change = change_in_conflict(patch)
    if change is None:
        return Stop(patch, tip, {}, "")
    carried = carry_change(change, below, patch.info.text)
    conflicts = conflict_sides(carried)
    base = patch.info.base or str(session.project.lock.pin or session.project.pin.release)
    base = f"what {patch.info.name} was made of" if change.problem else base
    labels = (str(stored.release), base, patch.info.name)
    regions = {path: _regions(path, sides) for path, sides in conflicts.items()}
    files = checkout.put(conflicts, staged_files(carried, conflicts), labels=labels, regions=regions)
    return Stop(patch, tip, files, _upstream_changes(checkout, carried, conflicts))


def complete_checkout(session: Session, stored: StoredRelease, rendering: Rendering, work: Path) -> None:
    """Put the whole series into the checkout, where it still is."""
    checkout = ConflictCheckout(work)
    if checkout.exists():
        commits, branch = patch_commits(rendering), branch_name(stored.release)
        where = (session.store.git, stored.commit, commits, branch)
        checkout.check_out(*where, prepare=None, lock_timeout=session.lock_timeout)


def take_resolution(
    session: Session, stored: StoredRelease, rendering: Rendering, patch: PatchReport, work: Path, tip: str
) -> Taken:
    """Read what a person made of a conflict, prove it and record it.

    Args:
        session: The run.
        stored: The release.
        rendering: The series on it.
        patch: The patch that conflicts.
        work: The checkout's folder.
        tip: The commit in it that has the patches before.

    Raises:
        RefusedError: The patches before are others by now.
    """
    before, below = _below(session, stored, rendering, patch)
    change = change_in_conflict(patch)
    if change is None:
        return Taken()
    with session.store.writing(session.lock_timeout):
        if commit_rendering(session.store.git, stored, before) != tip:
            raise RefusedError(
                f"the patches before {patch.info.name} have changed since the rebase stopped",
                hint="patchtool rebase --abort, and start it again",
            )
        resolved = ConflictCheckout(work).read(tip)
        problems = tuple(_problems(resolved, change, below, patch.info.name))
        if problems:
            return Taken(problems)
        judgement = resolved_judgement(resolved.files, below)
        series = Rendering((*before.patches, patch._replace(judgement=judgement)))
        commit = commit_patches(session.store.git, stored.commit, patch_commits(series))[-1]
        record_resolution(session.store.git, patch.info.name, stored.release.slug, change, below, commit)
    return Taken(notes=tuple(_remarks(resolved, change, below)))


def _below(
    session: Session, stored: StoredRelease, rendering: Rendering, patch: PatchReport
) -> tuple[Rendering, OverlayTree]:
    """The patches before one, and the tree that they leave."""
    names = [each.info.name for each in rendering.patches]
    before = Rendering(rendering.patches[: names.index(patch.info.name)])
    return before, OverlayTree(session.store.tree(stored.commit), before.contents, before.modes)


def change_in_conflict(patch: PatchReport) -> TextChange | None:
    """What a text patch does where it was made; None for another patch, and where what it was made of is not known."""
    change = patch.info.text.change() if patch.info.text and is_stuck(patch.judgement) else None
    unfit = (
        change is None
        or (change.problem and not change.files)
        or patch.judgement.state in (State.BLOCKED, State.CRASHED)
    )
    return None if unfit else change


def conflict_sides(carried: CarriedChange) -> dict[str, Sides]:
    """The files that conflict; where the doubt is about the patch as a whole, those that it would change, or all."""
    failed = [each for each in carried.files if each[1].file.outcome in _FAILED]
    chosen = failed or [each for each in carried.files if each[1].changes] or carried.files
    return dict(_sides(each, carried) for each in chosen)


def _sides(each: tuple[FileChange, CarriedEntry], carried: CarriedChange) -> tuple[str, Sides]:
    """The stages of a file, as git has them after a rename too: under its new name."""
    file, there = each[0], carried.there
    base = None if file.base is None else (file.base_mode, file.base)
    theirs = None if file.patched is None else (file.patched_mode, file.patched)
    home = carried.moved.get(file.source_path, file.source_path)
    if file.path in there and home in there and file.path != home:
        return file.path, Sides(None, there[file.path], theirs)
    return file.path, Sides(base, there.get(file.path) or there.get(home), theirs)


def _regions(path: str, sides: Sides) -> Sequence[bytes | Region]:
    """What of a file a person has to merge; nothing where only lines tell it."""
    texts = [entry[1] for entry in (sides.base, sides.theirs, sides.ours) if entry is not None]
    return conflict_regions(*texts) if path.endswith(".py") and len(texts) == len(sides) else ()


def staged_files(carried: CarriedChange, conflicts: Iterable[str]) -> dict[str, Entry | None]:
    """The files of a patch that do not conflict, as it leaves them."""
    staged: dict[str, Entry | None] = {}
    for file, entry in carried.files:
        home = carried.moved.get(file.source_path, file.source_path)
        if file.path != home and home in carried.there:
            staged[home] = None
        if entry.changes and file.path not in conflicts:
            staged[file.path] = None if entry.file.data is None else (entry.mode, entry.file.data)
    return staged


def _upstream_changes(checkout: ConflictCheckout, carried: CarriedChange, conflicts: Mapping[str, Sides]) -> str:
    """What changed between the files that the patch was made for and those here, where the patch changes them."""
    parts = []
    for file, entry in carried.files:
        sides = conflicts.get(file.path)
        if sides is None or sides.base is None or sides.ours is None or b"\0" in sides.base[1] + sides.ours[1]:
            continue
        spans = [span for h in entry.file.hunks if h.outcome in _FAILED for span in _spans(h.header.encode())]
        hunks = checkout.difference(sides.base[1], sides.ours[1]).split(b"\n@@ ")
        hunks = [hunk if hunk.startswith(b"@@ ") else b"@@ " + hunk for hunk in hunks if hunk]
        near = [hunk for hunk in hunks if any(_meet(a, b) for a in spans for b in _spans(hunk))] or hunks
        if near:
            lines = b"\n".join(hunk.rstrip(b"\n") for hunk in near).decode(errors="replace").split("\n")
            more = [f"… {len(lines) - _MOST_LINES} more lines"] if len(lines) > _MOST_LINES else []
            parts += [f"--- {file.source_path}", f"+++ {file.path}", *lines[:_MOST_LINES], *more]
    return "".join(f"{line}\n" for line in parts)


def _spans(header: bytes) -> list[range]:
    """The old lines of a hunk."""
    return [range(int(m[1]), int(m[1]) + int(m[2] or 1)) for m in [_HUNK.match(header)] if m]


def _meet(one: range, other: range) -> bool:
    return one.start <= other.stop + _NEAR and other.start <= one.stop + _NEAR


def _problems(resolved: Resolved, change: TextChange, below: OverlayTree, name: str) -> Iterable[str]:
    """Why the index of the checkout is no resolution yet."""
    yield from (f"{path} is not marked as resolved: git add {path}" for path in resolved.unmerged)
    yield from (f"{path} has changes that are not in the index: git add {path}" for path in resolved.unstaged)
    if resolved.unmerged or resolved.unstaged:
        return
    if not resolved.files:
        yield f"nothing is left of {name}: patchtool rebase --skip leaves it out of the series"
    there = entries_of(below, resolved.files)
    made = {file.path: file.patched for file in change.files}
    for path, entry in resolved.files.items():
        known = [data for data in (made.get(path), there[path][1] if path in there else None) if data is not None]
        if entry is None:
            continue
        for line in conflict_markers(entry[1], *known):
            yield f"{path}:{line} is a conflict marker"
        if path.endswith(".py") and (error := _syntax_error(entry[1])) and not all(map(_syntax_error, known)):
            yield f"{path} does not parse: {error}"


def _syntax_error(data: bytes) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return str(error) or type(error).__name__
    return ""


def _remarks(resolved: Resolved, change: TextChange, below: OverlayTree) -> Iterable[str]:
    """What a person should know of a resolution: what it has beyond the patch, and what looks like a mistake."""
    own = {path for file in change.files for path in (file.path, file.source_path)}
    there = entries_of(below, resolved.files)
    made = {file.path: file.patched for file in change.files}
    for path, entry in resolved.files.items():
        if path not in own:
            is_new = path not in there
            yield f"the patch has a new file: {path}" if is_new else f"the patch changes a further file: {path}"
        before, after = made.get(path), entry[1] if entry else None
        if not path.endswith(".py") or path not in there or before is None or after is None:
            continue
        versions = (before, there[path][1], after)
        complaint = None if any(map(_syntax_error, versions)) else check_merged(*versions)
        yield from [f"look at {path} again: {complaint.detail}"] if complaint else []
    for path in resolved.untracked:
        yield f"not in the index, and left out: {path}"


def resolved_judgement(files: Mapping[str, Entry | None], below: OverlayTree) -> Judgement:
    """A resolution as the judgement of a patch that applies."""
    there = entries_of(below, files)
    changes = []
    for path, entry in sorted(files.items()):
        old_mode, old = there.get(path, (REGULAR, None))
        new = MISSING if entry is None else blob_id(entry[1])
        mode = entry[0] if entry and entry[0] != old_mode else ""
        changes.append(Change(path, MISSING if old is None else blob_id(old), new, mode=mode))
    contents = {path: entry and entry[1] for path, entry in sorted(files.items())}
    return Judgement(State.APPLIED, changes=tuple(changes), contents=contents)

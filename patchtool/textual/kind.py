"""Text patches as a kind of patch: stated in ``<name>.patch``, a diff as git writes it."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence

from patchtool.domain.draft import Draft
from patchtool.domain.draft import FileChange as DraftedChange
from patchtool.domain.errors import EnvironmentFault
from patchtool.domain.objects import MISSING, blob_id
from patchtool.domain.patch import Change, Diagnostic, GoalEvidence, Judgement, PatchInfo
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.domain.state import State
from patchtool.domain.text_patch import (
    REGULAR,
    RESOLVED_BEFORE,
    CarriedFile,
    CarryOutcome,
    FileChange,
    TextChange,
    TextSource,
)
from patchtool.domain.trees import entries_of
from patchtool.textual.carry_change import carry_change
from patchtool.textual.carry_entry import CarriedEntry
from patchtool.textual.decision import decide, deciding
from patchtool.textual.earlier import developed_further

_PARTLY = "partly-landed"
_NO_BASE = "a text patch is carried from the release that it was made for, which is not at hand here"


class TextKind:
    """The ``PatchKind`` of text patches."""

    def preload(self) -> None:
        """Nothing is imported late."""

    def judge(self, info: PatchInfo, tree: Tree, release: Release | None) -> Judgement:
        """Carry the patch to a tree; ``conflict`` where it does not apply to the one that it was made for.

        Raises:
            EnvironmentFault: The tree cannot be read.
        """
        if info.text is None:
            return Judgement(State.CONFLICT, "base-unknown", _NO_BASE)
        change = info.text.change()
        if change.problem:
            told = f"to the release it was made for: {change.problem}"
            resolved = _as_resolved(info.text, tree) if change.files else None
            return resolved or Judgement(State.CONFLICT, "does-not-apply", told)
        if info.is_newer_than(release):
            return Judgement(State.ABSENT, "before-since", f"the patch is for v{info.since} and later")
        try:
            judgement = _carried(change, tree, info.text)
            needs_person = judgement.state in (State.CONFLICT, State.OBSOLETE)
            if not needs_person and judgement.reason != _PARTLY:
                return judgement
            resolved = _as_resolved(info.text, tree) if needs_person else None
            return resolved or _landed_earlier(change, info.text, tree, release, judgement) or judgement
        except EnvironmentFault:  # the machine failed, not the merge
            raise
        except Exception as error:  # noqa: BLE001 -- upstream's code must not end a run that is about other patches, too
            text = f"{type(error).__name__}: {error}"
            return Judgement(State.CRASHED, "carry-failed", text, trace=traceback.format_exc())

    def check(self, info: PatchInfo) -> list[Diagnostic]:
        """Find nothing: the diff was parsed with the metadata, and whether it applies is a question to a release."""
        del info
        return []

    def blank(self, name: str) -> dict[str, str]:
        """Return an empty diff."""
        return {f"{name}.patch": ""}

    def draft(self, changes: Sequence[DraftedChange], tree: Tree) -> Draft:
        """Return nothing: a diff need not be drafted."""
        del changes, tree
        return Draft({}, ())


def _carried(change: TextChange, tree: Tree, source: TextSource | None = None) -> Judgement:
    carried = carry_change(change, tree, source)
    decided = _decided([(file.path, entry.file) for file, entry in carried.files])
    judgement = _with_changes(decided, carried.files, carried.there)
    detail = ", ".join(f"{old} is {new} by now" for old, new in carried.moved.items())
    if detail and judgement.state is State.APPLIED:
        judgement = judgement.with_state(State.DRIFTED, "target-moved", detail)
    elif detail and judgement.state is State.DRIFTED:
        judgement = judgement._replace(detail=f"{judgement.detail}; {detail}")
    # The key of a kept judgement has the files' bytes: what depends on modes or on other files is about this tree only.
    return judgement._replace(goals=_hunks(carried.files), searched_tree=not carried.by_path)


def _as_resolved(source: TextSource, tree: Tree) -> Judgement | None:
    """What a person made of the conflict on these files, or on others from which it can be carried here."""
    for resolution in source.resolutions(tree):
        found = _carried(resolution.change, tree)._replace(searched_tree=True)  # it may be about files of its own
        told = f"a conflict that a person resolved on {resolution.release}"
        if resolution.whole:
            return found._replace(
                state=State.APPLIED, reason=RESOLVED_BEFORE, detail=told, notes=(f"{told}, used again",)
            )
        if found.state.changes_tree:
            return found.with_state(State.DRIFTED, "resolution-carried", f"{told}; what it became was carried here")
    return None


def _landed_earlier(
    change: TextChange, source: TextSource, tree: Tree, release: Release | None, judgement: Judgement
) -> Judgement | None:
    """That a release in between has the change, and upstream developed it further; None where that is in doubt.

    Where the tree has a part of the change, and upstream had all of it, it took the rest back: a person has to decide.
    """
    paths = deciding(file.path for file in change.files)
    code = [file for file in change.files if file.path in paths]
    since, seen = str(release or "this tree"), entries_of(tree, paths)
    for name, earlier in reversed(source.between):
        files = entries_of(earlier, paths)
        if files != seen and _has_each(change, code, earlier):
            found = _carried(change, earlier)
            if found.state is State.LANDED:
                if not all(developed_further(file, earlier.read(file.path), tree.read(file.path)) for file in code):
                    told = f"{name} has all of it; upstream took a part of it back since, in {since}"
                    back = judgement._replace(searched_tree=True).with_state(State.CONFLICT, "taken-back", told)
                    return back if judgement.reason == _PARTLY else None
                told = f"landed in {name}; its code changed since, in {since}"
                return found._replace(reason="landed-earlier", detail=told, notes=(told,), searched_tree=True)
        since, seen = name, files
    return None


def _has_each(change: TextChange, files: Sequence[FileChange], tree: Tree) -> bool:
    """Whether a tree has the change of each of some files; after the first that it has not, none is looked at."""
    return all(_carried(change._replace(files=(file,)), tree).state is State.LANDED for file in files)


def _decided(carried: Sequence[tuple[str, CarriedFile]]) -> Judgement:
    """The state of a patch from what its files came to."""
    decision = decide(carried)
    state = {
        CarryOutcome.LANDED: State.LANDED,
        CarryOutcome.OBSOLETE: State.OBSOLETE,
        CarryOutcome.CONFLICT: State.CONFLICT,
    }.get(decision.outcome)
    if state is not None:
        return Judgement(state, decision.reason, decision.detail)
    if decision.outcome is CarryOutcome.PARTIAL:
        return Judgement(State.DRIFTED, _PARTLY, "the tree has a part of it; the rest is written")
    if decision.outcome is CarryOutcome.STRUCTURAL:
        return Judgement(
            State.DRIFTED, "carried-by-structure", "its lines changed, it was carried by the code's structure"
        )
    return Judgement(State.APPLIED)


def _with_changes(
    judgement: Judgement,
    carried: Sequence[tuple[FileChange, CarriedEntry]],
    there: Mapping[str, tuple[str, bytes]],
) -> Judgement:
    """Add what is written, where the state changes the tree."""
    if not judgement.state.changes_tree:
        return judgement
    contents: dict[str, bytes | None] = {}
    modes: dict[str, str] = {}
    for file, entry in carried:
        if not entry.changes:
            continue
        contents[file.path] = entry.file.data
        if file.old_path in there:
            contents[file.old_path] = None
        mode = there[file.path][0] if file.path in there else REGULAR
        if entry.file.data is not None and entry.mode != mode:
            modes[file.path] = entry.mode
    changes = tuple(
        Change(
            path,
            blob_id(there[path][1]) if path in there else MISSING,
            MISSING if data is None else blob_id(data),
            mode=modes.get(path, ""),
        )
        for path, data in sorted(contents.items())
    )
    return judgement._replace(changes=changes, contents=contents)


def _hunks(carried: Sequence[tuple[FileChange, CarriedEntry]]) -> tuple[GoalEvidence, ...]:
    """Each hunk as a goal; a file that was not looked at by hunks is one."""
    goals = []
    for file, entry in carried:
        landed = entry.file.outcome is CarryOutcome.LANDED
        if not entry.file.hunks:
            evidence = file.path if landed else entry.file.detail
            goals.append(GoalEvidence(file.path, landed, landed or entry.file.outcome.changes_file, evidence))
        for hunk in entry.file.hunks:
            where = f"{hunk.path or file.path}:{hunk.line}" if hunk.line else hunk.path or file.path
            held = hunk.outcome is CarryOutcome.LANDED
            evidence = where if held else hunk.evidence or hunk.reason
            name = f"{file.path} {hunk.header}".strip()
            goals.append(GoalEvidence(name, held, held or hunk.outcome.changes_file, evidence))
    return tuple(goals)

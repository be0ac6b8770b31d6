"""All conflicts of a series on a release: as they come out one after another, and where those before are skipped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters.git.merging import merge_in_favour
from patchtool.adapters.store.records import StoredRelease
from patchtool.domain.patch import Judgement, PatchInfo, PatchReport
from patchtool.domain.ports import Tree
from patchtool.domain.release import Release
from patchtool.domain.state import State
from patchtool.textual.carry_change import carry_change
from patchtool.workflow.conflicts import change_in_conflict, conflict_sides, is_stuck, resolved_judgement, staged_files
from patchtool.workflow.rendering import OverlayTree, Rendering, judge_now, render
from patchtool.workflow.session import Session

if TYPE_CHECKING:
    from patchtool.adapters.git.conflict_checkout import Entry, Sides
    from patchtool.domain import documents


class Forecast(NamedTuple):
    """What is to be expected of one patch.

    Args:
        patch: Its name.
        why: Its reason, a short code, and the sentence that explains it.
        if_resolved: Whether it conflicts where those before it are resolved in favour of the patch.
        if_skipped: Whether it conflicts where those before it are skipped.
    """

    patch: str
    why: tuple[str, str]
    if_resolved: bool
    if_skipped: bool

    def to_json(self) -> documents.ForecastConflict:
        """Return the element of ``conflicts``."""
        reason, detail = self.why
        return {
            "patch": self.patch,
            "reason": reason,
            "detail": detail,
            "if_resolved": self.if_resolved,
            "if_skipped": self.if_skipped,
        }

    def __str__(self) -> str:
        when = "" if self.if_skipped else ", not where those before are skipped"
        when = when if self.if_resolved else ", only where those before are skipped"
        return f"  {self.patch} ({self.why[0]}){when}: {self.why[1]}"


def forecast(session: Session, stored: StoredRelease, rendering: Rendering) -> list[Forecast]:
    """List the patches that conflict, in series order.

    A patch on a conflicting one conflicts or not, depending on what becomes of that. So it is judged twice: without it,
    and with what git makes of it where both sides changed the same lines, if the patch's lines are taken.

    Args:
        session: The run.
        stored: The release.
        rendering: The series on it.
    """
    skipped = {patch.info.name: patch for patch in rendering.patches if is_stuck(patch.judgement)}
    resolved = _stuck_if_resolved(session, stored, rendering) if skipped else {}
    found = []
    for patch in rendering.patches:
        name = patch.info.name
        judgement = resolved.get(name) or (skipped[name].judgement if name in skipped else None)
        if judgement is not None:
            why = (judgement.reason or judgement.state.value, judgement.detail)
            found.append(Forecast(name, why, name in resolved, name in skipped))
    return found


def _stuck_if_resolved(session: Session, stored: StoredRelease, rendering: Rendering) -> Mapping[str, Judgement]:
    """The judgements of the patches that conflict where each one before is resolved in favour of the patch."""
    stuck: dict[str, Judgement] = {}
    known = {patch.info.name: patch for patch in rendering.patches}
    near = _near(rendering)

    def judge(info: PatchInfo, below: Tree, release: Release | None) -> Judgement:
        judgement = judge_now(info, below, release)
        if not is_stuck(judgement):
            return judgement
        stuck[info.name] = judgement
        return _in_favour(known[info.name]._replace(info=info, judgement=judgement), below)

    # Nothing of it is kept: what is assumed here is not what the patches are.
    render(near, session.store.tree(stored.commit), stored.release, judge=judge, progress=session.progress)
    alone = {name: p.judgement for name, p in known.items() if is_stuck(p.judgement)}
    others = {info.name for info in near}
    return stuck | {name: judgement for name, judgement in alone.items() if name not in others}


def _near(rendering: Rendering) -> list[PatchInfo]:
    """The patches that have to do with one that conflicts, through the files that they touch or by requirement."""
    files: set[str] = set()
    names: set[str] = set()
    for patch in rendering.patches:
        required = not names.isdisjoint(patch.info.requires)
        if is_stuck(patch.judgement) or required or not files.isdisjoint(patch.info.footprint):
            files |= set(patch.info.targets)
            names.add(patch.info.name)
    infos = [patch.info for patch in rendering.patches]
    chosen = {info.name for info in infos if info.name in names or not files.isdisjoint(info.targets)}
    return [info._replace(requires=tuple(set(info.requires) & chosen)) for info in infos if info.name in chosen]


def _in_favour(patch: PatchReport, below: Tree) -> Judgement:
    """The judgement of a patch whose conflict is resolved in its favour; where that cannot be, as it is."""
    change = change_in_conflict(patch)
    if change is None:
        return patch.judgement
    carried = carry_change(change, below, patch.info.text)
    conflicts = conflict_sides(carried)
    files = staged_files(carried, conflicts) | {path: _theirs(sides) for path, sides in conflicts.items()}
    overlay = below if isinstance(below, OverlayTree) else OverlayTree(below)
    return resolved_judgement(files, overlay)._replace(state=State.APPLIED)


def _theirs(sides: Sides) -> Entry | None:
    base, ours, theirs = sides
    if ours is None or theirs is None or any(b"\0" in entry[1] for entry in filter(None, sides)):
        return theirs
    return theirs[0], merge_in_favour(base[1] if base else b"", ours[1], theirs[1])

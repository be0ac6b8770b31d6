"""Carry a change of a Python file by its structure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from patchtool.textual.edits import APPLIED, CONFLICT, COSMETIC, LANDED, Edit, Hunk
from patchtool.textual.guards import Complaint, check_words, words
from patchtool.textual.imports import ImportCarrier
from patchtool.textual.judge import Counts, judge
from patchtool.textual.merge import Merger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from patchtool.textual.items import Item
    from patchtool.textual.source import Source


@dataclass
class PythonMerge:
    """Three versions of a Python file, merged by structure.

    Attributes:
        hunks: What became of each hunk.
        merged: The target with the hunks that apply.
        complaint: What is wrong with it, if anything.
    """

    hunks: list[Hunk]
    merged: bytes
    complaint: Complaint | None

    def states(self) -> Counter[str]:
        """Count the hunks by state."""
        return Counter(hunk.state for hunk in self.hunks)


def merge_python(
    base: Source, patched: Source, target: Source, homes: Mapping[int, Item] | None = None
) -> tuple[PythonMerge, Merger]:
    """Merge a Python file three ways.

    Args:
        base: What the patch was made for.
        patched: With the patch.
        target: The file to carry it to.
        homes: Definitions of the base that are elsewhere in the target.

    Returns:
        The result, and the merger with what it could not find.
    """
    imports = ImportCarrier(base, patched, target)
    merger = Merger(base, patched, target, imports, homes)
    hunks = merger.parts.hunks()
    counts: dict[str, Counts] = {}
    for hunk in hunks:
        if hunk.scope in merger.versions and hunk.scope not in counts:
            counts[hunk.scope] = Counts(merger.versions[hunk.scope])
        judge(hunk, counts.get(hunk.scope))
    for edit in imports.edits:
        own = Hunk([edit])
        judge(own, None)
        hunks.append(own)
    merged = merger.parts.render(hunks)
    if target.ends_bare and merged.endswith(b"\n"):
        merged = merged[:-1]
    return PythonMerge(hunks, merged, _balance(hunks, target, merged)), merger


def _balance(hunks: list[Hunk], target: Source, merged: bytes) -> Complaint | None:
    added: Counter[str] = Counter()
    removed: Counter[str] = Counter()
    for edit in (edit for hunk in hunks if hunk.state in {APPLIED, COSMETIC} for edit in hunk.edits):
        if edit.merged is None or edit.state not in {APPLIED, COSMETIC}:
            continue
        if edit.is_import:
            added.update(words(edit.merged))
            removed.update(words(line for item in edit.theirs for line in item.lines if edit.rewrites))
        elif edit.reason != "layout":
            added.update(words(line for item in edit.new for line in item.whole))
            removed.update(words(line for item in edit.old for line in item.whole))
        else:
            added.update(words(edit.merged))
            removed.update(words(edit.kept))
    return check_words(added, removed, target.text.encode(), merged)


def telling(hunks: list[Hunk]) -> list[Hunk]:
    """The hunks that say something about the patch: neither comments, nor layout, nor imports."""
    found = [h for h in hunks if h.state != COSMETIC and not all(_weak(edit) for edit in h.edits)]
    return found or [h for h in hunks if h.state != COSMETIC]


def _weak(edit: Edit) -> bool:
    return edit.is_import


def summary(hunks: list[Hunk]) -> str:
    """The state of all hunks together: applied, landed, partial or conflict."""
    states = {hunk.state for hunk in telling(hunks)}
    if any(hunk.state == CONFLICT for hunk in hunks):
        return CONFLICT
    if states == {LANDED}:
        return LANDED
    return APPLIED if LANDED not in states else "partial"

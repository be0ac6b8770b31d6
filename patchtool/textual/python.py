"""Carry a change of a Python file by its structure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from patchtool.textual.chunks import NotStructural
from patchtool.textual.edits import APPLIED, CONFLICT, COSMETIC, LANDED, Hunk
from patchtool.textual.guards import Complaint, check_merged, check_words, words
from patchtool.textual.imports import ImportCarrier, SameOrigin, imported, unknown_origin
from patchtool.textual.judge import Counts, added_items, judge
from patchtool.textual.merge import Merger
from patchtool.textual.renames import Renamed, renamed_names, with_names
from patchtool.textual.source import Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchtool.domain.text_patch import Region


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

    def better_than(self, other: PythonMerge) -> bool:
        """Whether fewer hunks are a conflict, and nothing is wrong with it."""
        return self.complaint is None and self.states()[CONFLICT] <= other.states()[CONFLICT]

    def states(self) -> Counter[str]:
        """Count the hunks by state."""
        return Counter(hunk.state for hunk in self.hunks)


def merge_python(
    base: Source, patched: Source, target: Source, same_origin: SameOrigin = unknown_origin
) -> PythonMerge:
    """Merge a Python file three ways.

    Args:
        base: What the patch was made for.
        patched: With the patch.
        target: The file to carry it to.
        same_origin: Tells whether two imports bind the same object in the target's tree.

    Returns:
        The result; where names that upstream changed are in the way, with its names.
    """
    merge, merger = _merged(base, patched, target, same_origin)
    if summary(merge.hunks) in {LANDED, APPLIED} and merge.complaint is None:
        return merge
    similar = [each for each in merger.similar if any(_is_open(hunk, each.scope) for hunk in merge.hunks)]
    for variables_only in (True, False):
        renamed = renamed_names(similar, merger.versions, variables_only=variables_only)
        renamed = [each for each in renamed if any(_has_name(hunk, each) for hunk in merge.hunks)]
        if not renamed:
            continue
        try:
            old = with_names(base, [(r.names, r.base) for r in renamed])
            new = with_names(patched, [(r.names, r.patched) for r in renamed])
        except NotStructural:
            continue
        again, _ = _merged(old, new, target, same_origin)
        # The names of functions and attributes tell what landed; what is written has the patch's own.
        if summary(again.hunks) == LANDED or (variables_only and again.better_than(merge)):
            return again
    return merge


def _is_open(hunk: Hunk, scope: str) -> bool:
    """Whether a hunk in a definition has not landed."""
    return hunk.state not in {LANDED, COSMETIC} and f"{hunk.scope}.".startswith(f"{scope}." if scope else "")


def conflict_regions(base: bytes, patched: bytes, target: bytes) -> Sequence[bytes | Region]:
    """Tell where in a Python file a person has to merge a patch, and what.

    Args:
        base: What the patch was made for.
        patched: With the patch.
        target: The file to carry it to.

    Returns:
        The file in order: with what can be carried, and a region for each edit that cannot. Nothing where the structure
        of the code does not tell the place of every edit, or something else would be wrong with the file.
    """
    try:
        sources = Source(base), Source(patched), Source(target)
        merge, merger = _merged(*sources, unknown_origin)
    except (NotStructural, RecursionError):
        return ()
    doubtful = [hunk for hunk in merge.hunks if hunk.state == CONFLICT]
    placed = doubtful and not any(edit.is_import for hunk in doubtful for edit in hunk.edits)
    if not placed or merge.complaint or any(source.ends_bare for source in sources):
        return ()
    return () if check_merged(patched, target, merge.merged) else merger.parts.regions(merge.hunks)


def _has_name(hunk: Hunk, renamed: Renamed) -> bool:
    """Whether a hunk that has not landed has a name that upstream changed in its definition."""
    if not _is_open(hunk, renamed.scope):
        return False
    items = [item for edit in hunk.edits for item in (*edit.old, *edit.new)]
    return any(not renamed.names.keys().isdisjoint(item.names) for item in items)


def _merged(base: Source, patched: Source, target: Source, same_origin: SameOrigin) -> tuple[PythonMerge, Merger]:
    imports = ImportCarrier(base, patched, target, same_origin)
    merger = Merger(base, patched, target, imports)
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
    _refuse_missing_imports(hunks)
    merged = merger.parts.render(hunks)
    if target.ends_bare and merged.endswith(b"\n"):
        merged = merged[:-1]
    return PythonMerge(hunks, merged, _balance(hunks, target, merged)), merger


def _refuse_missing_imports(hunks: list[Hunk]) -> None:
    """Make an import a conflict that upstream has not where it is, while it has the patch's code.

    That is where the code needs it, and where the patch only takes code out: it may never have been there.
    """
    code = [h for h in hunks if h.state != COSMETIC and not h.edits[0].is_import]
    if not code or any(hunk.state != LANDED for hunk in code):
        return
    needed = {name for hunk in code for edit in hunk.edits for item in edit.new for name in item.names}
    adds = any(added_items(edit) for hunk in code for edit in hunk.edits)
    for hunk in (each for each in hunks if each.state == APPLIED and each.edits[0].is_import):
        edit = hunk.edits[0]
        known, names = ([n for item in side for n in imported(item)] for side in (edit.old, edit.new))
        if any(name.bound in needed if adds else name not in known for name in names):
            hunk.state, hunk.reason = CONFLICT, "half-landed"
            what = "the code that needs" if adds else "nothing of the code that the patch takes out beside"
            hunk.detail = f"upstream has {what} `{edit.new[0].brief}`, but not this import at the top level"


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
    found = [h for h in hunks if h.state != COSMETIC and not h.edits[0].is_import]
    return found or [h for h in hunks if h.state != COSMETIC]


def summary(hunks: list[Hunk]) -> str:
    """The state of all hunks together: applied, landed, partial or conflict."""
    states = {hunk.state for hunk in telling(hunks)}
    if any(hunk.state == CONFLICT for hunk in hunks):
        return CONFLICT
    if states == {LANDED}:
        return LANDED
    return APPLIED if LANDED not in states else "partial"

"""Carry the change that a text patch makes to one file onto another version of the file."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from patchtool.domain.text_patch import REGULAR, SYMLINK, CarriedFile, CarryOutcome, HunkFinding
from patchtool.textual import edits as states
from patchtool.textual.chunks import NotStructural
from patchtool.textual.formats import is_known, unreadable
from patchtool.textual.guards import Complaint, check_merged
from patchtool.textual.imports import SameOrigin, unknown_origin
from patchtool.textual.keys import key_twice
from patchtool.textual.lines import LineMerge, merge_file
from patchtool.textual.placement import misplaced
from patchtool.textual.python import PythonMerge, merge_python, summary
from patchtool.textual.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchtool.domain.text_patch import FileChange

_LINE_SAFE = frozenset({"doubled", "half-landed", "defined-differently", "name-taken", "nesting"})
"""What the structure tells and a merge of lines cannot see."""
_OUTCOMES = {
    states.LANDED: CarryOutcome.LANDED,
    states.CONFLICT: CarryOutcome.CONFLICT,
    states.APPLIED: CarryOutcome.MERGED,
    states.COSMETIC: CarryOutcome.MERGED,
}
_BINARY = 8_000


def carry_file(
    change: FileChange,
    target: bytes | None,
    *,
    path: str = "",
    mode: str = REGULAR,
    same_origin: SameOrigin = unknown_origin,
) -> CarriedFile:
    """Carry the change of one file.

    Args:
        change: What the patch does to the file where it was made.
        target: The file to carry it to; None if there is none.
        path: Where that file is, if it has another name there.
        mode: Git's mode of that file.
        same_origin: Tells whether two imports bind the same object in its tree.

    Returns:
        What became of it. A doubt is a conflict; nothing is dropped or written by guess.
    """
    path = path or change.path
    if SYMLINK in (change.base_mode, change.patched_mode, mode) and target is not None:
        return _whole(change, target, "a symbolic link")
    if change.base is None or change.patched is None or target is None:
        return _whole(change, target, "the file")
    if target == change.base:
        return CarriedFile(CarryOutcome.EXACT, change.patched)
    if target == change.patched:
        return CarriedFile(
            CarryOutcome.LANDED, target, (_found("", CarryOutcome.LANDED, path, 1, "the file is equal"),)
        )
    if change.base == change.patched:
        return CarriedFile(CarryOutcome.MERGED, target)
    if any(b"\0" in data[:_BINARY] for data in (change.base, change.patched, target)):
        return CarriedFile(CarryOutcome.CONFLICT, target, (), "binary", "upstream changed this binary file")
    with _no_collection():
        return _Carrier(path, change.base, change.patched, target, same_origin).carry()


@contextmanager
def _no_collection() -> Iterator[None]:
    """Stop the collector of reference cycles: syntax trees have none, and looking through them takes half the time.

    What is parsed is kept for the next patch, so the collector does not look at it afterwards, either.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.freeze()
            gc.enable()


def _whole(change: FileChange, target: bytes | None, what: str) -> CarriedFile:
    """Carry the addition or the deletion of a file, or a change of what cannot be merged."""
    outcome, detail = CarryOutcome.CONFLICT, ""
    reason = ""
    if target == change.base:
        outcome = CarryOutcome.EXACT
    elif target == change.patched:
        outcome, detail = CarryOutcome.LANDED, f"{what} is {'gone' if target is None else 'equal'}"
    elif target is None:
        outcome, reason, detail = CarryOutcome.OBSOLETE, "file-missing", f"{change.source_path} is gone"
    elif change.base is None and change.patched is not None and _same_code(change.path, change.patched, target):
        outcome, detail = CarryOutcome.LANDED, "the file says the same"
    elif change.base is None:
        reason, detail = "file-exists", f"upstream has a file {change.path} of its own"
    else:
        reason, detail = "changed-upstream", f"upstream changed {what} that the patch deletes"
    data = change.patched if outcome is CarryOutcome.EXACT else target
    hunks = (_found("", outcome, change.path, 1, detail),) if outcome is CarryOutcome.LANDED else ()
    return CarriedFile(outcome, data, hunks, reason, "" if outcome is CarryOutcome.LANDED else detail)


def _found(header: str, outcome: CarryOutcome, path: str, line: int, evidence: str, reason: str = "") -> HunkFinding:
    return HunkFinding(header, outcome, reason, path, line, evidence)


@lru_cache(maxsize=128)
def parsed(data: bytes) -> Source:
    """Parse a file; many patches change the same one.

    Args:
        data: Its bytes.

    Returns:
        Its items.

    Raises:
        NotStructural: If it is no Python that can be read as items.
    """
    source = Source(data)
    source.items  # noqa: B018  (reading them may fail, too)
    return source


def _same_code(path: str, one: bytes, other: bytes) -> bool:
    """Whether two Python files say the same."""
    if not path.endswith(".py"):
        return False
    try:
        return bool(parsed(one).shape == parsed(other).shape)
    except (NotStructural, RecursionError):
        return False


class _Carrier:
    """Carries a change of a text file that both sides changed."""

    def __init__(self, path: str, base: bytes, patched: bytes, target: bytes, same_origin: SameOrigin) -> None:
        self.path, self.same_origin = path, same_origin
        self.windows = all(data.count(b"\r\n") == data.count(b"\n") > 0 for data in (base, patched, target))
        sides = [data.replace(b"\r\n", b"\n") if self.windows else data for data in (base, patched, target)]
        self.base, self.patched, self.target = sides

    def result(self, outcome: CarryOutcome, data: bytes, hunks: tuple[HunkFinding, ...]) -> CarriedFile:
        """Make the value, with the reason of the first hunk that is a problem."""
        data = data.replace(b"\n", b"\r\n") if self.windows else data
        problem = next((h for h in hunks if h.outcome in (CarryOutcome.CONFLICT, CarryOutcome.OBSOLETE)), None)
        if problem is None or outcome.changes_file:
            return CarriedFile(outcome, data, hunks)
        return CarriedFile(outcome, data, hunks, problem.reason, problem.evidence)

    def refused(self, reason: str, detail: str, hunks: tuple[HunkFinding, ...]) -> CarriedFile:
        """A conflict about the whole file."""
        data = self.target.replace(b"\n", b"\r\n") if self.windows else self.target
        return CarriedFile(CarryOutcome.CONFLICT, data, hunks, reason, detail)

    def carry(self) -> CarriedFile:
        """Merge by lines, and for Python by structure, too; where the two differ, the doubt is a conflict."""
        if self._may_be_there() and self.lines.merged == self.target and self._misplaced(self.target) is None:
            return self.result(CarryOutcome.LANDED, self.target, self._line_findings(self.lines))
        if self.path.endswith(".py"):
            try:
                return self._python(*(parsed(data) for data in (self.base, self.patched, self.target)))
            except (NotStructural, RecursionError):  # what nests that deep is data, not code
                pass
        return self._text(self.lines)

    @cached_property
    def lines(self) -> LineMerge:
        """The three versions, merged by lines; that takes time where upstream gave all of the file another layout."""
        return merge_file(self.base, self.patched, self.target)

    def _may_be_there(self) -> bool:
        """Whether the target has every line that the patch adds: else no merge of lines finds it landed."""
        base, patched, target = (set(data.splitlines()) for data in (self.base, self.patched, self.target))
        return patched - base <= target

    def _text(self, lines: LineMerge) -> CarriedFile:
        findings = self._line_findings(lines)
        if lines.merged is None:
            return self.result(CarryOutcome.CONFLICT, self.target, findings)
        by_lines = not self.path.endswith(".py") and not is_known(self.path)
        twice = key_twice(self.base, self.patched, self.target) if by_lines else ""
        if twice and not any(hunk.state == states.LANDED for hunk in lines.hunks):
            return self.refused("entry-twice", f"the patch and upstream both add `{twice}`", findings)
        problem = unreadable(self.path, lines.merged)
        if problem and not any(unreadable(self.path, data) for data in (self.patched, self.target)):
            return self.refused("unreadable", f"the merged file cannot be read: {problem}", findings)
        landed = any(hunk.state == states.LANDED for hunk in lines.hunks)
        return self.result(CarryOutcome.PARTIAL if landed else CarryOutcome.MERGED, lines.merged, findings)

    def _line_findings(self, lines: LineMerge) -> tuple[HunkFinding, ...]:
        reasons = {states.CONFLICT: "both-changed"}
        told = {states.LANDED: "the lines are there", states.APPLIED: ""}
        return tuple(
            _found(h.header, _OUTCOMES[h.state], self.path, h.line, h.detail or told[h.state], reasons.get(h.state, ""))
            for h in lines.hunks
        )

    def _python(self, base: Source, patched: Source, target: Source) -> CarriedFile:
        merge = merge_python(base, patched, target, self.same_origin)
        findings = self._findings(merge)
        verdict = summary(merge.hunks)
        if verdict == states.LANDED:
            doubt = misplaced(base, patched, target, target)
            if doubt is not None:
                return self.refused(doubt.reason, doubt.detail, findings)
            return self.result(CarryOutcome.LANDED, self.target, findings)
        if verdict in {states.APPLIED, states.CONFLICT} and self._lines_are_sound(merge):
            return self._text(self.lines)
        if verdict == states.CONFLICT:
            return self._conflict(merge, findings, target)
        if merge.merged == self.target:
            if findings and all(finding.outcome is CarryOutcome.LANDED for finding in findings):
                return self.result(CarryOutcome.LANDED, self.target, findings)
            return self.refused("no-effect", "the change cannot be told from what is there", findings)
        complaint = merge.complaint or check_merged(self.patched, self.target, merge.merged)
        complaint = complaint or self._misplaced(merge.merged)
        if complaint is not None:
            return self.refused(complaint.reason, complaint.detail, findings)
        outcome = CarryOutcome.PARTIAL if verdict == "partial" else CarryOutcome.STRUCTURAL
        return self.result(outcome, merge.merged, findings)

    def _lines_are_sound(self, merge: PythonMerge) -> bool:
        """Whether the merge of lines has a result, and structure finds nothing wrong with it."""
        if any(h.state == states.CONFLICT and h.reason in _LINE_SAFE for h in merge.hunks):
            return False
        merged = self.lines.merged
        if merged is None or self._unsafe(merge, self.lines):
            return False
        return (check_merged(self.patched, self.target, merged) or self._misplaced(merged)) is None

    def _misplaced(self, result: bytes) -> Complaint | None:
        """What is wrong with the place of an edit in a result; nothing where the file cannot be read as code."""
        if not self.path.endswith(".py"):
            return None
        try:
            return misplaced(*(parsed(data) for data in (self.base, self.patched, self.target, result)))
        except (NotStructural, RecursionError):
            return None

    def _unsafe(self, merge: PythonMerge, lines: LineMerge) -> bool:
        """Whether the structure tells that the merge of lines is wrong, or puts the change in another place."""
        if any(h.state == states.LANDED and not h.edits[0].is_import for h in merge.hunks) and not any(
            h.state == states.LANDED for h in lines.hunks
        ):
            return True
        if lines.in_context or any(h.state == states.CONFLICT for h in merge.hunks) or lines.merged is None:
            return False
        return lines.merged != merge.merged and not _same_code(self.path, lines.merged, merge.merged)

    def _conflict(self, merge: PythonMerge, findings: tuple[HunkFinding, ...], target: Source) -> CarriedFile:
        """Tell a conflict from code that is gone."""
        gone = [hunk for hunk in merge.hunks if hunk.state == states.CONFLICT]
        if all(hunk.reason == "gone" for hunk in gone) and not merge.states()[states.APPLIED]:
            there = set(target.text.split("\n"))
            old = [line for h in gone for e in h.edits for i in e.old if not i.trivial for line in i.lines]
            if old and not any(line.rstrip("\n") in there for line in old) and not merge.states()[states.LANDED]:
                found = tuple(f._replace(outcome=CarryOutcome.OBSOLETE) for f in findings)
                return self.result(CarryOutcome.OBSOLETE, self.target, found)
        return self.result(CarryOutcome.CONFLICT, self.target, findings)

    def _findings(self, merge: PythonMerge) -> tuple[HunkFinding, ...]:
        found = []
        for hunk in merge.hunks:
            outcome = _OUTCOMES[hunk.state]
            if hunk.state == states.APPLIED and hunk.how:
                outcome = CarryOutcome.STRUCTURAL
            evidence = hunk.detail or (hunk.how if hunk.state == states.LANDED else "")
            if all(edit.state == states.COSMETIC and edit.how == states.SAME_TEXT for edit in hunk.edits):
                outcome, evidence = CarryOutcome.LANDED, states.SAME_TEXT
            found.append(_found(hunk.header(), outcome, self.path, hunk.target_line(), evidence, hunk.reason))
        return tuple(found)

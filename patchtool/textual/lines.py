"""Carry a change of a text file line by line."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from patchtool.textual.diff import Stretch, matches
from patchtool.textual.edits import APPLIED, CONFLICT, LANDED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

CONTEXT = 3
_MOST_PLACES = 50


class TextHunk(NamedTuple):
    """What became of one hunk: the ranges of its lines, a state, the line in the target, and the explanation."""

    old: range
    new: range
    state: str
    line: int
    in_context: bool
    detail: str = ""

    @property
    def header(self) -> str:
        """Its place, as a diff writes it."""
        return f"@@ -{_span(self.old)} +{_span(self.new)} @@"


def _span(lines: range) -> str:
    return f"{lines.start + (1 if lines else 0)},{len(lines)}"


@dataclass
class LineMerge:
    """Three versions of a file, merged by lines.

    Attributes:
        merged: The result; None where both changed one place in different ways.
        hunks: What became of each hunk.
    """

    merged: bytes | None
    hunks: list[TextHunk]

    @property
    def in_context(self) -> bool:
        """Whether the lines around every hunk are as they were."""
        return all(hunk.in_context for hunk in self.hunks)


def merge_file(base: bytes, patched: bytes, target: bytes) -> LineMerge:
    """Merge a text file three ways.

    Args:
        base: What the patch was made for.
        patched: With the patch.
        target: The file to carry it to.

    Returns:
        The result, and what became of each hunk.
    """
    sides = [data.splitlines(keepends=True) for data in (base, patched, target)]
    old, new, theirs = sides
    to_target = dict(matches(old, theirs))
    out: list[bytes] = []
    hunks: list[TextHunk] = []
    at = 0
    for s in _changed(old, new, to_target, len(theirs)):
        hunk = _hunk(s, sides, to_target)
        hunks.append(hunk)
        out += theirs[at : s.n0]
        out += new[s.p0 : s.p1] if hunk.state == APPLIED else theirs[s.n0 : s.n1]
        at = s.n1
    clean = all(hunk.state != CONFLICT for hunk in hunks)
    return LineMerge(b"".join([*out, *theirs[at:]]) if clean else None, hunks)


def _changed(old: list[bytes], new: list[bytes], to_target: Mapping[int, int], end: int) -> Iterator[Stretch]:
    """The stretches between lines that all have in which the patch changes something; most of a file is in none."""
    corners = [(-1, -1), *matches(old, new), (len(old), len(new))]
    to_patched = dict(corners)
    to_target = {**to_target, -1: -1, len(old): end}
    done = -1
    for (i, p), (j, q) in pairwise(corners):
        if (j - i == 1 == q - p) or j <= done:
            continue
        while i not in to_target or i not in to_patched:
            i -= 1
        while j not in to_target or j not in to_patched:
            j += 1
        done = j
        s = Stretch(i + 1, j, to_patched[i] + 1, to_patched[j], to_target[i] + 1, to_target[j])
        if old[s.o0 : s.o1] != new[s.p0 : s.p1]:
            yield s


def _hunk(s: Stretch, sides: Sequence[list[bytes]], to_target: Mapping[int, int]) -> TextHunk:
    old, new, theirs = sides
    before, ours, there = old[s.o0 : s.o1], new[s.p0 : s.p1], theirs[s.n0 : s.n1]
    around = [*range(max(s.o0 - CONTEXT, 0), s.o0), *range(s.o1, min(s.o1 + CONTEXT, len(old)))]
    in_context = all(to_target.get(i) == (s.n0 - (s.o0 - i) if i < s.o0 else s.n1 + i - s.o1) for i in around)
    ranges = range(s.o0, s.o1), range(s.p0, s.p1)
    if ours == there:
        if moved := _still_there(s, sides):
            detail = f"upstream has `{moved.decode(errors='replace').strip()}` elsewhere, which the patch takes out"
            return TextHunk(*ranges, CONFLICT, s.n0 + 1, in_context, detail)
        return TextHunk(*ranges, LANDED, s.n0 + 1, in_context)
    at = _elsewhere(s, sides)
    if at and before == there and _between_neighbours(s, to_target, len(old)):
        detail = f"upstream has these lines at line {at}, and their place in the patch is as it was"
        return TextHunk(*ranges, CONFLICT, s.n0 + 1, in_context, detail)
    if at:
        return TextHunk(*ranges, LANDED, at, in_context)
    if before == there and not in_context and _ambiguous(s, sides, to_target):
        return TextHunk(*ranges, CONFLICT, s.n0 + 1, in_context, "the lines around it are there more than once")
    if before == there:
        return TextHunk(*ranges, APPLIED, s.n0 + 1, in_context)
    return TextHunk(*ranges, CONFLICT, s.n0 + 1, in_context, "both changed these lines")


def _between_neighbours(s: Stretch, to_target: Mapping[int, int], end: int) -> bool:
    """Whether the lines just before and after a hunk are just before and after its place in the target."""
    before = not s.o0 or to_target.get(s.o0 - 1) == s.n0 - 1
    return before and (s.o1 == end or to_target.get(s.o1) == s.n1)


def _ambiguous(s: Stretch, sides: Sequence[list[bytes]], to_target: Mapping[int, int]) -> bool:
    """Whether a hunk's lines, with those around them that are as they were, are several times in a version."""
    old, _, theirs = sides
    first, last = s.o0, s.o1
    while first > max(s.o0 - CONTEXT, 0) and to_target.get(first - 1) == s.n0 - (s.o0 - first) - 1:
        first -= 1
    while last < min(s.o1 + CONTEXT, len(old)) and to_target.get(last) == s.n1 + last - s.o1:
        last += 1
    run = old[first:last]
    telling = next((i for i, line in enumerate(run) if _telling(line)), 0)
    return bool(run) and any(len(_places(side, run, telling)) > 1 for side in (old, theirs))


def _telling(line: bytes) -> bool:
    return sum(character in b"_" or chr(character).isalnum() for character in line) > 3


def _still_there(s: Stretch, sides: Sequence[list[bytes]]) -> bytes | None:
    """Find a line that the hunk only takes out and that the target has more often than the patched file."""
    old, new, theirs = sides
    gone = {line for line in old[s.o0 : s.o1] if _telling(line)} if s.p0 == s.p1 else set()
    if not gone:
        return None
    ours, there = (Counter(line for line in side if line in gone) for side in (new, theirs))
    return min((line for line in gone if there[line] > ours[line]), default=None)


def _elsewhere(s: Stretch, sides: Sequence[list[bytes]]) -> int:
    """Find the hunk's new lines, with the one before and the one after, in the target and nowhere in the base."""
    old, new, theirs = sides
    ours = new[max(s.p0 - 1, 0) : s.p1 + 1]
    added = set(new[s.p0 : s.p1]) - set(old[s.o0 : s.o1])
    if not any(_telling(line) for line in added):
        return 0
    first = next(i for i, line in enumerate(ours) if line in added and _telling(line))
    places = [_places(side, ours, first) for side in (theirs, old)]
    return places[0][0] + 1 if len(places[0]) == 1 and not places[1] else 0


def _places(lines: Sequence[bytes], run: Sequence[bytes], first: int) -> list[int]:
    starts = [i - first for i, line in enumerate(lines) if line == run[first]][:_MOST_PLACES]
    return [at for at in starts if at >= 0 and list(lines[at : at + len(run)]) == list(run)]

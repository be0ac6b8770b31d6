"""Align two sequences and merge three, at a cost that no content makes quadratic."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

_SMALL = 2_500
"""Pairs of elements up to which a stretch is aligned by comparing each with each."""
_COMMON = 64
"""An element that is more frequent than this anchors nothing."""
_ROUNDS = 40
"""How often each element may be looked at, on average, before what is left counts as different."""

_Box = tuple[int, int, int, int]


def matches(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Align two sequences: unique elements first (patience), then the rarest runs (histogram), small rests in full.

    Args:
        old: Before.
        new: After.

    Returns:
        Pairs of positions of equal elements, ascending in both.
    """
    head = _common_start(old, new)
    tail = _common_start(old[: head - 1 if head else None : -1], new[: head - 1 if head else None : -1])
    middle = [(head + i, head + j) for i, j in _matches(old[head : len(old) - tail], new[head : len(new) - tail])]
    ends = zip(range(len(old) - tail, len(old)), range(len(new) - tail, len(new)))
    return [*((i, i) for i in range(head)), *middle, *ends]


def _common_start(a: Sequence[Hashable], b: Sequence[Hashable]) -> int:
    """The number of elements that two sequences begin with; slices are compared faster than elements."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _matches(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    ids = {element: number for number, element in enumerate(dict.fromkeys(chain(old, new)))}
    a, b = [ids[element] for element in old], [ids[element] for element in new]
    found: list[tuple[int, int]] = []
    budget = _ROUNDS * (len(a) + len(b)) + _SMALL
    boxes: list[_Box] = [(0, len(a), 0, len(b))]
    while boxes:
        box, equal = _trimmed(a, b, boxes.pop())
        found += equal
        a0, a1, b0, b1 = box
        if a0 == a1 or b0 == b1:
            continue
        budget -= a1 - a0 + b1 - b0
        anchors = _unique(a, b, box)
        if anchors:
            found += anchors
            corners = [(a0 - 1, b0 - 1), *anchors, (a1, b1)]
            boxes += [(x0 + 1, x1, y0 + 1, y1) for (x0, y0), (x1, y1) in pairwise(corners)]
        elif (a1 - a0) * (b1 - b0) <= _SMALL:
            found += _longest(a, b, box)
        elif budget > 0 and (run := _rarest_run(a, b, box)):
            x, y, length = run
            found += [(x + i, y + i) for i in range(length)]
            boxes += [(a0, x, b0, y), (x + length, a1, y + length, b1)]
    return sorted(found)


def _trimmed(a: list[int], b: list[int], box: _Box) -> tuple[_Box, list[tuple[int, int]]]:
    """Take the equal start and the equal end off a stretch."""
    a0, a1, b0, b1 = box
    found = []
    while a0 < a1 and b0 < b1 and a[a0] == b[b0]:
        found.append((a0, b0))
        a0, b0 = a0 + 1, b0 + 1
    while a0 < a1 and b0 < b1 and a[a1 - 1] == b[b1 - 1]:
        a1, b1 = a1 - 1, b1 - 1
        found.append((a1, b1))
    return (a0, a1, b0, b1), found


def _unique(a: list[int], b: list[int], box: _Box) -> list[tuple[int, int]]:
    """Pair elements that are unique on both sides: the longest ascending sequence of such pairs."""
    a0, a1, b0, b1 = box
    where, spots = dict(zip(a[a0:a1], range(a0, a1))), dict(zip(b[b0:b1], range(b0, b1)))
    both = where.keys() & spots.keys()
    often = Counter(each for side in (a[a0:a1], b[b0:b1]) for each in side if each in both)
    pairs = sorted((where[element], spots[element]) for element in both if often[element] == 2)
    ends: list[int] = []
    lowest: list[int] = []
    before: list[int] = []
    for index, (_, j) in enumerate(pairs):
        at = bisect_left(lowest, j)
        if at == len(lowest):
            lowest.append(j)
            ends.append(index)
        else:
            lowest[at], ends[at] = j, index
        before.append(ends[at - 1] if at else -1)
    chain = []
    index = ends[-1] if ends else -1
    while index >= 0:
        chain.append(pairs[index])
        index = before[index]
    return chain[::-1]


def _longest(a: list[int], b: list[int], box: _Box) -> list[tuple[int, int]]:
    """Find the longest common subsequence of a small stretch."""
    a0, a1, b0, b1 = box
    best = [[0] * (b1 - b0 + 1) for _ in range(a1 - a0 + 1)]
    for i in range(a1 - 1, a0 - 1, -1):
        row, below = best[i - a0], best[i - a0 + 1]
        for j in range(b1 - 1, b0 - 1, -1):
            at = j - b0
            row[at] = below[at + 1] + 1 if a[i] == b[j] else max(below[at], row[at + 1])
    found = []
    i, j = a0, b0
    while i < a1 and j < b1:
        if a[i] == b[j]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif best[i - a0 + 1][j - b0] >= best[i - a0][j - b0 + 1]:
            i += 1
        else:
            j += 1
    return found


def _rarest_run(a: list[int], b: list[int], box: _Box) -> tuple[int, int, int] | None:
    """Find the longest common run around an element that is rarest on the old side, as git's histogram diff does."""
    a0, a1, b0, b1 = box
    where: dict[int, list[int]] = {}
    for i in range(a0, a1):
        where.setdefault(a[i], []).append(i)
    best: tuple[int, int, int] | None = None
    rarest = _COMMON + 1
    j = b0
    while j < b1:
        beyond = j + 1
        spots = where.get(b[j], ())
        for i in spots if len(spots) <= rarest else ():
            x, y, end = i, j, i + 1
            while x > a0 and y > b0 and a[x - 1] == b[y - 1]:
                x, y = x - 1, y - 1
            while end < a1 and y + end - x < b1 and a[end] == b[y + end - x]:
                end += 1
            rare = min(len(where[a[k]]) for k in range(x, end))
            beyond = max(beyond, y + end - x)
            if rare < rarest or (best and rare == rarest and end - x > best[2]):
                best, rarest = (x, y, end - x), rare
        j = beyond
    return best


class Stretch(NamedTuple):
    """A stretch between two elements that all three sides have: ranges of base, patched and target, half open.

    An empty stretch stands between neighbours and is not reported.
    """

    o0: int
    o1: int
    p0: int
    p1: int
    n0: int
    n1: int


def stretches(
    to_patched: Mapping[int, int], to_target: Mapping[int, int], lengths: tuple[int, int, int]
) -> Iterator[Stretch]:
    """Cut three aligned sequences at the elements of the base that both others have.

    Args:
        to_patched: Positions in the base and in the patched sequence, ascending in both.
        to_target: The same for the target.
        lengths: The lengths of base, patched and target.

    Yields:
        The stretch before each common element, empty ones included, and the one at the end.
    """
    base, patched, target = lengths
    o = p = n = 0
    for i in [*sorted(to_patched.keys() & to_target.keys()), base]:
        x, y = (to_patched[i], to_target[i]) if i < base else (patched, target)
        yield Stretch(o, i, p, x, n, y)
        o, p, n = i + 1, x + 1, y + 1

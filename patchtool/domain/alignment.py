"""Align two sequences, such as the lines of two versions of a file, at a cost that no content makes quadratic."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from difflib import Match, SequenceMatcher
from itertools import accumulate
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from collections.abc import Set as AbstractSet

    _T = TypeVar("_T", bound=Hashable)

_MOST_PAIRS = 4_000_000
"""Pairs of equal elements that are compared with each other; two versions of a long file of code have a tenth of it."""
_MOST_STEPS = 1_000_000
"""Pairs that are compared after the first search for the longest equal run: each run starts two more searches."""
_POPULAR = 100


class _TooManyStepsError(Exception):
    """Thousands of runs: the exact alignment is quadratic."""


def aligned(old: Sequence[_T], new: Sequence[_T]) -> SequenceMatcher[_T]:
    """Align two sequences.

    Args:
        old: Before.
        new: After.

    Returns:
        The matcher of the standard library. Where thousands of elements are equal to each other, elements that make
        up more than a hundredth do not count as anchors; where even that is too much, only the equal start is aligned.
        Where thousands of places differ, the anchors are the elements that both have once.
    """
    counts, others = Counter(old), Counter(new)
    pairs = {element: count * others[element] for element, count in counts.items()}
    if sum(pairs.values()) <= _MOST_PAIRS:
        matcher = _counting(SequenceMatcher(None, old, new, autojunk=False), old)
    else:
        rare = sum(count for element, count in pairs.items() if others[element] <= len(new) // _POPULAR + 1)
        matcher = _counting(SequenceMatcher(None if rare <= _MOST_PAIRS else lambda _: True, old, new), old)
    try:
        matcher.get_matching_blocks()
    except _TooManyStepsError:
        once = {element for element, count in pairs.items() if count == 1}
        runs = _runs_around(once, old, new)
        matcher.get_matching_blocks = lambda: runs  # type: ignore[method-assign]
    return matcher


def _counting(matcher: SequenceMatcher[_T], old: Sequence[_T]) -> SequenceMatcher[_T]:
    """Let a matcher's search for the longest run fail when it has taken too many steps in all."""
    places = matcher.b2j  # type: ignore[attr-defined]  # documented, but not in typeshed
    pairs = [0, *accumulate(1 + len(places.get(element, ())) for element in old)]
    search, left = matcher.find_longest_match, pairs[-1] + _MOST_STEPS

    def find_longest_match(first: int, last: int, start: int, stop: int) -> Match:
        nonlocal left
        left -= pairs[last] - pairs[first]
        if left < 0:
            raise _TooManyStepsError
        return search(first, last, start, stop)

    matcher.find_longest_match = find_longest_match  # type: ignore[method-assign, assignment]
    return matcher


def _runs_around(anchors: AbstractSet[_T], old: Sequence[_T], new: Sequence[_T]) -> list[Match]:
    """Return the equal runs around anchors that are in the same order in both; each anchor is in both once."""
    runs = [Match(0, 0, 0)]
    places = {element: index for index, element in enumerate(new) if element in anchors}
    for i, j in _in_order([(i, places[element]) for i, element in enumerate(old) if element in places]):
        before = runs[-1]
        end, other_end = before.a + before.size, before.b + before.size
        if i < end:
            continue
        a, b = i, j
        while a > end and b > other_end and old[a - 1] == new[b - 1]:
            a, b = a - 1, b - 1
        stop, other_stop = i + 1, j + 1
        while stop < len(old) and other_stop < len(new) and old[stop] == new[other_stop]:
            stop, other_stop = stop + 1, other_stop + 1
        if (a, b) == (end, other_end):
            a, b = runs.pop()[:2]
        runs.append(Match(a, b, stop - a))
    return [*(run for run in runs if run.size), Match(len(old), len(new), 0)]


def _in_order(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest part of pairs, sorted by the first of each, in which the second ones rise too."""
    tails: list[int] = []  # the lowest end of a rising part, by its length
    lengths = []
    for _, j in pairs:
        length = bisect_left(tails, j)
        tails[length : length + 1] = [j]
        lengths.append(length)
    chain: list[tuple[int, int]] = []
    wanted = len(tails) - 1
    for pair, length in zip(reversed(pairs), reversed(lengths)):
        if length == wanted and (not chain or pair[1] < chain[-1][1]):
            chain.append(pair)
            wanted -= 1
    return chain[::-1]

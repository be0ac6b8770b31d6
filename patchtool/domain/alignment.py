"""Align two sequences, such as the lines of two versions of a file, at a cost that no content makes quadratic."""

from __future__ import annotations

from collections import Counter
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    _T = TypeVar("_T", bound=Hashable)

_MOST_PAIRS = 4_000_000
"""Pairs of equal elements that are compared with each other; two versions of a long file of code have a tenth of it."""
_POPULAR = 100


def aligned(old: Sequence[_T], new: Sequence[_T]) -> SequenceMatcher[_T]:
    """Align two sequences.

    Args:
        old: Before.
        new: After.

    Returns:
        The matcher of the standard library. Where thousands of elements are equal to each other, elements that make
        up more than a hundredth do not count as anchors; where even that is too much, only the equal start is aligned.
    """
    counts, others = Counter(old), Counter(new)
    pairs = {element: count * others[element] for element, count in counts.items()}
    if sum(pairs.values()) <= _MOST_PAIRS:
        return SequenceMatcher(None, old, new, autojunk=False)
    rare = sum(count for element, count in pairs.items() if others[element] <= len(new) // _POPULAR + 1)
    return SequenceMatcher(None if rare <= _MOST_PAIRS else lambda _: True, old, new)

"""How many lines a change adds and removes, in time that grows with the file and not with its square."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

_MAX_EDITS = 2000


def line_counts(before: Sequence[bytes], after: Sequence[bytes]) -> tuple[int, int]:
    """Count the lines of the shortest edit script.

    Args:
        before: Old lines.
        after: New lines.

    Returns:
        Lines added and removed; in a change of more than 2000 lines, one that only moved counts as neither.

    Source: E. W. Myers, "An O(ND) Difference Algorithm and Its Variations", figure 2.
    """
    edits = _edits(before, after)
    if edits is None:
        old, new = Counter(before), Counter(after)
        return (new - old).total(), (old - new).total()
    return (edits + len(after) - len(before)) // 2, (edits + len(before) - len(after)) // 2


def _edits(before: Sequence[bytes], after: Sequence[bytes]) -> int | None:
    """The length of the shortest edit script, or None where it is too long."""
    furthest = {1: 0}
    for edits in range(_MAX_EDITS + 1):
        for diagonal in range(-edits, edits + 1, 2):
            down = diagonal == -edits or (diagonal != edits and furthest[diagonal - 1] < furthest[diagonal + 1])
            old = furthest[diagonal + 1] if down else furthest[diagonal - 1] + 1
            while old < len(before) and old - diagonal < len(after) and before[old] == after[old - diagonal]:
                old += 1
            furthest[diagonal] = old
            if old >= len(before) and old - diagonal >= len(after):
                return edits
    return None

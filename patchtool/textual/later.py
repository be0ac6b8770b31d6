"""What the later patches of a series make of a change: upstream may have that, and not the change as it was at first.

A stack of commits that upstream took is there in its last form only: what the first of them added, a later one changed
or took out again. To add it again would be wrong even where it applies.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from patchtool.domain.text_patch import REGULAR, CarriedFile, CarryOutcome, FileChange, LaterChange
from patchtool.textual.carry import carry_file
from patchtool.textual.lines import merge_file

if TYPE_CHECKING:
    from collections.abc import Iterable


def landed_with_later(
    change: FileChange, later: Iterable[LaterChange], target: bytes | None, *, path: str = "", mode: str = REGULAR
) -> CarriedFile | None:
    """Find out whether a change is there as later patches leave it.

    Args:
        change: What the patch does to a file where it was made.
        later: What the patches after it do to this file, in order.
        target: The file to carry it to; None if there is none.
        path: Where that file is, if it has another name there.
        mode: Git's mode of that file.

    Returns:
        The change together with those later ones that take out lines which it adds, where the target has all of that;
        else None.
    """
    current = change.patched
    for name, other in later:
        if current is None or other.base is None or other.patched is None:
            return None
        if not _changes_what(change.base or b"", current, other):
            continue
        merged = other.patched if other.base == current else merge_file(other.base, other.patched, current).merged
        if merged is None or merged == change.base:
            return None
        current = merged
        carried = carry_file(change._replace(patched=current), target, path=path, mode=mode)
        if carried.outcome is CarryOutcome.LANDED:
            return carried._replace(detail=f"upstream has {change.path} as {name} leaves it")
    return None


def _changes_what(base: bytes, patched: bytes, later: FileChange) -> bool:
    """Whether a later change takes out a line that a change adds."""
    counts = [Counter(data.splitlines()) for data in (patched, base, later.base or b"", later.patched or b"")]
    return any(line.strip() for line in (counts[0] - counts[1]) & (counts[2] - counts[3]))

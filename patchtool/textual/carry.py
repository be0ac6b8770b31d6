"""Carrying a change of one file to another version of the file."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from patchtool.domain.text_patch import CarriedFile, CarryOutcome, FileChange

_BINARY = 8000
"""Bytes in which git looks for a NUL."""


def carry_file(change: FileChange, target: bytes | None) -> CarriedFile:
    """Make the change in another version of its file.

    Args:
        change: What the patch does to the file that it was made for.
        target: The file's bytes in the other tree, or None where it has no such file.
    """
    base, patched = change.base, change.patched
    if target == base:
        return CarriedFile(CarryOutcome.EXACT, patched)
    if target == patched:
        return CarriedFile(CarryOutcome.LANDED, target)
    if base is None:
        return _conflict(target, "file-exists", f"{change.path} exists, with other content")
    if patched is None:
        return _conflict(target, "changed-upstream", f"{change.path} is deleted by the patch, and was changed since")
    if target is None:
        return _conflict(target, "file-missing", f"{change.source_path} does not exist")
    if any(b"\0" in data[:_BINARY] for data in (base, patched, target)):
        return _conflict(target, "binary", f"{change.path} is binary, and not the one that the patch was made for")
    merged = _merge(*(data.splitlines(keepends=True) for data in (base, patched, target)))
    if merged is None:
        return _conflict(target, "changed-on-both-sides", f"{change.path} changed where the patch changes it")
    return CarriedFile(CarryOutcome.LANDED if merged == target else CarryOutcome.MERGED, merged)


def _conflict(target: bytes | None, reason: str, detail: str) -> CarriedFile:
    return CarriedFile(CarryOutcome.CONFLICT, target, reason=reason, detail=detail)


def _merge(base: Sequence[bytes], ours: Sequence[bytes], theirs: Sequence[bytes]) -> bytes | None:
    """Merge two versions of a file by lines, as diff3 does; None where both changed the same or adjacent lines."""
    sides = [SequenceMatcher(None, base, side, autojunk=False).get_matching_blocks() for side in (ours, theirs)]
    common = [_by_base(blocks) for blocks in sides]
    merged: list[bytes] = []
    at = (0, 0, 0)
    for index in range(len(base) + 1):
        ends = (index, common[0].get(index), common[1].get(index))
        if index == len(base):
            ends = (index, len(ours), len(theirs))
        if ends[1] is None or ends[2] is None:
            continue
        parts = [list(side[start:end]) for side, start, end in zip((base, ours, theirs), at, ends)]
        if parts[0] == parts[2] or parts[1] == parts[2]:
            merged += parts[1]
        elif parts[0] == parts[1]:
            merged += parts[2]
        else:
            return None
        merged += base[index : index + 1]
        at = (index + 1, ends[1] + 1, ends[2] + 1)
    return b"".join(merged)


def _by_base(blocks: Sequence[tuple[int, int, int]]) -> dict[int, int]:
    return {a + offset: b + offset for a, b, size in blocks for offset in range(size)}

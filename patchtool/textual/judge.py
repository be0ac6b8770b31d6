"""Decide what became of each hunk: its edits are carried together or not at all."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from patchtool.textual.edits import APPLIED, CONFLICT, COSMETIC, LANDED, Edit, Hunk
from patchtool.textual.gap import deep_keys

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from patchtool.textual.items import Item, Versions

_TELLING = 4
"""Names that a hunk has to add for their presence elsewhere in the definition to tell anything."""


class Counts:
    """How often each thing is said in one list of items, in the three versions."""

    def __init__(self, v: Versions) -> None:
        self.base, self.patched, self.target = (_count(side) for side in v)
        self.items = v.target
        self.order = [(key, item) for item in v.target for key in deep_keys([item])]

    def added_by_both(self, key: Hashable) -> bool:
        """Whether both added it."""
        return self.target[key] > self.base[key] < self.patched[key]


def _count(items: Sequence[Item]) -> Counter[Hashable]:
    return Counter(deep_keys(items))


def judge(hunk: Hunk, counts: Counts | None) -> None:
    """Decide what becomes of a hunk, from what became of its edits.

    Args:
        hunk: It; its state is set.
        counts: What is in the definition that it is in.
    """
    edits = [edit for edit in hunk.edits if edit.state != COSMETIC]
    if not edits:
        hunk.state = COSMETIC
        hunk.reason = next((edit.reason for edit in hunk.edits if edit.reason), "")
        return
    if all(edit.state == LANDED for edit in edits):
        hunk.state, hunk.how = LANDED, edits[0].how
        return
    shown = _present(edits, counts) if counts is not None else None
    if shown is not None:
        hunk.state, hunk.how, hunk.line = LANDED, "elsewhere in the definition", shown.line
        return
    bad = next((edit for edit in edits if edit.state == CONFLICT), None)
    if bad is not None:
        hunk.state, hunk.reason, hunk.detail = CONFLICT, bad.reason, bad.detail
        return
    landed = [edit for edit in edits if edit.state == LANDED and not edit.trivial]
    if landed:
        there = [*landed[0].new, *landed[0].old][0].brief
        hunk.state, hunk.reason = CONFLICT, "half-landed"
        hunk.detail = f"upstream has the change of `{there}`, but not of what stands beside it"
        return
    if counts is not None and (twice := _doubled(edits, counts)) is not None:
        hunk.state, hunk.reason = CONFLICT, "doubled"
        hunk.detail = f"upstream added `{twice.brief}` elsewhere in {hunk.scope or 'the module'}"
        return
    hunk.state = APPLIED
    hunk.how = next((edit.how for edit in edits if edit.how), "")


def _added(edit: Edit) -> list[Item]:
    """The items of an edit that the patch adds or changes."""
    before = set(deep_keys(edit.old))
    return [i for i in edit.new if i.form not in {"comment", "doc"} and deep_keys([i])[0] not in before]


def _present(edits: Sequence[Edit], counts: Counts) -> Item | None:
    """Find everything that the hunk adds elsewhere in the definition, in order, with what it takes out gone."""
    added = [item for edit in edits for item in _added(edit)]
    telling = [item for item in added if not item.trivial]
    if not telling or sum(sum(item.names.values()) for item in telling) < _TELLING:
        return None
    if any(edit.how == "nested" for edit in edits):
        return None
    for item in telling:
        key = deep_keys([item])[0]
        if not counts.added_by_both(key) or counts.target[key] < counts.patched[key]:
            return None
    for item in (item for edit in edits for item in edit.old if not item.trivial):
        key = deep_keys([item])[0]
        if counts.patched[key] < counts.base[key] and counts.target[key] > counts.patched[key]:
            return None
    rest = iter(counts.order)
    found = [next((item for key, item in rest if key == deep_keys([wanted])[0]), None) for wanted in telling]
    return found[0] if all(found) else None


def _doubled(edits: Sequence[Edit], counts: Counts) -> Item | None:
    """Find a statement that the hunk adds and that upstream added elsewhere in the definition."""
    for edit in edits:
        for item in _added(edit) if edit.state == APPLIED else ():
            if not item.trivial and counts.added_by_both(deep_keys([item])[0]):
                return item
    return None

"""Decide what became of each hunk: its edits are carried together or not at all."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from patchtool.textual.edits import APPLIED, CONFLICT, COSMETIC, LANDED, Edit, Hunk
from patchtool.textual.gap import deep_keys
from patchtool.textual.items import Definition
from patchtool.textual.renames import same_but_variables

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from patchtool.textual.items import Item, Versions

_TELLING = 4
"""Names that a hunk has to add for their presence elsewhere in the definition to tell anything."""


class Counts:
    """How often each thing is said in one list of items, in the three versions."""

    def __init__(self, v: Versions) -> None:
        self.versions = v

    @cached_property
    def names(self) -> set[str]:
        """The names that are in the base."""
        return {name for item in self.versions.base for name in item.names}

    def of(self, item: Item) -> tuple[int, int, int]:
        """Count what an item says in base, patched and target; only items of its form can say it."""
        key = deep_keys([item])
        counts = [sum(deep_keys([i]) == key for i in side if _may_equal(i, item)) for side in self.versions]
        return counts[0], counts[1], counts[2]

    def added_by_both(self, item: Item) -> bool:
        """Whether both added what an item says."""
        base, patched, target = self.of(item)
        return target > base < patched

    def in_order(self, runs: Sequence[Sequence[Item]]) -> Item | None:
        """Find runs of items in the target, each without a gap and one after another; the first item of the first."""
        theirs = [i for i in self.versions.target if i.form not in {"comment", "doc"}]
        at = 0
        first: Item | None = None
        for run in runs:
            keys = deep_keys(run)
            spots = (
                k
                for k in range(at, len(theirs) - len(run) + 1)
                if _may_equal(theirs[k], run[0])
                and deep_keys(theirs[k : k + len(run)]) == keys
                # A definition in a block is one on a condition; statements may all be in one more block.
                and all(a.depth == b.depth for a, b in zip(run, theirs[k:]) if a.is_definition)
            )
            found = next(spots, None)
            if found is None:
                return None
            first, at = first or theirs[found], found + len(run)
        return first

    def between(self, ours: Sequence[Item], theirs: Sequence[Item]) -> bool:
        """Whether the nearest neighbours of a run of the patched list are on the same sides of a run of the target."""
        patched, target = self.versions.patched, self.versions.target
        first, last = patched.index(ours[0]), patched.index(ours[-1])
        start, end = target.index(theirs[0]), target.index(theirs[-1])
        before, behind = self._mate(reversed(patched[:first])), self._mate(patched[last + 1 :])
        return (before is None or before < start) and (behind is None or behind > end)

    def _mate(self, items: Iterable[Item]) -> int | None:
        """Where the target has the first of some items that base, patched and target have once."""
        for item in items:
            if item.form not in {"comment", "doc", "end"} and self.of(item) == (1, 1, 1):
                key = deep_keys([item])
                return next(at for at, there in enumerate(self.versions.target) if deep_keys([there]) == key)
        return None

    def new(self) -> list[Item]:
        """The target's items that the base has not, or not as often."""
        before = Counter(i.flat for i in self.versions.base)
        return [i for i in self.versions.target if i.form not in {"comment", "doc", "end"} and not before[i.flat]]


def _may_equal(one: Item, other: Item) -> bool:
    return one.form == other.form and one.name == other.name


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
    shown = (_present(edits, counts) or _with_other_variables(edits, counts)) if counts is not None else None
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


def added_items(edit: Edit) -> list[Item]:
    """The items of an edit that the patch adds or changes."""
    before = set(deep_keys(edit.old))
    return [i for i in edit.new if i.form not in {"comment", "doc"} and deep_keys([i])[0] not in before]


def _present(edits: Sequence[Edit], counts: Counts) -> Item | None:
    """Find everything that the hunk adds elsewhere in the definition, in order, with what it takes out gone."""
    runs = [run for edit in edits if (run := added_items(edit))]
    telling = [item for run in runs for item in run if not item.trivial]
    if not telling or sum(sum(item.names.values()) for item in telling) < _TELLING:
        return None
    if any(edit.how == "nested" for edit in edits):
        return None
    for item in telling:
        base, patched, target = counts.of(item)
        if not target > base < patched or target < patched:
            return None
    for item in (item for edit in edits for item in edit.old if not item.trivial):
        base, patched, target = counts.of(item)
        if patched < base and target > patched:
            return None
    return counts.in_order(runs)


def _with_other_variables(edits: Sequence[Edit], counts: Counts) -> Item | None:
    """Find everything that the hunk adds in one run that upstream added, with other names for new local variables."""
    added = [item for edit in edits for item in added_items(edit)]
    removed = [i for e in edits for i in e.old if i.form not in {"comment", "doc"}]
    if not added or all(item.trivial for item in added) or any(edit.how == "nested" for edit in edits):
        return None
    new = counts.new()
    if not new or any(patched < base and target > patched for base, patched, target in map(counts.of, removed)):
        return None
    ours = [node for item in added for node in item.nodes_only]
    for at in range(len(new) - len(added) + 1):
        run = new[at : at + len(added)]
        if [(i.form, i.depth) for i in run] == [(i.form, i.depth) for i in added]:
            theirs = [node for item in run for node in item.nodes_only]
            same = same_but_variables([_bare(n) for n in ours], [_bare(n) for n in theirs], counts.names)
            if same and counts.between(added, run):
                return run[0]
    return None


def _bare(node: ast.AST) -> ast.AST:
    """A header without its block; the block of a definition is its own."""
    if isinstance(node, Definition) or not isinstance(getattr(node, "body", None), list):
        return node
    fields = dict(ast.iter_fields(node))
    emptied: dict[str, object] = {f: [] for f in ("body", "orelse", "finalbody", "handlers", "cases") if f in fields}
    return type(node)(**{**fields, **emptied})


def _doubled(edits: Sequence[Edit], counts: Counts) -> Item | None:
    """Find a statement that the hunk adds and that upstream added elsewhere in the definition."""
    for edit in edits:
        for item in added_items(edit) if edit.state == APPLIED else ():
            if not item.trivial and counts.added_by_both(item):
                return item
    return None

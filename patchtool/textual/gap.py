"""A stretch between two items that all three versions have, where some of them differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from patchtool.textual.annotations import is_annotated, unannotated
from patchtool.textual.edits import Edit
from patchtool.textual.items import indented
from patchtool.textual.shape import header_shape, shape

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from patchtool.textual.diff import Stretch
    from patchtool.textual.items import Item, Versions


def deep_keys(items: Sequence[Item], names: dict[str, str] | None = None) -> list[Hashable]:
    """What items say, bodies of definitions included, comments and documentation left out."""
    out: list[Hashable] = []
    for item in items:
        if item.form in {"comment", "doc", "end"}:
            continue
        if not item.is_definition and not names:
            out.append(item.key)
            continue
        tell = shape if item.is_definition else header_shape
        out.append((item.form, *(n if isinstance(n, str) else tell(n, names) for n in item.nodes)))
    return out


def says_same(ours: Sequence[Item], theirs: Sequence[Item]) -> bool:
    """Tell whether upstream's items say what the patch's do; it may have annotated code that has no annotations."""
    keys = deep_keys(ours)
    if keys == deep_keys(theirs):
        return True
    if [i.form for i in ours if i.form == "def"] == [] and not any(i.form == "AnnAssign" for i in theirs):
        return False
    nodes = [node for item in ours for node in item.nodes_only]
    return not is_annotated(nodes) and keys == [key for item in theirs for key in _bare_keys(item)]


def _bare_keys(item: Item) -> list[Hashable]:
    if item.form in {"comment", "doc", "end"}:
        return []
    tell = shape if item.is_definition else header_shape
    form = "Assign" if item.form == "AnnAssign" else item.form
    return [(form, *(n if isinstance(n, str) else tell(unannotated(n)) for n in item.nodes))]


@dataclass(eq=False)
class Gap:
    """A stretch of one list in three versions.

    Args:
        scope: The qualified name of the definition.
        v: All items of the list.
        s: The stretch.
        to_patched: Positions of the base's items in the patched list.
        to_target: The same for the target's.
        column: Where the target's items of depth 0 begin.
        shift: How many columns the patch moves all of the list.
        unit: Columns of one level of indentation.
    """

    scope: str
    v: Versions
    s: Stretch
    to_patched: Mapping[int, int]
    to_target: Mapping[int, int]
    column: int
    shift: int
    unit: int

    def __post_init__(self) -> None:
        s = self.s
        self.old, self.ours = self.v.base[s.o0 : s.o1], self.v.patched[s.p0 : s.p1]
        self.theirs = self.v.target[s.n0 : s.n1]
        kept_ours = {self.to_patched[i] for i in range(s.o0, s.o1) if i in self.to_patched}
        kept_theirs = {self.to_target[i] for i in range(s.o0, s.o1) if i in self.to_target}
        self.added = [j for j in range(s.p0, s.p1) if j not in kept_ours]
        self.new_there = [k for k in range(s.n0, s.n1) if k not in kept_theirs]
        self.removed = [i for i in range(s.o0, s.o1) if i not in self.to_patched]
        self.gone = [i for i in range(s.o0, s.o1) if i not in self.to_target]

    @property
    def patch_changes_nothing(self) -> bool:
        """Whether the patch left the stretch as it was."""
        return (
            not self.added
            and not self.removed
            and all(
                self.v.base[i].whole == self.v.patched[self.to_patched[i]].whole or self.v.base[i].is_definition
                for i in range(self.s.o0, self.s.o1)
            )
        )

    def edit(self) -> Edit:
        """The stretch as one edit."""
        kept = [line for item in self.theirs for line in self.lines(item)]
        beside = self.v.target[max(self.s.n0 - 1, 0)].line if self.v.target else 0
        return Edit(self.scope, self.old, self.ours, self.theirs, kept, near=beside)

    def lines(self, item: Item) -> list[str]:
        """The lines of an item of the target, with the imports before it."""
        return [*item.before, *item.lead, *indented(item.whole, self.shift)]

    def insertion_depth(self, j: int) -> int | None:
        """By how many blocks deeper an added item goes than in the patched file; None where that is in doubt."""
        left, right = self._depth_change(self.s.o0 - 1), self._depth_change(self.s.o1)
        item = self.v.patched[j]
        known = {change for change in (left, right) if change is not None}
        if len(known) == 1:
            return known.pop()
        if not known:
            return 0
        back = {p: o for o, p in self.to_patched.items()}
        for p in range(j - 1, -1, -1):
            if self.v.patched[p].depth <= item.depth and self.v.patched[p].form != "comment" and p in back:
                return self._depth_change(back[p])
        return None

    def _depth_change(self, i: int) -> int | None:
        if not 0 <= i < len(self.v.base) or i not in self.to_target or self.v.base[i].form in {"comment", "end"}:
            return None
        return self.v.target[self.to_target[i]].depth - self.v.base[i].depth

    def write(self, items: Sequence[Item], deeper: int) -> list[str]:
        """The lines of patched items in the target's indentation."""
        out: list[str] = []
        for item in items:
            column = self.column + (item.depth + deeper) * self.unit
            if item.form == "comment" and item.indent != self._patched_column() + item.depth * self.unit:
                column = item.indent - self._patched_column() + self.column
            out += [*item.lead, *indented(item.whole, max(column, 0) - item.indent + self.shift)]
        return out

    def _patched_column(self) -> int:
        return next((i.indent - i.depth * self.unit for i in self.v.patched if i.form != "comment"), 0)


def gone(edit: Edit, what: str) -> Edit:
    """Say that what the patch changes is not there any more."""
    return edit.conflict("gone", f"`{what}` is gone")

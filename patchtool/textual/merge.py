"""Carry the patch's edits of one Python file to another version, definition by definition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchtool.textual.align import aligned
from patchtool.textual.diff import stretches
from patchtool.textual.edits import COSMETIC, Edit, Parts
from patchtool.textual.gap import Gap, deep_keys, gone
from patchtool.textual.items import Item, Versions, indented
from patchtool.textual.renames import Similar
from patchtool.textual.resolve import resolve
from patchtool.textual.triple import merge_statement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchtool.textual.imports import ImportCarrier
    from patchtool.textual.source import Source


class Merger:
    """Merges one file.

    Args:
        base: What the patch was made for.
        patched: With the patch.
        target: The file to carry it to.
        imports: What becomes of the imports.

    Attributes:
        parts: The merged file.
        versions: The items of each definition that was looked into, by qualified name.
        similar: Statements that upstream changed and the patch did not.
    """

    def __init__(self, base: Source, patched: Source, target: Source, imports: ImportCarrier) -> None:
        self.unit = target.unit
        self.parts = Parts()
        self.similar: list[Similar] = []
        self._moved: dict[int, tuple[str, Item, Item]] = {}
        self.versions: dict[str, Versions] = {}
        lists = (_without_imports(base.items), _without_imports(patched.items), _without_imports(target.items, imports))
        self._block("", Versions(*lists), 0, 0)

    def _block(self, scope: str, v: Versions, column: int, shift: int) -> None:
        """Merge one list.

        Args:
            scope: Its qualified name.
            v: The items.
            column: Where the target's items of depth 0 begin.
            shift: How many columns the patch moves all of it.
        """
        self.versions[scope] = v
        to_patched, to_target = aligned(v.base, v.patched), aligned(v.base, v.target)
        self._moves(scope, v, to_patched, to_target)
        lengths = (len(v.base), len(v.patched), len(v.target))
        nested = 0
        for s in stretches(to_patched, to_target, lengths):
            right = self._nesting(v.base[s.o1], v.patched[s.p1]) if s.o1 < len(v.base) else nested
            if s.o0 < s.o1 or s.p0 < s.p1 or s.n0 < s.n1:
                gap = Gap(scope, v, s, to_patched, to_target, column=column, shift=shift, unit=self.unit)
                self._stretch(gap, nested, right)
            if s.o1 < len(v.base):
                self._common(scope, v.base[s.o1], v.patched[s.p1], v.target[s.n1], shift)
                nested = right

    def _moves(self, scope: str, v: Versions, to_patched: dict[int, int], to_target: dict[int, int]) -> None:
        """Pair definitions that the target has in another order."""
        for i, k in to_target.items():
            base, target = v.base[i], v.target[k]
            if base.flat != target.flat and i in to_patched and v.patched[to_patched[i]].whole == base.whole:
                self.similar.append(Similar(scope, base, target))
        taken = set(to_target.values())
        spots = {i.slot: i for k, i in enumerate(v.target) if i.is_definition and k not in taken}
        for at, item in enumerate(v.base):
            if item.is_definition and at not in to_target and item.slot in spots and at in to_patched:
                home = spots.pop(item.slot)
                self._moved[id(home)] = (_qualified(scope, item), item, v.patched[to_patched[at]])

    def _nesting(self, base: Item, patched: Item) -> int:
        return patched.depth - base.depth

    def _stretch(self, gap: Gap, left: int, right: int) -> None:
        """Merge what stands between two items that all have."""
        if gap.patch_changes_nothing:
            code = any(i.form not in {"comment", "end"} for i in gap.theirs)
            if left != right and code:
                edit = gap.edit().conflict(
                    "nesting", f"upstream added `{gap.theirs[0].brief}` where the patch nests code"
                )
                self.parts.items.append(edit)
                return
            for item in gap.theirs:
                self._theirs(gap.scope, item, gap.shift, right)
            self._lost(gap)
            return
        edits = resolve(gap)
        apart = [item for item in gap.theirs[1:] if item.before]
        if apart and any(edit.merged is not None for edit in edits):
            edits = [gap.edit().conflict("import-between", f"upstream imports before `{apart[0].brief}`")]
        self.parts.items += edits
        if any(edit.reason == "gone" for edit in edits):
            self._lost(gap)

    def _lost(self, gap: Gap) -> None:
        """Note definitions that the patch changes and the target has not here."""
        at_home = {id(o): True for _, o, _ in self._moved.values()}
        for i in range(gap.s.o0, gap.s.o1):
            item, j = gap.v.base[i], gap.to_patched.get(i)
            if j is None or i in gap.to_target or not item.is_definition or id(item) in at_home:
                continue
            if gap.v.patched[j].whole != item.whole:
                name = _qualified(gap.scope, item)
                self.parts.items.append(gone(Edit(name, [item], [gap.v.patched[j]], [], []), name))

    def _theirs(self, scope: str, item: Item, shift: int, nested: int) -> None:
        """Keep an item that upstream added, or merge a definition that it moved here."""
        if id(item) in self._moved:
            name, base, patched = self._moved[id(item)]
            if base.whole != patched.whole:
                self._definition(name, base, patched, item, shift)
                return
        self.parts.keep(item.before)
        lines = [*item.lead, *indented(item.whole, shift)]
        if nested:
            moved = [*item.lead, *indented(item.whole, shift + nested * self.unit)]
            self.parts.items.append(Edit(scope, [], [], [item], lines).applied(moved, "nested"))
        else:
            self.parts.keep(lines)

    def _common(self, scope: str, base: Item, patched: Item, target: Item, shift: int) -> None:
        """Merge an item that all three have."""
        self.parts.keep(target.before)
        nested = self._nesting(base, patched)
        lead = patched.lead if base.lead != patched.lead and target.lead == base.lead else target.lead
        if base.whole == patched.whole:
            self.parts.keep([*lead, *indented(target.whole, shift)])
        elif base.is_definition and not nested:
            self._definition(_qualified(scope, base), base, patched, target, shift, lead)
        else:
            self._statement(Edit(scope, [base], [patched], [target], [*lead, *indented(target.whole, shift)]), shift)

    def _definition(
        self, name: str, base: Item, patched: Item, target: Item, shift: int, lead: list[str] | None = None
    ) -> None:
        lead = target.lead if lead is None else lead
        if base.lines == patched.lines:
            self.parts.keep([*lead, *indented(target.lines, shift)])
        else:
            kept = [*lead, *indented(target.lines, shift)]
            header = Edit(name, [_header(base)], [_header(patched)], [_header(target)], kept)
            self._statement(header, shift)
        column = next((i.indent for i in target.body if not i.depth and i.form != "comment"), target.indent + self.unit)
        if base.body and patched.body and target.body:
            self._block(name, Versions(base.body, patched.body, target.body), column, shift)
        elif [i.key for i in base.body] == [i.key for i in patched.body]:
            self.parts.keep(indented(target.whole[len(target.lines) :], shift))

    def _statement(self, edit: Edit, shift: int) -> None:
        """Merge one statement or header."""
        base, patched, target = edit.old[0], edit.new[0], edit.theirs[0]
        nested = self._nesting(base, patched)
        if nested and deep_keys([base]) == deep_keys([patched]):
            moved = target.depth - base.depth
            if moved == nested and deep_keys([base]) == deep_keys([target]):
                edit.landed()
            elif moved:
                edit.conflict("nesting", f"both nest `{base.brief}` in another block")
            else:
                lines = indented(target.whole, shift + nested * self.unit)
                edit.applied([*target.lead, *lines], "nested")
            self.parts.items.append(edit)
            return
        if nested:
            edit.conflict("nesting", f"the patch nests and changes `{base.brief}`")
            if deep_keys([base]) == deep_keys([target]) and base.depth == target.depth:
                by = target.indent + nested * self.unit - patched.indent
                edit.applied([*target.lead, *indented(patched.whole, by + shift)])
        else:
            merge_statement(edit, shift)
        if edit.state == COSMETIC and edit.merged is None and not edit.how:
            self.parts.keep(edit.kept)
        else:
            self.parts.items.append(edit)


def _qualified(scope: str, item: Item) -> str:
    return f"{scope}.{item.name}" if scope else item.name


def _header(item: Item) -> Item:
    """The header of a definition as an item of its own."""
    return Item(
        item.form, item.lead, item.lines, item.depth, item.line, [item.chunk.header] if item.chunk else item.nodes
    )


def _without_imports(items: Sequence[Item], imports: ImportCarrier | None = None) -> list[Item]:
    """The items but imports; those of the target are put before the item that follows them."""
    out: list[Item] = []
    waiting = list[str]()
    for item in items:
        if item.is_import:
            waiting += imports.lines(item) if imports else []
            continue
        if imports:
            if item.form != "doc":
                waiting += imports.take_first(item)
            item.before, waiting = waiting, []
        out.append(item)
    return out

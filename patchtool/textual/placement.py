"""Whether code that a patch adds has the neighbours on another version of the file that it has in the patched one.

The merges of lines and of structure each look for the place of an edit. This looks at the result alone: statements that
all versions have must be in the block of what is added, and on the same side of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from patchtool.textual.align import aligned, assigned, dice
from patchtool.textual.effects import commute, writes
from patchtool.textual.guards import Complaint
from patchtool.textual.items import Item
from patchtool.textual.local_names import HEADERS, local_names, read_names
from patchtool.textual.members import missing_member
from patchtool.textual.shape import Shape
from patchtool.textual.source import Source

_COMMON = frozenset({"else", "finally", "Try", "Pass", "Continue", "Break", "Import", "ImportFrom"})
_EXITS = frozenset({"Return", "Raise", "Continue", "Break"})
_NEAREST = 4
_LIKE = 0.5
"""The part of their names that two versions of a neighbour share at least."""


def misplaced(base: Source, patched: Source, target: Source, result: Source) -> Complaint | None:
    """Check where a result has what a patch adds, and that it has not what the patch takes out.

    Args:
        base: What the patch was made for.
        patched: With the patch.
        target: The file that the patch is carried to.
        result: What came of it; the target, where the patch is said to have landed.

    Returns:
        The first doubt, or None. Code that is not there exactly once, or that upstream changed, raises none.
    """
    landed = result is target
    other = _changed_besides(base.items, patched.items, target.items, result.items)
    if other is not None:
        return Complaint("other-definition", f"`{other.name}` would change, which the patch leaves alone")
    for lists in _scopes("", None, base.items, patched.items, target.items, result.items):
        doubt = lists.added() or lists.headers() or lists.names()
        doubt = doubt or lists.redefined() or (lists.fields() if landed else None)
        doubt = doubt or (lists.overwritten() or lists.left() if landed else lists.surroundings())
        if doubt is not None:
            return doubt
    return None if landed else missing_member(base, patched, target, result)


def _scopes(name: str, definitions: Sequence[Item] | None, *sides: Sequence[Item]) -> Iterator[_Scope]:
    """Yield the lists of the module, and of every definition that the patch changes and all versions have once."""
    yield _Scope(name, definitions, [_List(items) for items in sides])
    by_slot = [_definitions(side) for side in sides]
    for slot, base in by_slot[0].items():
        found = [side.get(slot) for side in by_slot]
        same = [item for item in found if item is not None]
        if len(same) == len(found) and base.whole != same[1].whole:
            yield from _scopes(f"{name}.{base.name}".lstrip("."), same, *(item.body for item in same))


def _changed_besides(*sides: Sequence[Item]) -> Item | None:
    """Find a definition that the patch leaves as it was, and the result has in another form than the target."""
    base, patched, target, result = (_definitions(side) for side in sides)
    for slot, item in base.items():
        ours, theirs, made = patched.get(slot), target.get(slot), result.get(slot)
        if ours is None or theirs is None or made is None or theirs.whole == made.whole:
            continue
        inner = _changed_besides(item.body, ours.body, theirs.body, made.body)
        if inner is not None:
            return inner
        if item.whole == ours.whole and _own_lines(theirs, item) != _own_lines(made, item):
            return made
    return None


def _own_lines(item: Item, base: Item) -> list[list[str]]:
    """The lines of a definition, without those of definitions that upstream moved into it."""
    known = {inner.slot for inner in base.body if inner.is_definition}
    inner = [each.whole for each in item.body if not each.is_definition or each.slot in known]
    return [item.lines, *inner] if item.body else [item.whole]


def _definitions(items: Sequence[Item]) -> dict[tuple[str, ...], Item]:
    often = Counter(item.slot for item in items if item.is_definition)
    return {item.slot: item for item in items if item.is_definition and often[item.slot] == 1}


class _List:
    """The items of one definition in one version."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = [item for item in items if item.form not in {"comment", "doc", "end"}]

    @cached_property
    def blocks(self) -> list[int]:
        """For each item the position of the header of its block; -1 for the definition's own."""
        headers: list[int] = []
        blocks = []
        for at, item in enumerate(self.items):
            del headers[item.depth :]
            blocks.append(headers[-1] if headers else -1)
            headers.append(at)
        return blocks

    @cached_property
    def spots(self) -> dict[Shape, list[int]]:
        """The positions of the statements that say one thing; definitions and imports may be anywhere."""
        spots: dict[Shape, list[int]] = {}
        for at, item in enumerate(self.items):
            if not item.is_definition and not item.form.startswith("Import"):
                spots.setdefault(item.key, []).append(at)
        return spots

    def only(self, item: Item) -> int | None:
        """The position of what an item says, if that is said once."""
        found = self.spots.get(item.key, ())
        return found[0] if len(found) == 1 else None

    def often(self, item: Item) -> int:
        """How often what an item says is said."""
        return len(self.spots.get(item.key, ()))

    @cached_property
    def _members(self) -> dict[int, list[int]]:
        members: dict[int, list[int]] = {}
        for at, header in enumerate(self.blocks):
            members.setdefault(header, []).append(at)
        return members

    def block(self, header: int) -> list[int]:
        """The positions of the items of a block."""
        return self._members.get(header, [])


class _Pair(NamedTuple):
    """A statement of the patched file, and where the result has it."""

    item: Item
    patched: int
    result: int


class _Scope:
    """One definition in all versions.

    Args:
        name: Its qualified name; empty for the module.
        definitions: It in base, patched, target and result; None for the module.
        lists: Its items in base, patched, target and result.
    """

    def __init__(self, name: str, definitions: Sequence[Item] | None, lists: Sequence[_List]) -> None:
        self._name, self._definitions = name, definitions
        self._base, self._patched, self._target, self._result = lists

    @cached_property
    def _aligned(self) -> dict[int, int]:
        return aligned(self._base.items, self._patched.items)

    def _found(self, positions: Iterator[int]) -> Iterator[_Pair]:
        """Of some positions of the patched file those whose statements it and the result have once."""
        for at in positions:
            item = self._patched.items[at]
            there = self._result.only(item)
            if there is not None and self._patched.only(item) == at:
                yield _Pair(item, at, there)

    @cached_property
    def _new(self) -> list[_Pair]:
        """What the patch adds."""
        kept = set(self._aligned.values())
        positions = (at for at, item in enumerate(self._patched.items) if at not in kept and not self._base.often(item))
        return list(self._found(positions))

    @cached_property
    def _changed(self) -> list[_Pair]:
        """What the patch changes."""
        pairs = self._aligned.items()
        return list(self._found(p for b, p in pairs if self._base.items[b].key != self._patched.items[p].key))

    def _beside(self, pair: _Pair) -> list[_Pair]:
        """The nearest statements of the same block on both sides that all versions have once."""
        mates = self._patched.block(self._patched.blocks[pair.patched])
        at = mates.index(pair.patched)
        sides = (self._found(iter(side)) for side in (mates[at - 1 :: -1] if at else [], mates[at + 1 :]))
        common = ((each for each in side if self._base.only(each.item) is not None) for side in sides)
        return [each for each in (next(side, None) for side in common) if each is not None]

    def added(self) -> Complaint | None:
        """Look at the neighbours of what the patch adds."""
        for new in [*self._new, *self._changed]:
            for mate in self._beside(new):
                if self._result.blocks[mate.result] != self._result.blocks[new.result]:
                    return Complaint("nesting", f"`{new.item.brief}` and `{mate.item.brief}` are in different blocks")
                moved = (mate.patched < new.patched) != (mate.result < new.result)
                if moved and not commute([new.item], [mate.item]):
                    detail = f"`{new.item.brief}` and `{mate.item.brief}` are in another order than in the patch"
                    return Complaint("order", detail)
            if self._leaves_before(self._result, new.result) and not self._leaves_before(self._patched, new.patched):
                return Complaint("unreachable", f"`{new.item.brief}` is behind the end of its block")
        return None

    def surroundings(self) -> Complaint | None:
        """Look for anything around what the patch adds."""
        for new in self._new:
            if self._alone(new):
                return Complaint("gone", f"nothing that is beside `{new.item.brief}` in the patch is there")
        return None

    def _alone(self, new: _Pair) -> bool:
        """Whether what is beside an addition in the patch is not beside it in the result, nor anything like it."""
        block = self._patched.block(self._patched.blocks[new.patched])
        mates = [at for at in block if self._base.often(self._patched.items[at])]
        there = [self._result.items[at] for at in self._result.block(self._result.blocks[new.result])]
        if not {self._patched.items[at].key for at in mates}.isdisjoint(item.key for item in there):
            return False
        nearest = sorted(mates, key=lambda at: abs(at - new.patched))[:_NEAREST]
        return bool(mates) and not any(
            dice(self._patched.items[at].names, item.names) >= _LIKE for at in nearest for item in there
        )

    @staticmethod
    def _leaves_before(side: _List, at: int) -> bool:
        return any(side.items[mate].form in _EXITS for mate in side.block(side.blocks[at]) if mate < at)

    def headers(self) -> Complaint | None:
        """Look at what is in the blocks whose headers the patch adds or changes."""
        for header in [*self._new, *self._changed]:
            if header.item.form not in HEADERS:
                continue
            for inner in self._found(iter(self._patched.block(header.patched))):
                if self._base.only(inner.item) is not None and self._result.blocks[inner.result] != header.result:
                    return Complaint("nesting", f"`{inner.item.brief}` is not in the block of `{header.item.brief}`")
        return None

    def overwritten(self) -> Complaint | None:
        """Look for statements of upstream's own that overwrite what the patch assigns before anything else follows."""
        for new in self._new:
            own = writes(new.item)
            mates = [at for at in self._result.block(self._result.blocks[new.result]) if at > new.result]
            for at in mates if own else ():
                item = self._result.items[at]
                if self._result.often(item) <= self._patched.often(item):
                    break  # a neighbour of the patch's own
                if writes(item) & own:
                    return Complaint("overwritten", f"`{item.brief}` overwrites `{new.item.brief}`")
        return None

    def left(self) -> Complaint | None:
        """Look for what the patch takes out or changes."""
        for at, item in enumerate(self._base.items):
            to = self._aligned.get(at)
            if (
                item.form in _COMMON
                or item.is_definition
                or (to is not None and self._patched.items[to].key == item.key)
            ):
                continue
            kept = self._patched.often(item)
            if kept < self._base.often(item) and kept < self._result.often(item):
                return Complaint("still-there", f"`{item.brief}`, which the patch takes out, is still there")
        return None

    def redefined(self) -> Complaint | None:
        """Look for definitions of the patch's that the result has again: only the last of them is in force."""
        often = [
            Counter(item.slot for item in side.items if item.is_definition) for side in (self._patched, self._result)
        ]
        texts = {item.text for item in self._base.items if item.is_definition}
        for item in self._patched.items:
            if item.is_definition and item.text not in texts and often[1][item.slot] > often[0][item.slot]:
                return Complaint("defined-again", f"upstream defines `{item.name}` more than once")
        return None

    def fields(self) -> Complaint | None:
        """Look for plain assignments of a class that upstream annotated: that may make a field of a dataclass."""
        own = self._definitions[1] if self._definitions else None
        if (
            own is None
            or own.form != "class"
            or (len(own.lines) == 1 and "(" not in own.lines[0].replace("(object)", ""))
        ):
            return None
        known = {item.key for item in self._base.items}
        plain = {assigned(item) for item in self._result.items if item.form == "Assign"}
        for item in self._patched.items:
            if item.form == "Assign" and item.key not in known and assigned(item) not in plain:
                return Complaint("annotated", f"upstream has `{item.brief}` in another form")
        return None

    def names(self) -> Complaint | None:
        """Look for names of what the patch adds that mean something else in the result."""
        if self._definitions is None or not all(item.form == "def" for item in self._definitions):
            return None
        base, patched, target, result = (local_names(item.nodes_only[0]) for item in self._definitions)
        for name in sorted((patched.local - base.local) & (target.local - base.local)):
            if result.stores[name] > target.stores[name]:
                return Complaint("name-taken", f"upstream has a `{name}` of its own in {self._name}")
        for pair in [*self._new, *self._changed]:
            for name in sorted(read_names(pair.item)):
                if (name in patched.local) != (name in result.local):
                    return Complaint("name-taken", f"`{name}` in `{pair.item.brief}` is another name in {self._name}")
        return None

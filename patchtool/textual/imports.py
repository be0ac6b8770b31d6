"""Carry changes of a module's imports, as sets of names."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from patchtool.textual.edits import Edit
from patchtool.textual.statement import merge_text
from patchtool.textual.tokens import NoMerge

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from patchtool.textual.items import Item
    from patchtool.textual.source import Source

_WIDTH = 88


class Imported(NamedTuple):
    """One name that a module imports."""

    module: str
    level: int
    name: str
    alias: str | None

    @property
    def bound(self) -> str:
        """The name that it binds; a plain import of a submodule binds itself, too."""
        if self.alias or self.module or self.level:
            return self.alias or self.name
        return self.name


SameOrigin = Callable[[Imported, Imported], bool]


def unknown_origin(one: Imported, other: Imported) -> bool:
    """Tell of no two imports that they bind the same object: nothing is known but the file."""
    del one, other
    return False


def imported(item: Item) -> list[Imported]:
    """Tell what an import statement imports."""
    return _names_of(item.nodes[0])


def _names_of(node: object) -> list[Imported]:
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return []
    module, level = (node.module or "", node.level) if isinstance(node, ast.ImportFrom) else ("", 0)
    return [Imported(module, level, alias.name, alias.asname) for alias in node.names]


def _imports(items: Iterable[Item]) -> list[Item]:
    return [item for item in items if item.is_import]


def _defined(source: Source) -> Iterator[str]:
    """The names that a module defines or assigns itself."""
    for item in source.items:
        if item.is_definition:
            yield item.name
        elif item.form == "Assign":
            targets = [target for node in item.nodes if isinstance(node, ast.Assign) for target in node.targets]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def _origin(item: Item) -> tuple[str, int] | None:
    node = item.nodes[0]
    return (node.module or "", node.level) if isinstance(node, ast.ImportFrom) else None


class ImportCarrier:
    """Carries what the patch changes in the imports at the top level of a module.

    Args:
        base: What the patch was made for.
        patched: With the patch.
        target: The file to carry it to.
        same_origin: Tells whether two imports bind the same object in the target's tree.

    Attributes:
        edits: What became of each changed statement.
    """

    def __init__(self, base: Source, patched: Source, target: Source, same_origin: SameOrigin) -> None:
        self._same_origin = same_origin
        self.edits: list[Edit] = []
        self._target = target
        self._new: dict[int, list[str]] = {}
        self._after: dict[int, list[str]] = {}
        self._first: list[str] = []
        self._there = {name: item for item in _imports(target.items) for name in imported(item)}
        self._bound = {name.bound: name for name in self._there}
        known = set(_defined(base))
        self._taken = {name for name in _defined(target) if name not in known}
        self._homes = {_origin(item): item for item in reversed(_imports(target.items)) if _origin(item)}
        old, new = _imports(base.items), _imports(patched.items)
        for before, after in _changed(old, new):
            self._carry(before, after, new)

    def lines(self, item: Item) -> list[str]:
        """The lines of an import of the target with what goes after it; all of it if nothing changes."""
        return [*item.lead, *self._new.get(id(item), item.lines), *self._after.get(id(item), [])]

    def take_first(self, item: Item) -> list[str]:
        """The lines that go before the first item that is code or, once taken, none."""
        if item.form == "comment":
            return []
        lines, self._first = self._first, []
        return lines

    def _carry(self, before: Item | None, after: Item | None, order: Sequence[Item]) -> None:
        old, new = imported(before) if before else [], imported(after) if after else []
        edit = Edit("", [before] if before else [], [after] if after else [], [], [])
        self.edits.append(edit)
        add = [name for name in new if name not in old and name not in self._there]
        drop = [name for name in old if name not in new and name in self._there]
        for name in list(add):
            taken = self._bound.get(name.bound)
            if taken is not None and taken not in drop:
                if self._same_origin(name, taken):
                    add.remove(name)
                    continue
                edit.conflict("name-taken", f"`{name.bound}` is imported from {taken.module or taken.name} upstream")
                return
            if name.bound in self._taken:
                edit.conflict("name-taken", f"`{name.bound}` is defined upstream")
                return
        home = self._home(before, after)
        edit.theirs = [home] if home is not None else []
        if not add and not drop:
            first = new[0] if new and new[0] in self._there else self._bound.get(new[0].bound) if new else None
            edit.theirs = [self._there[first]] if first is not None else edit.theirs
            edit.landed("imported" if new else "gone")
        elif home is None or id(home) in self._new:
            self._insert(edit, add, order)
        else:
            self._rewrite(edit, home, add, drop)

    def _home(self, before: Item | None, after: Item | None) -> Item | None:
        if before is not None:
            same = next((i for i in _imports(self._target.items) if i.key == before.key), None)
            if same is not None:
                return same
        for item in (before, after):
            if item is not None and _origin(item) in self._homes:
                return self._homes[_origin(item)]
        return next((self._there[n] for n in imported(before) if n in self._there), None) if before else None

    def _rewrite(self, edit: Edit, home: Item, add: list[Imported], drop: list[Imported]) -> None:
        before, after = next(iter(edit.old), None), next(iter(edit.new), None)
        names = [name for name in imported(home) if name not in drop] + add
        lines: list[str] | None = [] if not names else None
        if lines is None and before is not None and after is not None:
            if home.flat == before.flat:
                lines = after.lines
            else:
                try:
                    texts = ("".join(item.lines) for item in (before, after, home))
                    lines = merge_text(*texts, unordered=True).splitlines(keepends=True)
                except NoMerge:
                    lines = None
        if lines is None or _names(lines) != set(names):
            lines = written(names)
        self._new[id(home)] = lines
        edit.rewrites = True
        edit.applied(lines, "" if before is not None and home.flat == before.flat else "names")

    def _insert(self, edit: Edit, add: list[Imported], order: Sequence[Item]) -> None:
        if not add or not edit.new:
            edit.conflict("gone", f"`{edit.old[0].brief}` is written in another way upstream")
            return
        item = edit.new[0]
        lines = [*item.lead, *item.lines] if len(add) == len(imported(item)) else written(add)
        place = None
        for earlier in order[: order.index(item)]:
            same = next((i for i in _imports(self._target.items) if i.key == earlier.key), None)
            place = same or place
        if place is None:
            place = next(iter(reversed(_leading(self._target))), None)
        if place is None:
            self._first += lines
        else:
            self._after.setdefault(id(place), []).extend(lines)
        edit.applied(lines, "" if place is not None and len(lines) else "names")


def _leading(source: Source) -> list[Item]:
    return [item for item in source.items if item.is_import]


def _changed(old: Sequence[Item], new: Sequence[Item]) -> list[tuple[Item | None, Item | None]]:
    """Pair the import statements that the patch changes, adds and takes out."""
    old_keys, new_keys = {i.key for i in old}, {i.key for i in new}
    left, right = [i for i in old if i.key not in new_keys], [i for i in new if i.key not in old_keys]
    out: list[tuple[Item | None, Item | None]] = []
    for after in right:
        before = next((i for i in left if _origin(i) is not None and _origin(i) == _origin(after)), None)
        if before is not None:
            left.remove(before)
        out.append((before, after))
    return out + [(before, None) for before in left]


def _names(lines: Sequence[str]) -> set[Imported]:
    try:
        node = ast.parse("".join(lines)).body[0]
    except (SyntaxError, IndexError):
        return set()
    return set(_names_of(node))


def written(names: Sequence[Imported]) -> list[str]:
    """Write import statements.

    Args:
        names: What they import.

    Returns:
        Their lines; a long one has a line for each name.
    """
    out: list[str] = []
    for origin in dict.fromkeys((n.module, n.level) for n in names):
        parts = [n.name + (f" as {n.alias}" if n.alias else "") for n in names if (n.module, n.level) == origin]
        module, level = origin
        if not module and not level:
            out += [f"import {part}\n" for part in parts]
            continue
        line = f"from {'.' * level}{module} import {', '.join(parts)}\n"
        long = len(line) > _WIDTH
        out += [f"from {'.' * level}{module} import (\n", *(f"    {p},\n" for p in parts), ")\n"] if long else [line]
    return out

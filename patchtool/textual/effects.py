"""Whether two additions at one place can stand in either order."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from patchtool.textual.align import assigned, dice, likeness

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchtool.textual.items import Item

_FLOW = (
    ast.Return, ast.Break, ast.Continue, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await, ast.Delete, ast.Global,
    ast.Nonlocal, ast.Assert,
)  # fmt: skip


def commute(ours: Sequence[Item], theirs: Sequence[Item]) -> bool:
    """Tell whether the order of two runs of items does not matter.

    Definitions and imports of different names commute; so do assignments that neither read nor write what the other
    writes, and registrations: calls of one function with different first arguments.
    """
    ours, theirs = [i for i in ours if i.form != "comment"], [i for i in theirs if i.form != "comment"]
    if all(_declares(i) for i in ours) or all(_declares(i) for i in theirs):
        names = [{n for i in side for n in _declared(i)} for side in (ours, theirs)]
        return not names[0] & names[1] and not _reads(ours, names[1]) and not _reads(theirs, names[0])
    if _registrations(ours) and _registrations(ours) & _registrations(theirs) == set():
        return {name for name, _ in _registrations(ours)} == {name for name, _ in _registrations(theirs)}
    a, b = _Effects(ours), _Effects(theirs)
    return not (a.unknown or b.unknown or _meet(a.writes, b.reads | b.writes) or _meet(b.writes, a.reads))


def writes(item: Item) -> set[str]:
    """The dotted names that an assignment or a deletion writes; none for any other statement."""
    return _Effects([item]).writes


def rivals(ours: Item, theirs: Item) -> bool:
    """Tell whether two items may be the same thing in different words."""
    if ours.form == "comment" or theirs.form == "comment":
        return False
    if ours.is_definition or theirs.is_definition:
        return likeness(ours, theirs) >= 0.7
    like = likeness(ours, theirs)
    if assigned(ours) is not None or assigned(theirs) is not None:
        return like >= (0.5 if assigned(ours) == assigned(theirs) else 0.75)
    return bool(like) and dice(ours.names, theirs.names) >= 0.6


def _declares(item: Item) -> bool:
    return item.is_definition or item.form in {"Import", "ImportFrom"}


def _declared(item: Item) -> Iterator[str]:
    if item.is_definition:
        yield item.name
    for node in item.nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (a.asname or a.name.partition(".")[0] for a in node.names)


def _reads(items: Sequence[Item], names: set[str]) -> bool:
    """Whether code that runs at once reads one of the names; the body of a definition does not run at once."""
    return any(n in item.names for item in items if not _declares(item) for n in names) or any(
        isinstance(node, ast.Name) and node.id in names
        for item in items
        if item.is_definition
        for part in [*getattr(item.nodes[0], "decorator_list", ()), *getattr(item.nodes[0], "bases", ())]
        for node in ast.walk(part)
    )


def _registrations(items: Sequence[Item]) -> set[tuple[str, str]]:
    """The calls that a run consists of, as function and first constant argument; empty if it is anything else."""
    out: set[tuple[str, str]] = set()
    for item in items:
        node = item.nodes[0]
        call = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(call, ast.Call) or not call.args or not isinstance(call.args[0], ast.Constant):
            return set()
        out.add((ast.dump(call.func), repr(call.args[0].value)))
    return out


def _meet(a: set[str], b: set[str]) -> bool:
    return any(x == y or x.startswith(y + ".") or y.startswith(x + ".") for x in a for y in b)


class _Effects:
    """What a run of items reads and writes, by dotted name."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.reads: set[str] = set()
        self.writes: set[str] = set()
        self.unknown = False
        for item in items:
            for node in item.nodes:
                self.of(node)

    def of(self, node: ast.AST | str) -> None:
        if isinstance(node, str) or not isinstance(
            node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Delete | ast.Pass
        ):
            self.unknown = True
            return
        for part in ast.walk(node):
            if isinstance(part, (*_FLOW, ast.Call)):
                self.unknown = True
            if isinstance(part, ast.Name | ast.Attribute | ast.Subscript) and (name := _dotted(part)):
                (self.reads if isinstance(part.ctx, ast.Load) else self.writes).add(name)
        self.reads.discard("self")


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{base}.{node.attr}" if (base := _dotted(node.value)) else ""
    return _dotted(node.value) if isinstance(node, ast.Subscript) else ""

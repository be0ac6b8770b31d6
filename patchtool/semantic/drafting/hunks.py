"""The statements that differ between two versions of a file, in the smallest blocks that hold them."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

from patchtool.domain.alignment import aligned
from patchtool.semantic.language.scopes import DEFINITIONS, first_line
from patchtool.semantic.language.source import Source
from patchtool.semantic.matching.unify import same


@dataclass(frozen=True)
class Hunk:
    """Consecutive statements that differ, with one statement of context before and after.

    Args:
        symbol: The innermost enclosing definition.
        nested: Whether it is inside a compound statement.
        old: The statements before the change, with context.
        new: The statements after the change, with context.
        start: Index in both of the first statement that differs.
        old_stop: Index after the last statement removed.
        new_stop: Index after the last statement added.
        outer: The hunk of the compound statement around it, for a change that cannot be stated inside.
    """

    symbol: str
    nested: bool
    old: list[ast.stmt]
    new: list[ast.stmt]
    start: int
    old_stop: int
    new_stop: int
    outer: Hunk | None = None

    @property
    def removed(self) -> list[ast.stmt]:
        """The statements that go."""
        return self.old[self.start : self.old_stop]

    @property
    def added(self) -> list[ast.stmt]:
        """The statements that come."""
        return self.new[self.start : self.new_stop]

    @property
    def before(self) -> ast.stmt | None:
        """The statement above, in the old file."""
        return self.old[self.start - 1] if self.start else None

    @property
    def behind(self) -> ast.stmt | None:
        """The statement below, in the old file."""
        return self.old[self.old_stop] if self.old_stop < len(self.old) else None

    @property
    def lines(self) -> tuple[int, int]:
        """First and last line in the new file, or where statements are missing there."""
        nodes = self.added or self.new[max(self.start - 1, 0) : self.start] or self.new[:1]
        return (nodes[0].lineno, nodes[-1].end_lineno or nodes[-1].lineno) if nodes else (1, 1)

    def gaps(self, old: Source, new: Source) -> tuple[list[bytes], list[bytes]]:
        """The lines of both files between the statements above and below."""
        sides = ((old, self.old, self.old_stop), (new, self.new, self.new_stop))
        return tuple(_between(source, nodes, self.start, stop) for source, nodes, stop in sides)  # type: ignore[return-value]


def _between(source: Source, nodes: list[ast.stmt], start: int, stop: int) -> list[bytes]:
    above = nodes[start - 1].end_lineno if start else None
    first = above if above is not None else first_line(nodes[start]) - 1 if start < stop else 0
    last = first_line(nodes[stop]) - 1 if stop < len(nodes) else nodes[stop - 1].end_lineno if start < stop else first
    return source.lines[first:last]


def hunks(old: ast.Module, new: ast.Module) -> list[Hunk]:
    """List the smallest hunks, inside statements whose headers are equal."""
    return list(_Block("", None, False, old.body, new.body).hunks())


class _Block(NamedTuple):
    """A block of statements before and after.

    Args:
        symbol: The innermost enclosing definition.
        outer: The hunk of the compound statement that it belongs to, None for the body of a definition.
        in_function: Whether it is code of a function.
        old: The statements before.
        new: The statements after.
    """

    symbol: str
    outer: Hunk | None
    in_function: bool
    old: list[ast.stmt]
    new: list[ast.stmt]

    def hunks(self) -> Iterator[Hunk]:
        keys: dict[str, int] = {}
        dumps = [[keys.setdefault(ast.dump(s), len(keys)) for s in block] for block in (self.old, self.new)]
        opcodes = aligned(dumps[0], dumps[1]).get_opcodes()
        changes = [(i, j, k, m) for tag, i, j, k, m in opcodes if tag != "equal"]
        merged = _with_moves_merged(dumps[0], dumps[1], changes)
        spans = [part for span in merged for part in _aligned(self.old, self.new, span)]
        outer = self.outer
        if self.in_function and len(spans) > 1:  # changes that need each other are stated together
            outer = self._hunk((spans[0][0], spans[-1][1], spans[0][2], spans[-1][3]), outer)
        for a, b, c, d in spans:
            whole = self._hunk((a, b, c, d), outer)
            pairs = list(zip(self.old[a:b], self.new[c:d]))
            if b - a == d - c and all(_same_header(one, other) for one, other in pairs):
                for one, other in pairs:
                    yield from self._inner_hunks(whole, one, other)
            else:
                yield whole

    def _hunk(self, span: Span, outer: Hunk | None) -> Hunk:
        a, b, c, d = span
        start = min(a, c, 1)
        old, new = self.old[a - start : b + 1], self.new[c - start : d + 1]
        return Hunk(self.symbol, self.outer is not None, old, new, start, start + b - a, start + d - c, outer)

    def _inner_hunks(self, whole: Hunk, one: ast.stmt, other: ast.stmt) -> Iterator[Hunk]:
        definition = isinstance(one, DEFINITIONS)
        inner = f"{self.symbol}.{one.name}".lstrip(".") if isinstance(one, DEFINITIONS) else self.symbol
        in_function = not isinstance(one, ast.ClassDef) if definition else self.in_function
        handlers = zip(getattr(one, "handlers", ()), getattr(other, "handlers", ()))
        for a, b in [(one, other), *handlers]:
            for field in ("body", "orelse", "finalbody"):
                blocks = getattr(a, field, []), getattr(b, field, [])
                yield from _Block(inner, None if definition else whole, in_function, *blocks).hunks()


Span = tuple[int, int, int, int]
"""Start and stop in the old block, start and stop in the new one."""


def _with_moves_merged(old: list[int], new: list[int], changes: list[Span]) -> list[Span]:
    """Merge differences between which a statement moves: it leaves one of them and comes with another."""
    merged: list[Span] = []
    gone: dict[int, int] = {}  # where each statement of the differences is first in the old block
    come: dict[int, int] = {}  # and in the new one

    def add(i: int, j: int, k: int, m: int) -> None:
        for places, block, first, last in ((gone, old, i, j), (come, new, k, m)):
            for at in range(first, last):
                places[block[at]] = min(at, places.get(block[at], at))

    for i, j, k, m in changes:
        partners = [bisect_right(merged, gone[s], key=itemgetter(0)) - 1 for s in new[k:m] if s in gone]
        partners += [bisect_right(merged, come[s], key=itemgetter(2)) - 1 for s in old[i:j] if s in come]
        at = min(partners, default=len(merged))
        for (_, b, _, d), (a, _, c, _) in pairwise([*merged[at:], (i, j, k, m)]):
            add(b, a, d, c)
        merged[at:] = [(merged[at][0], j, merged[at][2], m) if partners else (i, j, k, m)]
        add(i, j, k, m)
    return merged


def _aligned(old: list[ast.stmt], new: list[ast.stmt], span: Span) -> Iterator[Span]:
    """Split a difference at the definitions and conditions that both sides have."""
    i, j, k, m = span
    keys = [[_key(statement) for statement in block] for block in (old[i:j], new[k:m])]
    a, c = i, k
    for match in aligned(keys[0], keys[1]).get_matching_blocks():
        b, d = i + match.a, k + match.b
        if a < b or c < d:
            yield a, b, c, d
        for n in range(match.size):
            yield b + n, b + n + 1, d + n, d + n + 1
        a, c = b + match.size, d + match.size


def _key(statement: ast.stmt) -> str:
    """Equal for two versions of one definition, of one block, or of one assignment; else unique."""
    if isinstance(statement, DEFINITIONS):
        return f"{type(statement).__name__} {statement.name}"
    if isinstance(statement, (ast.If, ast.While)):
        return f"{type(statement).__name__} {ast.dump(statement.test)}"
    return f"{id(statement)}"


def _same_header(one: ast.stmt, other: ast.stmt) -> bool:
    """Whether two compound statements differ only in their blocks."""
    if type(one) is not type(other) or not hasattr(one, "body") or isinstance(one, ast.Match):
        return False
    if isinstance(one, ast.Try) and isinstance(other, ast.Try):
        return _same_try(one, other)
    names = [name for name in one._fields if name not in ("body", "orelse")]
    return all(same(getattr(one, n, None), getattr(other, n, None)) for n in names)


def _same_try(one: ast.Try, other: ast.Try) -> bool:
    headers = [[(h.type, h.name) for h in node.handlers] for node in (one, other)]
    return len(headers[0]) == len(headers[1]) and all(
        a[1] == b[1] and same(a[0], b[0]) for a, b in zip(headers[0], headers[1])
    )

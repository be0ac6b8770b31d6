"""Putting new statements together, old ones carried over with their comments and layout where they are equal."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from patchtool.semantic.language.scopes import first_line
from patchtool.semantic.language.source import Source
from patchtool.semantic.matching.analysis import bound_nodes
from patchtool.semantic.matching.template import statement_hole, statements_hole
from patchtool.semantic.matching.unify import same
from patchtool.semantic.writing.fill import CannotFill
from patchtool.semantic.writing.filler import Filler, inner_lines


class Row(NamedTuple):
    """Lines of a block that belong together: a statement, or several on one line, with the comments above.

    Args:
        start: One-based first line.
        stop: The line after the last one.
        statements: What stands there.
    """

    start: int
    stop: int
    statements: list[ast.stmt]


class Old(NamedTuple):
    """A replaced statement that has lines of its own.

    Args:
        statement: The statement.
        lines: Its lines and those of the comments above, with their ends.
        indent: The white space before it.
        inside: Positions of the lines that begin inside a string.
    """

    statement: ast.stmt
    lines: list[str]
    indent: str
    inside: frozenset[int]

    def indented(self, indent: str) -> list[str]:
        """The lines where another indentation is needed."""
        return [
            indent + line.removeprefix(self.indent)
            if position not in self.inside and line.startswith(self.indent) and line.strip()
            else line
            for position, line in enumerate(self.lines)
        ]


class Carrier:
    """Writes a filled template into a place whose old statements may live on.

    Args:
        filler: The template's text.
        old: The statements that it replaces; each is carried over once.
    """

    def __init__(self, filler: Filler, old: Sequence[Old]) -> None:
        self.filler = filler
        self.free = list(old)
        self.old = {id(each.statement): each for each in old}

    def block(
        self, body: Sequence[ast.stmt], filled: Sequence[ast.stmt], start: int, stop: int, depth: int = 0
    ) -> list[str]:
        """The lines of one block of the template.

        Args:
            body: Its statements, with holes.
            filled: The same, filled.
            start: The block's first line in the template.
            stop: The line after its last one.
            depth: How deep in the template it is.
        """
        out: list[str] = []
        rest = list(filled)
        for row in rows(body, start):
            count = sum(1 if (carried := self._carried(s)) is None else len(carried) for s in row.statements)
            out += self._row(row, rest[:count], depth)
            rest = rest[count:]
            start = row.stop
        return out + self.filler.lines(start, stop)

    def _row(self, row: Row, filled: Sequence[ast.stmt], depth: int) -> list[str]:
        indent = self.filler.indent + depth * self.filler.unit
        statement = row.statements[0]
        carried = self._carried(statement) if len(row.statements) == 1 else None
        if carried is not None:
            if any(id(each) not in self.old for each in carried):
                raise CannotFill("site-refused", "a carried statement shares its line with another")
            return [line for each in carried for line in self.old[id(each)].indented(indent)]
        if len(row.statements) == 1:
            equal = next((old for old in self.free if same(old.statement, filled[0])), None)
            inner = body_start(statement, self.filler.raw)
            if equal is not None:
                self.free.remove(equal)
                return equal.indented(indent)
            if inner and isinstance(statement, ast.If) and isinstance(filled[0], ast.If):
                stop = (statement.body[-1].end_lineno or 0) + 1
                body = self.block(statement.body, filled[0].body, inner, stop, depth + 1)
                return [*self.filler.lines(row.start, inner), *body, *self.filler.lines(stop, row.stop)]
        return self.filler.lines(row.start, row.stop)

    def _carried(self, statement: ast.stmt) -> tuple[ast.AST, ...] | None:
        """The old statements that a template statement stands for, or None where it is code of its own."""
        run = statements_hole(statement)
        bound = self.filler.env.get(run or statement_hole(statement) or "")
        return bound_nodes(bound) if run or isinstance(bound, ast.stmt) else None


def old_statements(source: Source, statements: Sequence[ast.stmt], start: int = 0) -> list[Old]:
    """Statements that have lines of their own, also those inside of an ``if``.

    Args:
        source: The file.
        statements: Some of one block.
        start: The one-based line where the comments above the first one begin; its own line where 0.
    """
    found: list[Old] = []
    for row in rows(statements, start or first_line(statements[0])) if statements else []:
        if len(row.statements) > 1:
            continue
        statement = row.statements[0]
        number = first_line(statement) - 1
        line = source.slice(number, number + 1)
        lines = [source.slice(at, at + 1) for at in range(row.start - 1, row.stop - 1)]
        inside = frozenset(at - row.start for at in inner_lines([statement]))
        found.append(Old(statement, lines, line[: len(line) - len(line.lstrip(" \t\f"))], inside))
        inner = body_start(statement, source.lines)
        if inner and isinstance(statement, ast.If):
            found += old_statements(source, statement.body, inner)
    return found


def rows(body: Sequence[ast.stmt], start: int) -> list[Row]:
    """The rows of a block whose first comment, or statement, begins on a line."""
    found: list[Row] = []
    for statement in body:
        stop = (statement.end_lineno or statement.lineno) + 1
        if found and first_line(statement) < found[-1].stop:
            found[-1] = Row(found[-1].start, stop, [*found[-1].statements, statement])
        else:
            found.append(Row(start, stop, [statement]))
        start = stop
    return found


def body_start(statement: ast.stmt, lines: Sequence[bytes]) -> int:
    """The one-based line where an ``if``'s body begins, comments included; 0 where it has no lines of its own."""
    if not isinstance(statement, ast.If):
        return 0
    first = statement.body[0]
    at = first_line(first)
    if lines[first.lineno - 1][: first.col_offset].strip():
        return 0
    while at > 1 and (not lines[at - 2].strip() or lines[at - 2].lstrip().startswith(b"#")):
        at -= 1
    return at

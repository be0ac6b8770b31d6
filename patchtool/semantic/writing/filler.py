"""Filling the holes of a template as text: how the result is written, with the author's layout and comments."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import accumulate

from patchtool.semantic.language.nodes import children, walk
from patchtool.semantic.matching.analysis import bound_nodes
from patchtool.semantic.matching.template import (
    Template,
    arguments_hole,
    identifiers_in,
    is_hole,
    keywords_hole,
    statement_hole,
    statements_hole,
)
from patchtool.semantic.matching.unify import Binding, Bindings
from patchtool.semantic.writing.fill import CannotFill, fill_expression
from patchtool.semantic.writing.spelling import Unspeakable, spelled

_DEF = re.compile(rb"(?:async\s+)?def\s+")
Span = tuple[int, int, bytes]


class Filler:
    """The text of a template with its holes filled, line by line.

    Args:
        code: The template.
        env: What its holes stand for.
        rename: What the module calls each global.
        indent: White space before its outermost statements.
        unit: One level of indentation.
    """

    def __init__(self, code: Template, env: Bindings, rename: dict[str, str], indent: str, unit: str) -> None:
        self.env = env
        self.rename = rename
        self.indent = indent
        self.unit = unit
        self.text = code.text.encode()
        self.raw = self.text.split(b"\n")
        self.starts = [0, *accumulate(len(line) + 1 for line in self.raw)]
        spans = [span for statement in code.body for span in self._spans(statement)]
        self.spans = sorted([*spans, *self._indents(code)])

    def lines(self, start: int, stop: int) -> list[str]:
        """Some lines of the template, filled; one-based, the last one left out."""
        at, end = self.starts[start - 1], self.starts[stop - 1]
        out: list[bytes] = []
        for begin, until, text in self.spans:
            if at <= begin and until < end:
                out += [self.text[at:begin], text]
                at = until
        filled = b"".join([*out, self.text[at:end]]).decode()
        return filled.removesuffix("\n").split("\n") if stop > start else []

    def _indents(self, code: Template) -> Iterator[Span]:
        """Every level of the template's own indentation becomes one of the file's; strings stay as they are."""
        inside = inner_lines(code.body)
        statements = [n for s in code.body for n in walk(s) if isinstance(n, ast.stmt)]
        step = min((n.col_offset for n in statements if n.col_offset), default=4)
        for number, line in enumerate(self.raw, start=1):
            blank = len(line) - len(line.lstrip(b" "))
            if line.strip() and number not in inside:
                deep = self.indent + self.unit * (blank // step) + " " * (blank % step)
                yield self.starts[number - 1], self.starts[number - 1] + blank, deep.encode()

    def _at(self, node: ast.AST) -> tuple[int, int]:
        """Where a node begins and ends in the text, in bytes."""
        begin = self.starts[getattr(node, "lineno", 1) - 1] + getattr(node, "col_offset", 0)
        return begin, self.starts[(getattr(node, "end_lineno", 1) or 1) - 1] + (getattr(node, "end_col_offset", 0) or 0)

    def _spans(self, node: ast.AST) -> Iterator[Span]:
        """What is to be written in place of which bytes."""
        begin, end = self._at(node)
        if isinstance(node, ast.Name):
            text = _expression(node.id, self.env) if is_hole(node.id) else self.rename.get(node.id, node.id)
            yield begin, end, text.encode()
            return
        if isinstance(node, ast.stmt) and (statements_hole(node) or self._carried(node)):
            return  # written as a whole
        if isinstance(node, ast.JoinedStr):  # before 3.12 the parser does not say where its names are
            if {*identifiers_in(node)} & {*self.rename} or any(map(is_hole, identifiers_in(node))):
                yield begin, end, _spelled(fill_expression(node, self.env, self.rename)).encode()
            return
        if isinstance(node, ast.Attribute) and is_hole(node.attr):
            yield end - len(node.attr), end, self._identifier(node.attr)
        elif isinstance(node, ast.arg) and is_hole(node.arg):
            yield begin, begin + len(node.arg), self._identifier(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and is_hole(node.name):
            found = _DEF.match(self.text, begin)
            assert found is not None  # noqa: S101 -- where the parser says that a definition begins
            yield found.end(), found.end() + len(node.name), self._identifier(node.name)
        if isinstance(node, ast.Call):
            yield from self._call(node)
        else:
            for child in children(node):
                yield from self._spans(child)

    def _carried(self, statement: ast.stmt) -> bool:
        return isinstance(self.env.get(statement_hole(statement) or ""), ast.stmt)

    def _identifier(self, hole: str) -> bytes:
        value = self.env.get(hole)
        name = value.id if isinstance(value, ast.Name) else value
        if not isinstance(name, str):
            raise CannotFill("hole-unbound", f"{hole} stands for no identifier")
        return name.encode()

    def _call(self, call: ast.Call) -> Iterator[Span]:
        """A call, its remaining arguments written one after the other."""
        yield from self._spans(call.func)
        remaining: dict[ast.AST, str] = {}
        if call.args and (rest := arguments_hole(call.args[-1])):
            remaining[call.args[-1]] = rest
        if named := keywords_hole(call):
            remaining[call.keywords[-1]] = named
        every: list[ast.expr | ast.keyword] = sorted([*call.args, *call.keywords], key=self._at)
        before = self._at(call.func)[1]
        for position, part in enumerate(every):
            begin, end = self._at(part)
            text = ", ".join(map(_argument, bound_nodes(self.env.get(remaining.get(part, "")))))
            if part not in remaining:
                yield from self._spans(part)
            elif text:
                yield begin, end, text.encode()
            elif position:
                yield before, end, b""  # with the comma that is before it
            elif position + 1 < len(every):
                yield begin, self._at(every[position + 1])[0], b""
            else:
                yield self.text.index(b"(", before) + 1, self._at(call)[1] - 1, b""
            before = end


def inner_lines(body: Iterable[ast.AST]) -> set[int]:
    """Lines that begin inside a string: their white space is the string's."""
    found: set[int] = set()
    for statement in body:
        for node in walk(statement):
            if isinstance(node, (ast.Constant, ast.JoinedStr)):
                found.update(range(node.lineno + 1, (node.end_lineno or node.lineno) + 1))
    return found


def _expression(hole: str, env: Bindings) -> str:
    """A hole's code, in parentheses where its neighbours could bind tighter."""
    value: Binding | None = env.get(hole)
    if isinstance(value, str):
        return value
    if not isinstance(value, ast.expr):
        raise CannotFill("hole-unbound", f"{hole} stands for nothing here")
    text = _spelled(value)
    number = isinstance(value, ast.Constant) and type(value.value) in (int, float, complex)
    bound = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant, ast.JoinedStr, ast.List, ast.Dict, ast.Set)
    return text if isinstance(value, bound) and not number else f"({text})"


def _argument(part: ast.AST) -> str:
    if not isinstance(part, ast.keyword):
        return _spelled(part)
    return f"{part.arg}={_spelled(part.value)}" if part.arg else f"**{_spelled(part.value)}"


def _spelled(node: ast.AST) -> str:
    try:
        return spelled(node)
    except Unspeakable as error:
        raise CannotFill("site-refused", str(error)) from None

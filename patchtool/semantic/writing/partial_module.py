"""LibCST's tree of a file in which only the top-level statements that are edited are parsed.

Parsing and printing a whole file is most of what writing costs; the statements between are carried as they are.
"""

from __future__ import annotations

import ast
import codecs
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import libcst as cst

from patchtool.semantic.language.scopes import first_line
from patchtool.semantic.language.source import Source


@dataclass(frozen=True)
class Verbatim(cst.BaseStatement):
    """A top-level statement that is not parsed, with the lines around it.

    Args:
        text: Its lines; empty for one that shares its line with the statement before.
        leading_lines: Lines above it that the statement before was parsed with.
    """

    text: str = ""
    leading_lines: Sequence[cst.EmptyLine] = ()

    def _visit_and_replace_children(self, visitor: cst.CSTVisitorT) -> Verbatim:
        del visitor
        return self

    def _codegen_impl(self, state: Any) -> None:
        for line in self.leading_lines:
            line._codegen(state)  # noqa: SLF001 -- LibCST's nodes print each other so
        state.add_token(self.text)


def parse_statements(source: Source, wanted: Collection[ast.stmt]) -> cst.Module | None:
    """Parse some top-level statements of a file.

    Args:
        source: The file.
        wanted: Statements of the module's body, none of them a simple one.

    Returns:
        A module with one line for each statement of the file; None where the whole file has to be parsed: the first
        statement is wanted, the encoding is not UTF-8, indentation or line endings differ between the statements, or
        there are form feeds, of which LibCST keeps those at the end of a file in another way.

    Raises:
        libcst.ParserSyntaxError: LibCST cannot parse a statement.
    """
    body = source.tree.body
    at = [number for number, statement in enumerate(body) if statement in wanted]
    plain = source.encoding == "utf-8" and not source.data.startswith(codecs.BOM_UTF8) and b"\f" not in source.data
    if len(at) != len(wanted) or 0 in at or not plain:
        return None
    firsts = [0, *(first_line(statement) - 1 for statement in body[1:]), len(source.lines)]
    module = _parsed(source.data, tuple(pairwise(firsts)), tuple(at))
    endings = {line[len(line.rstrip(b"\r\n")) :] for line in source.lines[:-1]}
    return module if module and len(endings) == 1 and module.default_indent == _first_indent(source) else None


def _first_indent(source: Source) -> str:
    """The indentation of the first block of a file, or LibCST's where there is none."""
    for statement in source.tree.body:
        block = getattr(statement, "body", None)
        if isinstance(block, list):
            line = source.lines[first_line(block[0]) - 1]
            indent = line[: len(line) - len(line.lstrip())]
            if len(indent) == getattr(block[0], "col_offset", -1) > 0:
                return indent.decode()
    return " " * 4


@lru_cache(maxsize=2)
def _parsed(data: bytes, ranges: Sequence[tuple[int, int]], wanted: Sequence[int]) -> cst.Module | None:
    """LibCST's tree, which is immutable: the patches of one file are judged on the same bytes more than once."""
    lines = data.splitlines(keepends=True)
    texts = [b"".join(lines[start:stop]) for start, stop in ranges]
    parts = {number: cst.parse_module(texts[number]) for number in wanted}
    modules = [*parts.values()]
    if len({(part.default_indent, part.default_newline) for part in modules}) != 1:
        return None
    body: list[cst.BaseStatement] = []
    below: Sequence[cst.EmptyLine] = ()
    for number, text in enumerate(texts):
        part = parts.get(number)
        if part is None:
            body.append(Verbatim(text.decode(), below))
            below = ()
        else:
            (statement,) = part.body
            body.append(statement.with_changes(leading_lines=below))
            below = part.footer
    last = parts.get(len(texts) - 1)
    return modules[0].with_changes(
        header=(), body=body, footer=below, has_trailing_newline=last is None or last.has_trailing_newline
    )

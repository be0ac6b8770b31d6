"""LibCST's tree of a file in which only the definitions that are edited are parsed.

Parsing and printing a whole file is most of what writing costs. LibCST parses the file with one ``pass`` in the place
of each run of other statements, of the module and of the classes that hold an edited method; the run's text takes the
place of the ``pass`` in the tree.
"""

from __future__ import annotations

import ast
import codecs
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any

import libcst as cst

from patchtool.semantic.language.scopes import Scope, first_line
from patchtool.semantic.language.source import Source

Path = Sequence[ast.AST]


@dataclass(frozen=True, eq=False)
class Verbatim(cst.BaseStatement):
    """Statements that are not parsed.

    Args:
        text: Their lines; empty for all but the first statement of a run.
        leading_lines: The comments and blank lines above them.
    """

    text: str = ""
    leading_lines: Sequence[cst.EmptyLine] = ()

    def _visit_and_replace_children(self, visitor: cst.CSTVisitorT) -> Verbatim:
        del visitor
        return self

    def _codegen_impl(self, state: Any) -> None:
        for line in self.leading_lines:
            line._codegen(state)  # noqa: SLF001 -- LibCST's nodes print each other so
        line_end = len(self.text.rstrip("\r\n"))
        state.add_token(self.text[:line_end])
        state.add_token(self.text[line_end:])  # on its own, as LibCST takes back the last one at the end of a file


def parse_definitions(source: Source, edited: Collection[Scope]) -> cst.Module | None:
    """Parse some definitions of a file.

    Args:
        source: The file.
        edited: The definitions.

    Returns:
        A module whose blocks have one line for each statement that is not parsed; None where the whole file has to be
        parsed: the module itself is wanted, the encoding is not UTF-8, the parsed text does not tell the indentation
        or the line endings of the file, or there are form feeds, of which LibCST keeps those at the end of a file in
        another way.

    Raises:
        libcst.ParserSyntaxError: LibCST cannot parse the text.
    """
    plain = source.encoding == "utf-8" and not source.data.startswith(codecs.BOM_UTF8) and b"\f" not in source.data
    endings = {line[len(line.rstrip(b"\r\n")) :] for line in source.lines[:-1]}
    paths = [(*scope.owners, scope.node)[1:] for scope in edited]
    if not plain or len(endings) > 1 or not all(paths):
        return None
    outline = _Outline(source, paths)
    module = _parsed(outline.reduced())
    indent = _first_indent(source)
    return outline.restored(module) if indent is not None and module.default_indent == indent else None


class _Outline:
    """Which statements of a file are parsed, and which are kept as text.

    Args:
        source: The file.
        paths: For each definition that is edited, what it is in, from below the module, and itself.
    """

    def __init__(self, source: Source, paths: Iterable[Path]) -> None:
        self._source = source
        self._parsed: set[ast.AST] = set()
        self._opened: set[ast.AST] = set()
        for path in paths:
            classes = 0
            while classes < len(path) - 1 and self._has_own_lines(path[classes]):
                classes += 1
            self._opened.update(path[:classes])
            self._parsed.add(path[classes])
        self._opened -= self._parsed

    def reduced(self) -> bytes:
        """The file with one ``pass`` in the place of each run of statements that is not parsed."""
        lines: list[bytes] = []
        at = 0
        for run in self._runs(self._source.tree.body):
            start, stop = _extent(run)
            first, last = self._source.lines[start], self._source.lines[stop - 1]
            indent = first[: len(first) - len(first.lstrip())]
            lines += [*self._source.lines[at:start], indent + b"pass" + last[len(last.rstrip(b"\r\n")) :]]
            at = stop
        return b"".join([*lines, *self._source.lines[at:]])

    def restored(self, module: cst.Module) -> cst.Module:
        """The tree of the reduced file with each run's text in the place of its ``pass``."""
        return module.with_changes(body=self._restored(self._source.tree.body, module.body))

    def _restored(self, statements: Sequence[ast.stmt], lines: Sequence[Any]) -> list[cst.BaseStatement]:
        body: list[cst.BaseStatement] = []
        remaining = iter(lines)
        for run in self._split(statements):
            line = next(remaining)
            if run[0] in self._opened and isinstance(run[0], ast.ClassDef):
                block = line.body.with_changes(body=self._restored(run[0].body, line.body.body))
                body.append(line.with_changes(body=block))
            elif run[0] in self._parsed:
                body.append(line)
            else:
                body.append(Verbatim(self._source.slice(*_extent(run)), line.leading_lines))
                body += [Verbatim() for _ in run[1:]]
        return body

    def _has_own_lines(self, node: ast.AST) -> bool:
        """Whether a node is a class whose body does not begin on the line of its colon."""
        if not isinstance(node, ast.ClassDef):
            return False
        line = self._source.lines[first_line(node.body[0]) - 1]
        return not line[: node.body[0].col_offset].strip()

    def _runs(self, statements: Sequence[ast.stmt]) -> Iterable[list[ast.stmt]]:
        """The runs of statements that are not parsed, in the order of the file."""
        for run in self._split(statements):
            if run[0] in self._opened and isinstance(run[0], ast.ClassDef):
                yield from self._runs(run[0].body)
            elif run[0] not in self._parsed:
                yield run

    def _split(self, statements: Sequence[ast.stmt]) -> Iterable[list[ast.stmt]]:
        """Split a block into single statements that are parsed and runs of others."""
        for wanted, group in groupby(statements, lambda each: each in self._parsed or each in self._opened):
            run = [*group]
            yield from ([each] for each in run) if wanted else [run]


def _extent(run: Sequence[ast.stmt]) -> tuple[int, int]:
    """The lines of a run, zero-based, the last one excluded."""
    return first_line(run[0]) - 1, run[-1].end_lineno or 0


def _first_indent(source: Source) -> str | None:
    """The indentation of the first block of a file, or LibCST's where there is none; None where it is not clear."""
    for statement in source.tree.body:
        block = getattr(statement, "body", None)
        if isinstance(block, list):
            line = source.lines[first_line(block[0]) - 1]
            indent = line[: len(line) - len(line.lstrip())]
            if len(indent) == getattr(block[0], "col_offset", -1) > 0:
                return indent.decode()
            if statement.end_lineno != block[-1].end_lineno:
                return None  # a clause behind may have the first block
    return " " * 4


@lru_cache(maxsize=2)
def _parsed(data: bytes) -> cst.Module:
    """LibCST's tree, which is immutable: the patches of one file are judged on the same bytes more than once."""
    return cst.parse_module(data)

"""Read a Python file as nested lists of items."""

from __future__ import annotations

import ast
import re
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

from patchtool.textual.chunks import KEPT, Chunk, NotStructural, Outline, chunks_of
from patchtool.textual.items import Definition, Item
from patchtool.textual.shape import Shape, is_documentation, shape

if TYPE_CHECKING:
    from collections.abc import Sequence

_KEYWORD = re.compile(r"\s*(else|finally)\s*:")
_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.MULTILINE)


class Source:
    """A parsed file.

    Args:
        data: Its bytes.

    Raises:
        NotStructural: If it is no Python, or its encoding or line ends are not handled.
    """

    def __init__(self, data: bytes) -> None:
        coding = _CODING.search(b"\n".join(data.split(b"\n", 2)[:2]))
        if coding and coding.group(1).lower().replace(b"_", b"-") not in {b"utf-8", b"utf8", b"ascii", b"us-ascii"}:
            raise NotStructural("its encoding is not UTF-8")
        if b"\f" in data or b"\r" in data or b"\0" in data:
            raise NotStructural("it has form feeds or carriage returns")
        try:
            self.text = data.decode("utf-8")
            self.chunks = chunks_of(data)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise NotStructural(f"it does not parse: {error}") from None
        self.lines = [line for chunk in self.chunks for line in chunk.lines]
        self.ends_bare = bool(data) and not data.endswith(b"\n")

    @cached_property
    def items(self) -> list[Item]:
        """The items of the module."""
        found, rest = _together(self.chunks)
        return [*found, Item("end", rest, [], 0, len(self.lines) + 1, ("end",))]

    @cached_property
    def shape(self) -> Shape:
        """What it says; equal for files that differ in layout, comments and documentation only."""
        said = [shape for chunk in self.chunks for shape in _shapes(chunk)]
        documented = self.chunks[0].body and is_documentation(self.chunks[0].body[0])
        return tuple(said[1:] if documented else said)

    @cached_property
    def unit(self) -> int:
        """The number of columns of one level of indentation."""
        steps = [
            len(line) - len(line.lstrip()) for line in self.lines if line[:1] == " " and line.strip() and line[1] == " "
        ]
        return min((s for s in steps if s > 1), default=4)


def _together(chunks: Sequence[Chunk], line: int = 0) -> tuple[list[Item], list[str]]:
    """The items of chunks that stand below each other, the first after some lines; and the blank lines after them."""
    found: list[Item] = []
    rest: list[str] = []
    for chunk in chunks:
        own, rest = _items(chunk)
        found += [item.moved(line - bool(chunk.frame)) for item in own]
        line += len(chunk.lines)
    return found, rest


@lru_cache(maxsize=KEPT)
def _items(chunk: Chunk) -> tuple[Sequence[Item], list[str]]:
    """The items of a chunk, and the blank lines after them."""
    reader = _Reader(chunk, len(chunk.parsed_lines) - len(chunk.lines))
    if chunk.outline:
        reader.outlined(chunk.outline)
    else:
        reader.read(chunk.body, 0, documented=chunk.is_first)
    reader.comments(len(reader.lines) + 1, 0)
    return reader.items, reader.blank


@lru_cache(maxsize=KEPT)
def _shapes(chunk: Chunk) -> Sequence[Shape]:
    return [shape(statement) for statement in chunk.body]


def _body(source: Chunk, node: Definition | None, done: int) -> list[Item]:
    """The items of a definition that is all of a chunk, or is in one."""
    if source.members:
        return _together(source.members, done)[0]
    body: list[ast.stmt] = getattr(node or source.body[0], "body", [])
    reader = _Reader(source, done)
    reader.read(body, 0, documented=True)
    return reader.items


def _begin(node: ast.stmt) -> int:
    """The first line of a statement, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)])


class _Reader:
    """Reads a list of statements of one definition into items."""

    def __init__(self, source: Chunk, done: int) -> None:
        self.source, self.done = source, done
        self.lines = source.parsed_lines
        self.items: list[Item] = []
        self.blank: list[str] = []

    def read(self, statements: Sequence[ast.stmt], depth: int, *, documented: bool = False) -> None:
        """Append statements and all blocks under them."""
        for index, node in enumerate(statements):
            start = _begin(node)
            if isinstance(node, Definition):
                self.definition(node, start, depth)
            elif isinstance(node, ast.Match):
                self.add("Match", start, self.header_end(start, node.cases[0].pattern.lineno), depth, [node])
                for case in node.cases:
                    self.block(case, case.pattern.lineno, case.body, depth + 1, "case")
            elif isinstance(getattr(node, "body", None), list):
                self.compound(node, start, depth)
            else:
                doc = documented and index == 0 and is_documentation(node)
                self.add("doc" if doc else type(node).__name__, start, node.end_lineno or start, depth, [node])

    def add(self, form: str, start: int, end: int, depth: int, nodes: list[ast.AST | str]) -> Item | None:
        """Append lines start to end as an item; a statement that begins on the last item's line joins it."""
        if start <= self.done:
            if not self.items or self.items[-1].is_definition:
                raise NotStructural(f"line {start} begins with the end of a definition")
            last = self.items[-1]
            last.joined(f"{last.form}+", self.lines[self.done : end], nodes)
            self.done = max(self.done, end)
            return None
        self.comments(start, depth)
        item = Item(form, self.blank, self.lines[start - 1 : end], depth, start, nodes)
        self.blank = []
        self.items.append(item)
        self.done = end
        return item

    def comments(self, before: int, depth: int) -> None:
        """Append the comments that stand between the last item and a line."""
        for number in range(self.done + 1, before):
            line = self.lines[number - 1]
            if line.strip():
                self.items.append(Item("comment", self.blank, [line], depth, number))
                self.blank = []
            else:
                self.blank.append(line)
        self.done = max(self.done, before - 1)

    def definition(self, node: Definition, start: int, depth: int) -> None:
        first = self.source.head.count("\n") + 1 if self.source.members else _begin(node.body[0])
        form = "class" if isinstance(node, ast.ClassDef) else "def"
        end = node.end_lineno or start
        one_line = not self.source.members and bool(self.lines[first - 1].encode()[: node.body[0].col_offset].strip())
        item = self.add(form, start, end if one_line else self.header_end(start, first), depth, [node])
        if item is None:
            raise NotStructural(f"line {start} has a definition and other code")
        item.name = node.name
        item.whole = self.lines[start - 1 : end]
        if not one_line:
            item.read_body = partial(_body, self.source, node, self.done)
        self.done = end

    def outlined(self, outline: Outline) -> None:
        """Append the definition that the chunk consists of without parsing it."""
        before = len(self.lines) - len(self.source.lines)
        start, header, end = (before + at for at in outline[2:])
        item = self.add(outline.form, start + 1, header, 0, [])
        assert item is not None  # noqa: S101
        item.name, item.chunk, item.whole = outline.name, self.source, self.lines[start:end]
        item.read_body = partial(_body, self.source, None, header)
        self.done = end

    def header_end(self, start: int, first: int) -> int:
        """The last line of a header: what follows it before the block are comments and blank lines."""
        end = first - 1
        while end > start and (not (text := self.lines[end - 1].strip()) or text[0] == "#"):
            end -= 1
        return end

    def compound(self, node: ast.stmt, start: int, depth: int) -> None:
        body: list[ast.stmt] = getattr(node, "body", [])
        self.block(node, start, body, depth, type(node).__name__)
        for handler in getattr(node, "handlers", ()):
            self.block(handler, handler.lineno, handler.body, depth, "except")
        rest: list[ast.stmt] = getattr(node, "orelse", [])
        while rest:
            branch = rest[0]
            if not (
                isinstance(node, ast.If) and len(rest) == 1 and isinstance(branch, ast.If) and self.is_elif(branch)
            ):
                self.keyword("else", rest, depth)
                break
            self.block(branch, branch.lineno, branch.body, depth, "elif")
            rest = branch.orelse
        if final := getattr(node, "finalbody", None):
            self.keyword("finally", final, depth)

    def is_elif(self, node: ast.If) -> bool:
        return self.lines[node.lineno - 1].encode()[node.col_offset :].startswith(b"elif")

    def block(self, node: ast.AST, start: int, body: list[ast.stmt], depth: int, form: str) -> None:
        first = _begin(body[0])
        if self.lines[first - 1].encode()[: body[0].col_offset].strip():
            self.add(form, start, body[-1].end_lineno or start, depth, [node, *body])
            return
        self.add(form, start, self.header_end(start, first), depth, [node])
        self.read(body, depth + 1)

    def keyword(self, word: str, body: list[ast.stmt], depth: int) -> None:
        first = _begin(body[0])
        for number in range(self.done + 1, first + 1):
            found = _KEYWORD.match(self.lines[number - 1])
            if found and found.group(1) == word:
                if number == first:
                    self.add(word, number, body[-1].end_lineno or first, depth, [word, *body])
                    return
                self.add(word, number, self.header_end(number, first), depth, [word])
                break
        self.read(body, depth + 1)

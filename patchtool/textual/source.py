"""A Python file as nested lists of items: definitions, statements, headers of blocks, and comments."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from functools import cached_property
from typing import TYPE_CHECKING

from patchtool.textual.shape import Shape, documentation_shape, header_shape, is_documentation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_WORD = re.compile(r"\w+|[^\w\s]")
_KEYWORD = re.compile(r"\s*(else|finally)\s*:")
_CODING = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.MULTILINE)


class NotStructural(Exception):
    """The file cannot be read as items: it does not parse, or has an encoding or line ends that are not handled."""


class Item:
    """One element of a block: a definition with its own list, a statement, a block's header, or a comment.

    Args:
        form: The class of its syntax node, a keyword, ``doc``, ``comment`` or ``def`` and ``class``.
        lead: The blank lines before it.
        lines: Its own lines with line ends; of a definition only the header.
        depth: How many blocks of the enclosing definition it is in.
        line: The number of its first own line, from 1.
        nodes: Its syntax nodes; several where statements share a line.

    Attributes:
        source: The file, of a definition.
        before: Imports that stand before it, which are carried apart.
    """

    __slots__ = ("__dict__", "before", "depth", "form", "lead", "line", "lines", "nodes", "source")

    def __init__(
        self, form: str, lead: list[str], lines: list[str], depth: int, line: int, nodes: Sequence[ast.AST | str] = ()
    ) -> None:
        self.form, self.lead, self.lines, self.depth, self.line, self.nodes = form, lead, lines, depth, line, nodes
        self.source: Source | None = None
        self.before: list[str] = []

    @property
    def is_definition(self) -> bool:
        """Whether it is a function or a class."""
        return self.source is not None

    @property
    def node(self) -> ast.AST:
        """Its first syntax node."""
        node = self.nodes[0]
        assert isinstance(node, ast.AST)
        return node

    @property
    def name(self) -> str:
        """The name that a definition defines."""
        node = self.node
        assert isinstance(node, Definition)
        return node.name

    @cached_property
    def slot(self) -> tuple[str, ...]:
        """What a definition must not share with a sibling: its name, and what makes overloads and accessors differ."""
        node = self.node
        assert isinstance(node, Definition)
        marks = [ast.dump(d) for d in node.decorator_list if not isinstance(d, ast.Name) or d.id == "overload"]
        telling = [m for m in marks if re.search(r"attr='(setter|getter|deleter|register|overload)'|overload", m)]
        return (self.form, node.name, *telling)

    @cached_property
    def indent(self) -> int:
        """The column of its first character."""
        first = self.lines[0] if self.lines else ""
        return len(first) - len(first.lstrip())

    @cached_property
    def flat(self) -> str:
        """Its own text without indentation and trailing space."""
        return "".join(line.strip() + "\n" for line in self.lines)

    @cached_property
    def key(self) -> Shape:
        """Equal for items that say the same; of a definition, what is in its header only."""
        if self.form == "comment":
            return ("comment", self.flat)
        if self.form == "doc":
            assert isinstance(self.node, ast.Expr)
            return documentation_shape(self.node)
        return (self.form, *(n if isinstance(n, str) else header_shape(n) for n in self.nodes))

    @cached_property
    def whole(self) -> list[str]:
        """All its lines, nested ones included, without the lead."""
        if self.source is None:
            return self.lines
        node = self.node
        assert isinstance(node, Definition)
        return self.source.lines[self.line - 1 : node.end_lineno]

    @cached_property
    def body(self) -> list[Item]:
        """The items of a definition."""
        node = self.node
        assert isinstance(node, Definition)
        assert self.source is not None
        first = _begin(node.body[0])
        if self.line + len(self.lines) > first:
            return []  # a definition of one line
        reader = _Reader(self.source, self.line + len(self.lines) - 1)
        reader.read(node.body, 0, documented=True)
        return reader.items

    @cached_property
    def words(self) -> dict[str, int]:
        """How often each word and sign is in it, nested text included."""
        return counted(_WORD.findall("".join(self.whole)))

    @cached_property
    def names(self) -> dict[str, int]:
        """How often each name, number and keyword is in it."""
        return {word: count for word, count in self.words.items() if word[0].isalnum() or word[0] == "_"}

    @cached_property
    def trivial(self) -> bool:
        """Whether it is so common that its presence tells nothing."""
        if self.form in {"comment", "else", "finally", "Try", "Pass", "Continue", "Break", "doc"}:
            return True
        return not self.is_definition and not self.is_import and sum(self.names.values()) < 3

    @property
    def is_import(self) -> bool:
        """Whether it is an import that always happens when the module is loaded."""
        return self.depth == 0 and self.form in {"Import", "ImportFrom"} and len(self.nodes) == 1

    @property
    def brief(self) -> str:
        """Its first words, for messages."""
        return " ".join(line.strip() for line in self.lines)[:70]


def counted(elements: Iterable[str]) -> dict[str, int]:
    """Count elements; a plain dictionary is faster than a Counter here."""
    counts: dict[str, int] = {}
    for element in elements:
        counts[element] = counts.get(element, 0) + 1
    return counts


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
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.tree = ast.parse(data)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise NotStructural(f"it does not parse: {error}") from None
        self.lines = self.text.split("\n")
        last = self.lines.pop()
        self.lines = [line + "\n" for line in self.lines] + ([last + "\n"] if last else [])
        self.ends_bare = bool(last)

    @cached_property
    def items(self) -> list[Item]:
        """The items of the module."""
        reader = _Reader(self, 0)
        reader.read(self.tree.body, 0, documented=True)
        reader.comments(len(self.lines) + 1, 0)
        return [*reader.items, Item("end", reader.blank, [], 0, len(self.lines) + 1, ("end",))]

    @cached_property
    def unit(self) -> int:
        """The number of columns of one level of indentation."""
        steps = [
            len(line) - len(line.lstrip()) for line in self.lines if line[:1] == " " and line.strip() and line[1] == " "
        ]
        return min((s for s in steps if s > 1), default=4)


def _begin(node: ast.AST) -> int:
    """The first line of a statement, decorators included."""
    lines = [d.lineno for d in getattr(node, "decorator_list", ())]
    return min([node.lineno, *lines])  # type: ignore[attr-defined]


class _Reader:
    """Reads a list of statements of one definition into items."""

    def __init__(self, source: Source, done: int) -> None:
        self.source, self.done = source, done
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
            last.nodes = [*last.nodes, *nodes]
            last.form += "+"
            last.lines = last.lines + self.source.lines[self.done : end]
            self.done = max(self.done, end)
            return None
        self.comments(start, depth)
        item = Item(form, self.blank, self.source.lines[start - 1 : end], depth, start, nodes)
        self.blank = []
        self.items.append(item)
        self.done = end
        return item

    def comments(self, before: int, depth: int) -> None:
        """Append the comments that stand between the last item and a line."""
        for number in range(self.done + 1, before):
            line = self.source.lines[number - 1]
            if line.strip():
                self.items.append(Item("comment", self.blank, [line], depth, number))
                self.blank = []
            else:
                self.blank.append(line)
        self.done = max(self.done, before - 1)

    def definition(self, node: Definition, start: int, depth: int) -> None:
        first = _begin(node.body[0])
        form = "class" if isinstance(node, ast.ClassDef) else "def"
        end = node.end_lineno or start
        one_line = bool(self.source.lines[first - 1].encode()[: node.body[0].col_offset].strip())
        item = self.add(form, start, end if one_line else self.header_end(start, first), depth, [node])
        if item is None:
            raise NotStructural(f"line {start} has a definition and other code")
        item.source = self.source
        self.done = end

    def header_end(self, start: int, first: int) -> int:
        """The last line of a header: what follows it before the block are comments and blank lines."""
        end = first - 1
        while end > start and (not (text := self.source.lines[end - 1].strip()) or text[0] == "#"):
            end -= 1
        return end

    def compound(self, node: ast.stmt, start: int, depth: int) -> None:
        self.block(node, start, node.body, depth, type(node).__name__)  # type: ignore[attr-defined]
        for handler in getattr(node, "handlers", ()):
            self.block(handler, handler.lineno, handler.body, depth, "except")
        rest: list[ast.stmt] = getattr(node, "orelse", [])
        while rest:
            branch = rest[0]
            if not (isinstance(node, ast.If) and len(rest) == 1 and isinstance(branch, ast.If) and self.is_elif(branch)):
                self.keyword("else", rest, depth)
                break
            self.block(branch, branch.lineno, branch.body, depth, "elif")
            rest = branch.orelse
        if final := getattr(node, "finalbody", None):
            self.keyword("finally", final, depth)

    def is_elif(self, node: ast.If) -> bool:
        return self.source.lines[node.lineno - 1].encode()[node.col_offset :].startswith(b"elif")

    def block(self, node: ast.AST, start: int, body: list[ast.stmt], depth: int, form: str) -> None:
        first = _begin(body[0])
        if self.source.lines[first - 1].encode()[: body[0].col_offset].strip():
            self.add(form, start, body[-1].end_lineno or start, depth, [node, *body])
            return
        self.add(form, start, self.header_end(start, first), depth, [node])
        self.read(body, depth + 1)

    def keyword(self, word: str, body: list[ast.stmt], depth: int) -> None:
        first = _begin(body[0])
        for number in range(self.done + 1, first + 1):
            found = _KEYWORD.match(self.source.lines[number - 1])
            if found and found.group(1) == word:
                if number == first:
                    self.add(word, number, body[-1].end_lineno or first, depth, [word, *body])
                    return
                self.add(word, number, self.header_end(number, first), depth, [word])
                break
        self.read(body, depth + 1)


def string_lines(lines: Sequence[str]) -> set[int]:
    """Find lines that begin inside a string, and must not be indented in another way."""
    if not any('"""' in line or "'''" in line or line.endswith("\\\n") for line in lines):
        return set()
    inside: set[int] = set()
    opened: list[int] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO("".join(lines)).readline):
            kind = tokenize.tok_name[token.type]
            if kind == "STRING":
                inside.update(range(token.start[0], token.end[0]))
            elif kind == "FSTRING_START":
                opened.append(token.start[0])
            elif kind == "FSTRING_END":
                inside.update(range(opened.pop(), token.end[0]))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        pass
    return inside


def indented(lines: Sequence[str], by: int) -> list[str]:
    """Indent lines by some columns more or, if negative, less; strings and blank lines are left alone."""
    if not by:
        return list(lines)
    kept = string_lines(lines)
    out = []
    for index, line in enumerate(lines):
        if index in kept or not line.strip():
            out.append(line)
        elif by > 0:
            out.append(" " * by + line)
        else:
            out.append(line[min(-by, len(line) - len(line.lstrip())) :])
    return out

"""The items that a Python file consists of: definitions, statements, headers of blocks, and comments."""

from __future__ import annotations

import ast
import io
import keyword
import re
import tokenize
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from patchtool.textual.shape import Shape, documentation_shape, header_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from patchtool.textual.chunks import Chunk

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_WORD = re.compile(r"\w+|[^\w\s]")
_TELLING_LENGTH = 10
"""Characters of the names of a short statement from which it tells something: more than ``return x``."""
_FEW = 50
_TELLING_WORD = re.compile(r"setter|getter|deleter|register|overload")
_TELLING_MARK = re.compile(r"attr='(setter|getter|deleter|register|overload)'|overload")


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
        before: Imports that stand before it, which are carried apart.
        name: The name that a definition defines; empty for anything else.
        whole: All its lines, nested ones included, without the lead.
        read_body: Reads the items of a definition.
        chunk: The text that is parsed when a definition is looked into; None where that was parsed before.
    """

    __slots__ = (
        "__dict__", "_body", "_nodes", "before", "chunk", "depth", "form", "lead", "line", "lines", "name",
        "read_body", "whole",
    )  # fmt: skip

    def __init__(
        self, form: str, lead: list[str], lines: list[str], depth: int, line: int, nodes: Sequence[ast.AST | str] = ()
    ) -> None:
        self.form, self.lead, self.lines, self.depth, self.line, self._nodes = form, lead, lines, depth, line, nodes
        self.before: list[str] = []
        self.name = ""
        self.chunk: Chunk | None = None
        self.whole = lines
        self.read_body: Callable[[], list[Item]] = list
        self._body: list[Item] | None = None

    def moved(self, by: int) -> Item:
        """The same item some lines further down in another file; what is found out about one is known of the other."""
        item = Item(self.form, self.lead, self.lines, self.depth, self.line + by, self._nodes)
        item.name, item.chunk, item.whole, item.__dict__ = self.name, self.chunk, self.whole, self.__dict__
        item.read_body = lambda: [inner.moved(by) for inner in self.body]
        return item

    @property
    def nodes(self) -> Sequence[ast.AST | str]:
        """Its syntax nodes, and the keywords of headers that have none; several where statements share a line."""
        return self.chunk.body if self.chunk else self._nodes

    def joined(self, form: str, lines: list[str], nodes: Sequence[ast.AST | str]) -> None:
        """Append statements that begin on its last line."""
        self.form, self.lines, self._nodes = form, self.lines + lines, [*self._nodes, *nodes]

    @property
    def nodes_only(self) -> list[ast.AST]:
        """Its syntax nodes without keywords."""
        return [node for node in self.nodes if isinstance(node, ast.AST)]

    @property
    def is_definition(self) -> bool:
        """Whether it is a function or a class."""
        return bool(self.name)

    @cached_property
    def slot(self) -> tuple[str, ...]:
        """What a definition must not share with a sibling: its name, and what makes overloads and accessors differ."""
        if not self.name or not _TELLING_WORD.search("".join(self.lines)):
            return (self.form, self.name)
        decorators: list[ast.expr] = getattr(self.nodes[0], "decorator_list", [])
        marks = [ast.dump(d) for d in decorators if not isinstance(d, ast.Name) or d.id == "overload"]
        return (self.form, self.name, *(mark for mark in marks if _TELLING_MARK.search(mark)))

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
            return documentation_shape(self.nodes[0])
        nodes = [self.chunk.header] if self.chunk else self._nodes
        return (self.form, *(n if isinstance(n, str) else header_shape(n) for n in nodes))

    @property
    def body(self) -> list[Item]:
        """The items of a definition."""
        if self._body is None:
            self._body = self.read_body()
        return self._body

    @cached_property
    def text(self) -> str:
        """All its lines, nested ones included."""
        return "".join(self.whole)

    @cached_property
    def words(self) -> dict[str, int]:
        """How often each word and sign is in it, nested text included."""
        return words_of(self.text)

    @cached_property
    def names(self) -> dict[str, int]:
        """How often each name, number and keyword is in it."""
        return {word: count for word, count in self.words.items() if word[0].isalnum() or word[0] == "_"}

    @cached_property
    def trivial(self) -> bool:
        """Whether it is so common that its presence tells nothing."""
        if self.form in {"comment", "else", "finally", "Try", "Pass", "Continue", "Break", "doc"}:
            return True
        if self.is_definition or self.is_import:
            return False
        names = [name for name in self.names if not keyword.iskeyword(name)]
        return sum(self.names.values()) < 3 and sum(map(len, names)) < _TELLING_LENGTH

    @property
    def is_import(self) -> bool:
        """Whether it is an import that always happens when the module is loaded."""
        return self.depth == 0 and self.form in {"Import", "ImportFrom"} and len(self.nodes) == 1

    @property
    def brief(self) -> str:
        """Its first words, for messages."""
        return " ".join(line.strip() for line in self.lines)[:70]


def words_of(text: str) -> dict[str, int]:
    """Count the words and signs of a text; of a few, a plain dictionary is faster than a Counter."""
    elements = _WORD.findall(text)
    if len(elements) > _FEW:
        return Counter(elements)
    counts: dict[str, int] = {}
    for element in elements:
        counts[element] = counts.get(element, 0) + 1
    return counts


class Versions(NamedTuple):
    """A list of items in the base, in the patched file and in the target."""

    base: Sequence[Item]
    patched: Sequence[Item]
    target: Sequence[Item]


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

"""A Python file in chunks that are parsed for themselves, so that what versions of it have in common is parsed once."""

from __future__ import annotations

import ast
import re
import warnings
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from patchtool.textual.supers import with_plain_super

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

KEPT = 8192
"""Chunks that are kept for the next file."""
_FRAME = "if 1:\n"
_START = r"{}(?!(?:else|elif|except|finally)\b)[^\s#)\]}}]"
_STRINGS = (
    r'"""(?:[^"\\]|\\.|"(?!""))*"""|"(?:[^"\\\n]|\\.)*"'
    r"|'''(?:[^'\\]|\\.|'(?!''))*'''|'(?:[^'\\\n]|\\.)*'"
)
_CLASS = re.compile(r"\n*(?:@[^\n]*\n)*class\b[^\n]*:[ \t]*\n")
_DEFINITION = (
    r"(?:[ \t]*\n)*((?:{0}@[^\n]*\n)*"
    r"{0}(?:async +)?(def|class) +([A-Za-z_][A-Za-z0-9_]*)\b([^\n\"'#\\]*):[ \t]*\n)"
)
_MEMBER = re.compile(r"^([ \t]+)[^\s#]", re.MULTILINE)
_CODING = re.compile(rb"(?:[^\n]*\n)?[ \t\f]*#.*?coding[:=]")
_PAIRS = ("()", "[]", "{}")


class NotStructural(Exception):
    """The file cannot be read as items: it does not parse, or has an encoding or line ends that are not handled."""


class Outline(NamedTuple):
    """What the text of a chunk tells that is one definition.

    Args:
        form: ``def`` or ``class``.
        name: What it defines.
        start: The position of its first line in the lines of the chunk; blank ones stand before it.
        header: The position behind its header.
        end: The position behind its last line; comments follow.
    """

    form: str
    name: str
    start: int
    header: int
    end: int


class Chunk:
    """Some whole statements of a module or a class, with the blank lines before and the comments behind them.

    A definition whose extent its text tells is not parsed before it is looked into; everything else is, at once.

    Args:
        text: Its lines.
        is_first: Whether it is the start of its module or class, where a string may be documentation.
        indent: What its statements are indented by.
        owner: The class that its statements are members of, if any.
        data: Its bytes, where they tell its encoding.

    Attributes:
        frame: The line that its text was parsed behind.
        outline: What its text tells; None where it was parsed.

    Raises:
        SyntaxError: If it does not parse.
        ValueError: If it cannot be decoded.
    """

    def __init__(
        self, text: str, *, is_first: bool, indent: str = "", owner: str = "", data: bytes | None = None
    ) -> None:
        self.text, self.is_first, self.frame = text, is_first, _FRAME if indent else ""
        self._indent, self._owner, self._data = indent, owner, data
        self.outline = None if data else _outline(text, indent)
        if self.outline is None:
            self.body = self._parsed()

    @cached_property
    def body(self) -> list[ast.stmt]:
        """Its statements; their line numbers count in the chunk that they were parsed in, behind its frame.

        Raises:
            NotStructural: If it does not parse.
        """
        try:
            body = self._parsed()
        except (SyntaxError, ValueError) as error:
            raise NotStructural(f"it does not parse: {error}") from None
        if len(body) != 1 or not isinstance(body[0], ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            raise NotStructural(f"`{self.text.strip()[:40]}` is more than a definition")
        return body

    @cached_property
    def header(self) -> ast.stmt:
        """The definition of an outline, without what is in it."""
        assert self.outline is not None  # noqa: S101
        lines = self.lines[self.outline.start : self.outline.header]
        try:
            return self._unframed(_parsed(f"{self.frame}{''.join(lines)}{self._indent} pass\n"))[0]
        except (SyntaxError, ValueError) as error:
            raise NotStructural(f"it does not parse: {error}") from None

    def compile(self) -> None:
        """Find what a parser alone does not: ``continue`` outside of a loop, ``await`` in what is not asynchronous.

        Raises:
            SyntaxError: If it does not compile.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(self._data or self.frame + self.text, "<file>", "exec", dont_inherit=True)

    def _parsed(self) -> list[ast.stmt]:
        body = [] if self._data else self._class()
        return body or self._unframed(_parsed(self._data or self.frame + self.text))

    def _unframed(self, body: list[ast.stmt]) -> list[ast.stmt]:
        if self.frame:
            block, *behind = body
            if behind or not isinstance(block, ast.If):
                raise SyntaxError("code behind the block")
            body = block.body
        return with_plain_super(body, self._owner) if "super(" in self.text else body

    @cached_property
    def head(self) -> str:
        """The first lines of a class at the top level that can be cut; else empty."""
        found = None if self.frame or self._data else _CLASS.match(self.text)
        return found.group() if found and _MEMBER.search(self.text, found.end()) else ""

    @cached_property
    def members(self) -> list[Chunk]:
        """The chunks that the body of such a class consists of; none where it cannot be cut."""
        first = _MEMBER.search(self.text, len(self.head)) if self.head else None
        if first is None:
            return []
        lines = self.lines
        end = next(at for at in range(len(lines), 0, -1) if lines[at - 1].strip() and lines[at - 1].lstrip()[0] != "#")
        body = "".join(lines[self.head.count("\n") : end])
        name = self.head.rpartition("class ")[2].partition("(")[0].strip(" :\t\n")
        try:
            return [_chunk(text, not at, first.group(1), name) for at, text in enumerate(_cut(body, first.group(1)))]
        except (SyntaxError, ValueError):
            return []

    def _class(self) -> list[ast.stmt]:
        """Parse a class member by member; nothing where it cannot be cut."""
        if not self.members:
            return []
        try:
            body = _parsed(f"{self.head} pass\n")
            statements = [statement for member in self.members for statement in member.body]
        except (SyntaxError, ValueError, NotStructural):
            body, statements = [], []
        if len(body) == 1 and isinstance(body[0], ast.ClassDef):
            body[0].body = statements
            body[0].end_lineno = self.head.count("\n") + sum(len(member.lines) for member in self.members)
            return body
        self.members = []
        return []

    @cached_property
    def lines(self) -> list[str]:
        """Its lines with line ends."""
        lines = self.text.split("\n")
        last = lines.pop()
        return [line + "\n" for line in lines] + ([last + "\n"] if last else [])

    @cached_property
    def parsed_lines(self) -> list[str]:
        """Its lines behind its frame, in which the numbers of lines in its statements count."""
        return [self.frame, *self.lines] if self.frame else self.lines


def _outline(text: str, indent: str) -> Outline | None:
    """Tell what a chunk defines that begins with a definition, where it takes no parser to see its header and end."""
    found = _definition(indent).match(text)
    if found is None or any(found.group(4).count(pair[0]) != found.group(4).count(pair[1]) for pair in _PAIRS):
        return None
    lines = text.split("\n")
    end = len(lines) - 1
    while end and (not (line := lines[end - 1].strip()) or line[0] == "#"):
        if '"""' in line or "'''" in line:
            return None  # it may end a string
        end -= 1
    header = text.count("\n", 0, found.end())
    start = header - found.group(1).count("\n")
    return Outline(found.group(2), found.group(3), start, header, end) if header < end else None


@lru_cache(maxsize=16)
def _definition(indent: str) -> re.Pattern[str]:
    return re.compile(_DEFINITION.format(re.escape(indent)))


def _parsed(code: str | bytes) -> list[ast.stmt]:
    module = compile(code, "<file>", "exec", ast.PyCF_ONLY_AST)
    return module.body if isinstance(module, ast.Module) else []


@lru_cache(maxsize=KEPT)
def _chunk(text: str, is_first: bool, indent: str = "", owner: str = "") -> Chunk:
    return Chunk(text, is_first=is_first, indent=indent, owner=owner)


@lru_cache(maxsize=64)
def chunks_of(data: bytes) -> Sequence[Chunk]:
    """Parse a file.

    A chunk that parses alone says in a row of such chunks what it says alone: it has no open bracket or string at its
    end. So where to cut is a guess, and a wrong one only means that the whole file is parsed.

    Args:
        data: Its bytes.

    Returns:
        Its chunks; one where it cannot be cut.

    Raises:
        SyntaxError: If it does not parse.
        ValueError: If it cannot be decoded.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if _may_be_cut(data):
            try:
                return [_chunk(text, not at) for at, text in enumerate(_cut(data.decode("utf-8")))]
            except (SyntaxError, ValueError):
                pass
        return [Chunk(data.decode("utf-8", "replace"), is_first=True, data=data)]


def _may_be_cut(data: bytes) -> bool:
    """Whether lines end with line feeds only, and nothing tells an encoding, so that a part is read as in the whole."""
    return not any(byte in data for byte in (b"\r", b"\f", b"\0")) and not (
        data.startswith(b"\xef\xbb\xbf") or _CODING.match(data)
    )


@lru_cache(maxsize=16)
def _statements(indent: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What a line that begins a statement of the block begins with, and all that is before such a line or an error."""
    start = _START.format(re.escape(indent))
    before = rf"(?:[^\"'#\n]+|\n(?!{start})|{_STRINGS}|#[^\n]*)*"
    return re.compile(start), re.compile(before, re.DOTALL)


def _cut(text: str, indent: str = "") -> Iterator[str]:
    """Cut before lines that begin a statement of the block, as far as strings and first characters tell.

    Raises:
        SyntaxError: If a string is not closed.
    """
    start, before = _statements(indent)
    first = start.match(text)
    goes_on = first is None or first.group()[-1] == "@"  # what is before the first statement belongs to it
    done = at = 0
    while (found := before.match(text, at)) is not None and found.end() < len(text):
        at = found.end() + 1
        if text[at - 1] != "\n":
            raise SyntaxError("a string is not closed")
        if at == len(text):
            break
        joined, goes_on = goes_on, text[at + len(indent)] == "@"
        code = text[done:at].rstrip()
        if joined or code[-1] == "\\":
            continue
        end = text.index("\n", done + len(code)) + 1
        yield text[done:end]
        done = end
    yield text[done:]

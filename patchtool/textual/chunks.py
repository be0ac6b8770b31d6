"""A Python file in chunks that are parsed for themselves, so that what versions of it have in common is parsed once."""

from __future__ import annotations

import ast
import re
import warnings
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

KEPT = 8192
"""Chunks that are kept for the next file."""
_FRAME = "if 1:\n"
_START = r"^{}(?!(?:else|elif|except|finally)\b)[^\s#)\]}}]"
_CLASS = re.compile(r"\n*(?:@[^\n]*\n)*class\b[^\n]*:[ \t]*\n")
_MEMBER = re.compile(r"^([ \t]+)[^\s#]", re.MULTILINE)
_CODING = re.compile(rb"(?:[^\n]*\n)?[ \t\f]*#.*?coding[:=]")


class Chunk:
    """Some whole statements of a module or a class, with the blank lines before and the comments behind them.

    Args:
        text: Its lines.
        is_first: Whether it is the start of its module or class, where a string may be documentation.
        indent: What its statements are indented by.
        data: Its bytes, where they tell its encoding.

    Attributes:
        frame: The line that its text was parsed behind.
        body: Its statements; their line numbers count in the chunk that they were parsed in, behind its frame.
        head: Of a class that is cut, its first lines; else empty.
        members: Of a class that is cut, the chunks that its body consists of; else none.

    Raises:
        SyntaxError: If it does not parse.
        ValueError: If it cannot be decoded.
    """

    def __init__(self, text: str, *, is_first: bool, indent: str = "", data: bytes | None = None) -> None:
        self.text, self.is_first, self.frame = text, is_first, _FRAME if indent else ""
        self.head, self.members = "", list[Chunk]()
        self.body = ([] if data else self._class()) or _parsed(data or self.frame + text)
        if indent:
            block, *behind = self.body
            if behind or not isinstance(block, ast.If):
                raise SyntaxError("code behind the block")
            self.body = block.body

    def _class(self) -> list[ast.stmt]:
        """Parse a class member by member; nothing where it cannot be cut."""
        head = _CLASS.match(self.text)
        first = _MEMBER.search(self.text, head.end()) if head else None
        if head is None or first is None:
            return []
        indent, lines = first.group(1), self.lines
        end = next(at for at in range(len(lines), 0, -1) if lines[at - 1].strip() and lines[at - 1].lstrip()[0] != "#")
        texts = list(_cut("".join(lines[head.group().count("\n") : end]), indent))
        try:
            body = _parsed(f"{head.group()}{indent}pass\n")
            members = [_chunk(text, not at, indent) for at, text in enumerate(texts)]
        except (SyntaxError, ValueError):
            return []
        if len(body) == 1 and isinstance(body[0], ast.ClassDef):
            self.head, self.members = head.group(), members
            body[0].body = [statement for member in members for statement in member.body]
            body[0].end_lineno = head.group().count("\n") + sum(len(member.lines) for member in members)
        return body

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


def _parsed(code: str | bytes) -> list[ast.stmt]:
    module = compile(code, "<file>", "exec", ast.PyCF_ONLY_AST)
    return module.body if isinstance(module, ast.Module) else []


@lru_cache(maxsize=KEPT)
def _chunk(text: str, is_first: bool, indent: str = "") -> Chunk:
    return Chunk(text, is_first=is_first, indent=indent)


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
def _starts(indent: str) -> re.Pattern[str]:
    return re.compile(_START.format(re.escape(indent)), re.MULTILINE)


def _cut(text: str, indent: str = "") -> Iterator[str]:
    """Cut before lines that begin a statement of the block, as far as a look at their first character tells."""
    start = seen = 0
    opened = {'"""': False, "'''": False}
    goes_on = True  # what is before the first statement belongs to it
    for found in _starts(indent).finditer(text):
        at = found.start()
        for quotes in opened:
            opened[quotes] ^= bool(text.count(quotes, seen, at) % 2)
        seen = at
        if any(opened.values()):
            continue
        joined, goes_on = goes_on, found.group()[-1] == "@"
        code = text[start:at].rstrip()
        if joined or code[-1] == "\\":
            continue
        end = text.index("\n", start + len(code)) + 1
        yield text[start:end]
        start = end
    yield text[start:]

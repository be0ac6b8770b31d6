"""A statement as tokens, brackets as lists of elements."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_CLOSING = {"(": ")", "[": "]", "{": "}"}
_LAYOUT = {"NL", "COMMENT", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER"}


class NoMerge(Exception):
    """Both sides changed the same thing in different ways; the message is the explanation."""


@lru_cache(maxsize=4096)
def _string_key(text: str) -> str:
    """What a string says, whatever its quotes; a formatted string as it is written."""
    if "f" not in text.partition(text[-1])[0].lower():
        try:
            return repr(ast.literal_eval(text))
        except (SyntaxError, ValueError):
            pass
    return text


@dataclass(frozen=True)
class Token:
    """A token, and the white space and comments before it."""

    text: str
    pre: str = ""

    @property
    def key(self) -> str:
        """Equal for tokens that mean the same: the kind of quotes of a string does not matter."""
        return _string_key(self.text) if self.text[-1] in "\"'" else self.text

    def render(self) -> str:
        """Write it with what stands before it."""
        return self.pre + self.text


@dataclass(frozen=True)
class Bracket:
    """A pair of brackets with elements between commas."""

    pre: str
    opening: str
    elements: tuple[Element, ...]
    commas: tuple[str, ...]
    closing: Token

    @property
    def key(self) -> str:
        """Equal for brackets that mean the same: a trailing comma matters in a tuple of one only."""
        single = "," if self.opening == "(" and len(self.elements) == 1 and self.commas else ""
        return self.opening + ",".join(key_of(e) for e in self.elements) + single + self.closing.text

    def render(self) -> str:
        """Write it with what stands before it."""
        out = self.pre + self.opening
        for index, element in enumerate(self.elements):
            out += rendered(element)
            if index < len(self.commas):
                out += self.commas[index] + ","
        return out + self.closing.render()


Node = Token | Bracket
Element = tuple[Node, ...]


def key_of(element: Sequence[Node]) -> str:
    """Equal for elements that mean the same."""
    return " ".join(node.key for node in element)


def rendered(element: Sequence[Node]) -> str:
    """Write an element."""
    return "".join(node.render() for node in element)


def tokens(text: str) -> tuple[list[Token], str]:
    """Split a statement or a header into tokens.

    Args:
        text: Its text, which need not be a whole program.

    Returns:
        The tokens, and the text after the last one.

    Raises:
        NoMerge: If it cannot be split.
    """
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found: list[Token] = []
    end = nested = opened = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            kind = tokenize.tok_name[token.type]
            begin, stop = starts[token.start[0] - 1] + token.start[1], starts[token.end[0] - 1] + token.end[1]
            if kind == "FSTRING_START":
                opened, nested = (opened if nested else begin), nested + 1
            elif kind == "FSTRING_END":
                nested -= 1
                begin = opened
            if not nested and kind not in _LAYOUT and stop > begin:
                found.append(Token(text[begin:stop], text[end:begin]))
                end = stop
    except (tokenize.TokenError, SyntaxError, IndexError) as error:
        if not found or nested or any(t.text in _CLOSING for t in found[-1:]):
            raise NoMerge(f"it cannot be split into tokens: {error}") from None
    return found, text[end:]


def comments(text: str) -> Counter[str]:
    """Count the comments in a statement."""
    found: Counter[str] = Counter()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                found[token.string] += 1
    except (tokenize.TokenError, SyntaxError):
        pass
    return found


class Parser:
    """Reads a statement as tokens and brackets.

    Args:
        text: Its text.

    Raises:
        NoMerge: If it cannot be split.
    """

    def __init__(self, text: str) -> None:
        self.tokens, self.rest = tokens(text)
        self.at = 0

    def nodes(self, closing: str = "") -> list[Node]:
        """Read as far as a closing bracket or a comma, or all of it."""
        out: list[Node] = []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if closing and token.text in {closing, ","}:
                return out
            self.at += 1
            out.append(self.bracket(token) if token.text in _CLOSING else token)
        if closing:
            raise NoMerge("its brackets are not balanced")
        return out

    def bracket(self, opening: Token) -> Bracket:
        """Read the elements of a bracket that was opened."""
        elements: list[Element] = []
        commas: list[str] = []
        while True:
            element = self.nodes(_CLOSING[opening.text])
            if self.at >= len(self.tokens):
                raise NoMerge("its brackets are not balanced")
            if element:
                elements.append(tuple(element))
            token = self.tokens[self.at]
            self.at += 1
            if token.text != ",":
                return Bracket(opening.pre, opening.text, tuple(elements), tuple(commas), token)
            commas.append(token.pre)

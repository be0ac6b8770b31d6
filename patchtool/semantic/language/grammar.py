"""Syntax and builtins of the lowest supported Python; a newer interpreter's parser accepts more."""

from __future__ import annotations

import ast
import builtins
import io
import re
import sys
import tokenize
from collections.abc import Iterator

from patchtool.semantic.language.nodes import walk

MIN_PYTHON = (3, 10)
"""The grammar that upstream promises its users; code that needs a newer one is not written."""

_NEWER_BUILTINS = {"BaseExceptionGroup", "ExceptionGroup", "PythonFinalizationError", "_IncompleteInputError"}
BUILTINS = frozenset(dir(builtins)) - _NEWER_BUILTINS
"""Builtins of the lowest supported Python."""

_MAYBE_UNPACKING = re.compile(r"(?:\[|\[[^\[\]()]*,)\s*\*\s*\w|\*\s*\w+\s*:\s*\*")
_FSTRING_START = re.compile(r"""(?<!\w)(?:[fF][rR]?|[rR][fF])(?P<quote>\"{3}|'{3}|"|')""")
_NEWER_FIELD = re.compile(r"\{[^{}]*[\\#\n][^{}]*\}")
_STRING_BODY = {quote: re.compile(rf"(?:[^\\]|\\.)*?(?={quote})", re.DOTALL) for quote in ("'", '"', "'''", '"""')}


def newer_syntax(text: str, tree: ast.Module) -> tuple[int, int] | None:
    """Find syntax that needs Python 3.11 or 3.12.

    Args:
        text: The code.
        tree: Its syntax tree.

    Returns:
        One-based line and column, or None.

    Source: PEP 646 and PEP 701.
    """
    if sys.version_info >= (3, 11) and _MAYBE_UNPACKING.search(text):
        node = next(_unpackings(tree), None)
        if node is not None:
            return node.lineno, node.col_offset + 1
    if sys.version_info >= (3, 12) and not all(_is_old_fstring(text, start) for start in _FSTRING_START.finditer(text)):
        return _first_newer_field(text)
    return None


def _unpackings(tree: ast.Module) -> Iterator[ast.expr]:
    """Each ``*args: *T``, and each ``*a`` in a subscript without parentheses around all of it."""
    for node in walk(tree):
        if isinstance(node, ast.arg) and isinstance(node.annotation, ast.Starred):
            yield node.annotation
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
            parts = node.slice.elts
            bare = parts and (parts[0].lineno, parts[0].col_offset) == (node.slice.lineno, node.slice.col_offset)
            yield from (part for part in parts if bare and isinstance(part, ast.Starred))


def _is_old_fstring(text: str, start: re.Match[str]) -> bool:
    """Whether an f-string is certainly valid before PEP 701, when the next quote of its kind ended it."""
    body = _STRING_BODY[start["quote"]].match(text, start.end())
    if body is None or "{{" in body[0] or "}}" in body[0]:
        return False
    return body[0].count("{") == body[0].count("}") and not _NEWER_FIELD.search(body[0])


def _first_newer_field(text: str) -> tuple[int, int] | None:
    """Find the first token in an f-string's braces that is only valid since PEP 701."""
    start, middle, end = (getattr(tokenize, f"FSTRING_{word}") for word in ("START", "MIDDLE", "END"))
    quotes: list[str] = []
    for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
        if token.type == end:
            quotes.pop()
        elif quotes and token.type != middle:
            reuses_quote = any(quote in token.string for quote in quotes)
            breaks_line = "\n" in token.string and any(len(quote) == 1 for quote in quotes)
            if reuses_quote or breaks_line or "\\" in token.string or token.type == tokenize.COMMENT:
                return token.start[0], token.start[1] + 1
        if token.type == start:
            quotes.append(token.string.lstrip("fFrR"))
    return None

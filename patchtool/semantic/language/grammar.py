"""The lowest Python's grammar and names, also where a newer host's parser lets newer code through."""

from __future__ import annotations

import ast
import builtins
import io
import re
import sys
import tokenize
from collections.abc import Iterator

from patchtool.semantic.language.nodes import walk

LOWEST_PYTHON = (3, 10)
"""The grammar that upstream promises to its users; code that needs a newer one is not written."""

_NEWER_BUILTINS = {"BaseExceptionGroup", "ExceptionGroup", "PythonFinalizationError", "_IncompleteInputError"}
BUILTINS = frozenset(dir(builtins)) - _NEWER_BUILTINS
"""Names that the lowest Python has everywhere."""

_UNPACKS = re.compile(r"(?:\[|\[[^\[\]()]*,)\s*\*\s*\w|\*\s*\w+\s*:\s*\*")
_BEGINS = re.compile(r"""(?<!\w)(?:[fF][rR]?|[rR][fF])(?P<quote>\"{3}|'{3}|"|')""")
_BRACED = re.compile(r"\{[^{}]*[\\#\n][^{}]*\}")
_ENDS = {quote: re.compile(rf"(?:[^\\]|\\.)*?(?={quote})", re.DOTALL) for quote in ("'", '"', "'''", '"""')}


def too_new(text: str, tree: ast.Module) -> tuple[int, int] | None:
    """Where parsed text needs Python 3.11 or 3.12.

    Args:
        text: The code.
        tree: The same, parsed.

    Returns:
        Line and column, counted from 1, or None.

    Source: PEP 646 and PEP 701.
    """
    if sys.version_info >= (3, 11) and _UNPACKS.search(text):
        found = next(_unpackings(tree), None)
        if found is not None:
            return found.lineno, found.col_offset + 1
    if sys.version_info >= (3, 12) and not all(_is_old(text, begin) for begin in _BEGINS.finditer(text)):
        return _first_nested(text)
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


def _is_old(text: str, begin: re.Match[str]) -> bool:
    """Whether an f-string surely is one by the old rules, under which the next quote of its kind ends it."""
    quote = begin["quote"]
    found = _ENDS[quote].match(text, begin.end())
    if found is None or "{{" in found[0] or "}}" in found[0]:
        return False
    return found[0].count("{") == found[0].count("}") and not _BRACED.search(found[0])


def _first_nested(text: str) -> tuple[int, int] | None:
    """Look at every token inside of an f-string's braces."""
    begin, middle, end = (getattr(tokenize, f"FSTRING_{word}") for word in ("START", "MIDDLE", "END"))
    quotes: list[str] = []
    for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
        if token.type == end:
            quotes.pop()
        elif quotes and token.type != middle:
            ends = any(quote in token.string for quote in quotes)
            breaks = "\n" in token.string and any(len(quote) == 1 for quote in quotes)
            if ends or breaks or "\\" in token.string or token.type == tokenize.COMMENT:
                return token.start[0], token.start[1] + 1
        if token.type == begin:
            quotes.append(token.string.lstrip("fFrR"))
    return None

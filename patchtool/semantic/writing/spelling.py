"""Code as text, the same on every Python that runs this, and text that upstream's lowest Python can read.

``ast.unparse`` writes what the Python it runs on can read: on 3.12 an f-string's own quote inside of its braces.
"""

from __future__ import annotations

import ast
import copy
import re

from patchtool.semantic.language.nodes import walk

_QUOTES = ("'", '"', "'''", '"""')
_PLACEHOLDER = re.compile(r"_spelled_(\d+)_")
_DEEPEST = 2


class Unspeakable(Exception):
    """An f-string that the lowest Python has no spelling for."""


def spelled(node: ast.AST) -> str:
    """Write an expression or statement.

    Raises:
        Unspeakable: It holds an f-string that needs a newer Python.
    """
    if not any(isinstance(n, (ast.JoinedStr, ast.comprehension)) for n in walk(node)):
        return ast.unparse(node)
    taker = _Taker()
    text = ast.unparse(ast.fix_missing_locations(taker.visit(copy.deepcopy(node))))
    return _PLACEHOLDER.sub(lambda found: taker.texts[int(found[1])], text)


class _Taker(ast.NodeTransformer):
    """Takes out what Pythons spell differently and leaves names in its place; the methods are those of ``ast``."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.Name:
        return self._kept(_fstring(node))

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        if isinstance(node.target, ast.Tuple) and node.target.elts:
            parts = [spelled(part) for part in node.target.elts]
            node.target = self._kept(", ".join(parts) + ("," if len(parts) == 1 else ""))
        return self.generic_visit(node)

    def _kept(self, text: str) -> ast.Name:
        self.texts.append(text)
        return ast.Name(f"_spelled_{len(self.texts) - 1}_", ast.Load())


def _fstring(node: ast.JoinedStr) -> str:
    bodies = [(quote, body) for quote in _QUOTES if (body := _body(node, quote, 0)) is not None]
    if not bodies:
        raise Unspeakable("an f-string has no spelling without its own quotes or backslashes inside of braces")
    quote, body = min(bodies, key=lambda each: each[1].count("\\"))
    return f"f{quote}{body}{quote}"


def _body(node: ast.JoinedStr, quote: str, depth: int) -> str | None:
    parts = []
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            text = spelled(part.value)
            if depth >= _DEEPEST or "\\" in text or "#" in text or quote[0] in text or "\n" in text:
                return None
            parts.append("{" + " " * text.startswith("{") + text)
            parts.append(f"!{chr(part.conversion)}" if part.conversion != -1 else "")
            if isinstance(part.format_spec, ast.JoinedStr):
                spec = _body(part.format_spec, quote, depth + 1)
                if spec is None:
                    return None
                parts.append(f":{spec}")
            parts.append("}")
        elif isinstance(part, ast.Constant):
            literal = _literal(str(part.value), quote)
            if depth and re.search(r"[{}\\]", literal):
                return None
            parts.append(literal.replace("{", "{{").replace("}", "}}"))
    return "".join(parts)


def _literal(text: str, quote: str) -> str:
    """Text between quotes; escapes are those that ``repr`` uses."""
    return "".join(f"\\{c}" if c == quote[0] else c if c in "'\"" else repr(c)[1:-1] for c in text)

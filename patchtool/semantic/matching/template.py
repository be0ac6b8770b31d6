"""Templates: valid Python with holes.

``X_`` is a hole. As a statement, ``*X_`` stands for any number of statements; as the last argument, ``*X_`` stands for
all remaining arguments and ``**X_`` for the remaining keywords. ``...`` as a statement matches any statements.
"""

from __future__ import annotations

import ast
import re
import textwrap
from functools import lru_cache
from typing import NamedTuple

from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.source import parse_python

_HOLE = re.compile(r"[A-Z][A-Z0-9_]*_")


class TemplateError(ValueError):
    """An invalid template; the message is for its author."""


def is_hole(name: str) -> bool:
    """Whether a name is spelled like a hole: capitals with a trailing underscore."""
    return _HOLE.fullmatch(name) is not None and not name.startswith("__")


class Template(NamedTuple):
    """A parsed template.

    Args:
        text: As the author wrote it, dedented.
        body: Its statements.
    """

    text: str
    body: tuple[ast.stmt, ...]

    @property
    def root(self) -> ast.AST:
        """The expression of a template that is one, else the first statement."""
        first = self.body[0]
        return first.value if isinstance(first, ast.Expr) else first

    @property
    def expression(self) -> ast.expr:
        """The template as one expression."""
        if len(self.body) == 1 and isinstance(self.body[0], ast.Expr):
            return self.body[0].value
        raise TemplateError(f"expected an expression, not statements: {_first_line(self.text)!r}")

    @property
    def holes(self) -> frozenset[str]:
        """The names of all holes."""
        return frozenset(name for statement in self.body for name in identifiers_in(statement) if is_hole(name))


@lru_cache(maxsize=512)
def template(text: str) -> Template:
    """Parse a template.

    Raises:
        TemplateError: It is empty or not valid Python.
    """
    clean = textwrap.dedent(text).removeprefix("\n").rstrip("\n")  # further blank lines above are written
    try:
        body = tuple(parse_python(clean).body)
    except SyntaxError as error:
        raise TemplateError(
            f"template is not valid Python: {error.msg} in line {error.lineno}: {_first_line(clean)!r}"
        ) from None
    if not body:
        raise TemplateError("template is empty")
    return Template(clean, body)


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def identifiers_in(node: ast.AST) -> list[str]:
    """List every identifier in code: names, attributes, keywords, parameters and definitions."""
    values = (getattr(child, field, None) for child in walk(node) for field in ("id", "attr", "arg", "name"))
    return [value for value in values if isinstance(value, str)]


def is_ellipsis(statement: ast.stmt) -> bool:
    """Whether a template statement is ``...``, which matches any number of statements."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and statement.value.value is Ellipsis
    )


def _hole_name(node: ast.AST | None) -> str | None:
    return node.id if isinstance(node, ast.Name) and is_hole(node.id) else None


def statements_hole(statement: ast.stmt) -> str | None:
    """Return the hole in ``*BODY_`` as a statement, which stands for any number of statements."""
    return arguments_hole(statement.value) if isinstance(statement, ast.Expr) else None


def statement_hole(statement: ast.stmt) -> str | None:
    """Return the hole in ``THIS_`` as a statement, which stands for one statement of any kind."""
    return _hole_name(statement.value) if isinstance(statement, ast.Expr) else None


def arguments_hole(node: ast.AST) -> str | None:
    """Return the hole in ``*REST_`` as an argument, which stands for all remaining arguments."""
    return _hole_name(node.value) if isinstance(node, ast.Starred) else None


def keywords_hole(call: ast.Call) -> str | None:
    """Return the hole in ``**REST_`` as the last argument, which stands for the remaining keywords."""
    last = call.keywords[-1] if call.keywords else None
    return _hole_name(last.value) if last is not None and last.arg is None else None

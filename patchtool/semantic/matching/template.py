"""Templates: valid Python with holes.

``X_`` is a hole, ``*X_`` as a statement a run of statements, ``*X_`` among arguments all that remain, ``**X_`` the
keywords that remain, and ``...`` as a statement any run of statements.
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
    """A template that cannot be used; the message is for its author."""


def is_hole(name: str) -> bool:
    """Whether a name is in the reserved spelling of holes: capitals with a trailing underscore."""
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
    def expression(self) -> ast.expr:
        """The template as one expression."""
        if len(self.body) == 1 and isinstance(self.body[0], ast.Expr):
            return self.body[0].value
        raise TemplateError(f"an expression is needed here, not statements: {first_line(self.text)!r}")

    @property
    def holes(self) -> frozenset[str]:
        """Names of all holes in it."""
        return frozenset(name for statement in self.body for name in names_in(statement) if is_hole(name))


@lru_cache(maxsize=512)
def template(text: str) -> Template:
    """Parse a template.

    Raises:
        TemplateError: Not valid Python, or empty.
    """
    clean = textwrap.dedent(text).strip("\n")
    try:
        body = tuple(parse_python(clean).body)
    except SyntaxError as error:
        raise TemplateError(
            f"template is not valid Python: {error.msg} in line {error.lineno}: {first_line(clean)!r}"
        ) from None
    if not body:
        raise TemplateError("template is empty")
    return Template(clean, body)


def first_line(text: str) -> str:
    """The first line that says something, for messages."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else ""


def names_in(node: ast.AST) -> list[str]:
    """Every identifier in a piece of code: names, attributes, keywords, parameters and definitions."""
    found: list[str] = []
    for child in walk(node):
        for field in ("id", "attr", "arg", "name"):
            value = getattr(child, field, None)
            if isinstance(value, str):
                found.append(value)
    return found


def is_any_run(statement: ast.stmt) -> bool:
    """Whether a template statement is ``...``, standing for any run of statements."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and statement.value.value is Ellipsis
    )


def run_hole(statement: ast.stmt) -> str | None:
    """The name in ``*BODY_`` as a statement: a run of statements that is carried over."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Starred):
        return rest_hole(statement.value)
    return None


def statement_hole(statement: ast.stmt) -> str | None:
    """The name in ``THIS_`` as a statement: one statement of any kind."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Name) and is_hole(statement.value.id):
        return statement.value.id
    return None


def rest_hole(node: ast.AST) -> str | None:
    """The name in ``*REST_`` among arguments: all that remain."""
    if isinstance(node, ast.Starred) and isinstance(node.value, ast.Name) and is_hole(node.value.id):
        return node.value.id
    return None


def rest_keywords(call: ast.Call) -> str | None:
    """The name in ``**REST_`` among arguments: the keywords that remain, and no positional ones."""
    last = call.keywords[-1] if call.keywords else None
    if last is not None and last.arg is None and isinstance(last.value, ast.Name) and is_hole(last.value.id):
        return last.value.id
    return None

"""Code that a template matches, and what its holes are bound to."""

from __future__ import annotations

import ast
from typing import NamedTuple

from patchtool.semantic.language.scopes import Block
from patchtool.semantic.matching.unify import Binding, Bindings, same_binding


class Match(NamedTuple):
    """Code that a template matches.

    Args:
        block: The block that contains it.
        start: Index of its first statement.
        stop: Index after its last one.
        node: The matched expression, or the first statement.
        env: The hole bindings.
        conditional: Why the expression may not run exactly once when its statement does, or empty.
        by_value: Whether the holes are bound to values instead of code as written.
    """

    block: Block
    start: int
    stop: int
    node: ast.AST
    env: Bindings
    conditional: str = ""
    by_value: bool = False

    @property
    def statement(self) -> ast.stmt:
        """The statement that contains the match, or the first of several."""
        return self.block.statements[self.start]

    @property
    def statements(self) -> list[ast.stmt]:
        """All statements of the match."""
        return self.block.statements[self.start : self.stop]

    @property
    def line(self) -> int:
        """One-based line."""
        return getattr(self.node, "lineno", self.statement.lineno)

    @property
    def position(self) -> tuple[int, int]:
        """Line and column, for the order in the source."""
        return (self.line, getattr(self.node, "col_offset", 0))


def bound_nodes(value: Binding | None) -> tuple[ast.AST, ...]:
    """Return the nodes that a hole is bound to; an identifier as a name."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (ast.Name(id=value, ctx=ast.Load()),)
    return value if isinstance(value, tuple) else (value,)


def bound_identifiers(env: Bindings) -> dict[str, str]:
    """Return the holes that are bound to an identifier."""
    names = {hole: value.id if isinstance(value, ast.Name) else value for hole, value in env.items()}
    return {hole: name for hole, name in names.items() if isinstance(name, str)}


def same_holes(one: Bindings, other: Bindings) -> bool:
    """Whether two matches bind the same holes to the same code."""
    return one.keys() == other.keys() and all(same_binding(value, other[hole]) for hole, value in one.items())

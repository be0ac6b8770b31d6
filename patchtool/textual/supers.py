"""Calls of ``super`` in one spelling, where two mean the same."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def with_plain_super(body: Sequence[ast.stmt], owner: str) -> list[ast.stmt]:
    """Spell ``super(C, self)`` as ``super()`` in the methods of a class C whose first parameter is ``self``.

    Args:
        body: Statements; they are changed.
        owner: The class that they are members of; empty for those of a module.
    """
    spelled = _Spelled(owner)
    return [spelled.visit(statement) for statement in body]


class _Spelled(ast.NodeTransformer):
    """Knows the class whose method it is in, and the method's first parameter; neither anywhere else."""

    def __init__(self, owner: str) -> None:
        self._owner, self._first = owner, ""

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._inside(node, node.name, "")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self._inside(node, "", "")

    def visit_Call(self, node: ast.Call) -> ast.AST:
        names = [arg.id for arg in node.args if isinstance(arg, ast.Name)]
        own = self._first and names == [self._owner, self._first] and len(node.args) == len(names)
        if own and isinstance(node.func, ast.Name) and node.func.id == "super":
            node.args = []
        return self.generic_visit(node)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        parameters = [*node.args.posonlyargs, *node.args.args]
        is_method = self._owner and not self._first and parameters
        return self._inside(node, self._owner if is_method else "", parameters[0].arg if is_method else "")

    def _inside(self, node: ast.AST, owner: str, first: str) -> ast.AST:
        before = self._owner, self._first
        self._owner, self._first = owner, first
        self.generic_visit(node)
        self._owner, self._first = before
        return node

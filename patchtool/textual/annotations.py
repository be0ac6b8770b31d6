"""Annotations of types: the same type in two spellings, and code without its annotations."""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_MODULES = frozenset({"t", "typing", "collections.abc", "typing_extensions"})
_BUILTINS = frozenset({"List", "Dict", "Set", "FrozenSet", "Tuple", "Type"})


def plain(node: ast.expr) -> ast.expr:
    """Spell a type as Python 3.10 does: ``X | None`` for ``Optional[X]``, ``list`` for ``typing.List``, without quotes.

    Args:
        node: An annotation; it is not changed.
    """
    return _Plain().visit(copy.deepcopy(node))  # type: ignore[no-any-return]


class _Plain(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if not isinstance(node.value, str):
            return node
        try:
            return self.visit(ast.parse(node.value, mode="eval").body)  # type: ignore[no-any-return]
        except (SyntaxError, ValueError):
            return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name(node.id.lower() if node.id in _BUILTINS else node.id, ast.Load())

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self.visit_Name(ast.Name(node.attr, ast.Load())) if ast.unparse(node.value) in _MODULES else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        name = self.visit(node.value)
        if isinstance(name, ast.Name) and name.id == "Literal":
            return ast.Subscript(name, node.slice, ast.Load())
        inside = self.visit(node.slice)
        if not isinstance(name, ast.Name) or name.id not in {"Optional", "Union"}:
            return ast.Subscript(name, inside, ast.Load())
        options = list(inside.elts) if isinstance(inside, ast.Tuple) else [inside]
        options += [ast.Constant(None)] if name.id == "Optional" else []
        union = options[0]
        for option in options[1:]:
            union = ast.BinOp(union, ast.BitOr(), option)
        return union


def is_annotated(nodes: Sequence[ast.AST]) -> bool:
    """Tell whether code has an annotation."""
    return any(
        isinstance(node, ast.AnnAssign)
        or (isinstance(node, ast.arg) and node.annotation is not None)
        or (isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None)
        for top in nodes
        for node in ast.walk(top)
    )


def unannotated(node: ast.AST) -> ast.AST:
    """Return code without annotations; a declaration without a value stays.

    Args:
        node: It; it is not changed.
    """
    return _Unannotated().visit(copy.deepcopy(node))  # type: ignore[no-any-return]


class _Unannotated(ast.NodeTransformer):
    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        return node if node.value is None else ast.Assign([node.target], node.value)

"""Filling the holes of a template in LibCST's tree: how the result is written."""

# ruff: noqa: D102 -- the methods are LibCST's

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import libcst as cst

from patchtool.semantic.match import Bindings, Bound
from patchtool.semantic.place import bound_nodes
from patchtool.semantic.substitute import CannotFill
from patchtool.semantic.template import is_hole


class Filler(cst.CSTTransformer):
    """Fills holes in a parsed template; ``leave_Name`` also sees attributes, keywords and parameters."""

    def __init__(self, env: Bindings, rename: Mapping[str, str], kept: Mapping[int, Any]) -> None:
        super().__init__()
        self.env = env
        self.rename = rename
        self.kept = kept

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        if not is_hole(original_node.attr.value):  # a global's new name must not reach an attribute of that spelling
            return updated_node.with_changes(attr=original_node.attr)
        return updated_node

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        name = original_node.value
        if not is_hole(name):
            return updated_node.with_changes(value=self.rename.get(name, name))
        value = self.env.get(name)
        if isinstance(value, (tuple, ast.stmt)):  # a run: its argument or statement is replaced as a whole
            return updated_node
        return _expression(value, updated_node)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> Any:
        if original_node.keyword is not None:
            updated_node = updated_node.with_changes(keyword=original_node.keyword)
        rest = original_node.value
        if not original_node.star or not isinstance(rest, cst.Name) or not is_hole(rest.value):
            return updated_node
        parts = [_argument(part) for part in bound_nodes(self.env.get(rest.value))]
        if not parts:
            return cst.RemoveFromParent()
        return cst.FlattenSentinel([*parts[:-1], parts[-1].with_changes(comma=updated_node.comma)])

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        if len(updated_node.args) < len(original_node.args) and updated_node.args:
            last = updated_node.args[-1].with_changes(comma=original_node.args[-1].comma)
            return updated_node.with_changes(args=[*updated_node.args[:-1], last])
        return updated_node

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> Any:
        small = original_node.body[0]
        if not isinstance(small, cst.Expr):
            return updated_node
        value: Any = small.value
        run = isinstance(value, cst.StarredElement)
        name = value.value if run else value
        if not isinstance(name, cst.Name) or not is_hole(name.value):
            return updated_node
        bound: Bound | None = self.env.get(name.value)
        if not run and not isinstance(bound, ast.stmt):
            return updated_node
        nodes = [self.kept[id(statement)] for statement in bound_nodes(bound) if id(statement) in self.kept]
        if len(nodes) != len(bound_nodes(bound)):
            raise CannotFill("site-refused", "a carried statement shares its line with another")
        return cst.FlattenSentinel(nodes) if nodes else cst.RemoveFromParent()


def _expression(value: Bound | None, like: cst.Name) -> cst.BaseExpression:
    """A hole's code as an expression, in parentheses where its neighbours could bind tighter."""
    if isinstance(value, str):
        return like.with_changes(value=value)
    if not isinstance(value, ast.expr):
        raise CannotFill("hole-unbound", f"{like.value} stands for nothing here")
    if isinstance(value, ast.Name):
        return like.with_changes(value=value.id)
    text = ast.unparse(value)
    atomic = isinstance(value, (ast.Attribute, ast.Subscript, ast.Call, ast.Constant, ast.List, ast.Dict, ast.Set))
    negative = isinstance(value, ast.Constant) and isinstance(value.value, (int, float, complex))
    return cst.parse_expression(text if atomic and not negative else f"({text})")


def _argument(part: ast.AST) -> cst.Arg:
    if isinstance(part, ast.keyword):
        value = cst.parse_expression(ast.unparse(part.value))
        if part.arg is None:
            return cst.Arg(value, star="**")
        equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
        return cst.Arg(value, keyword=cst.Name(part.arg), equal=equal)
    if isinstance(part, ast.Starred):
        return cst.Arg(cst.parse_expression(ast.unparse(part.value)), star="*")
    return cst.Arg(cst.parse_expression(ast.unparse(part)))

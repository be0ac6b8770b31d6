"""Spellings that Python's own syntax and its built-in functions allow, and that a template cannot state."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping


def _mirrored(node: ast.Compare) -> ast.AST:
    """``0 <= x`` as ``x >= 0``."""
    other = _MIRROR.get(type(node.ops[0]))
    if len(node.ops) != 1 or other is None or not _is_number(node.left) or _is_number(node.comparators[0]):
        return node
    return ast.copy_location(ast.Compare(node.comparators[0], [other()], [node.left]), node)


_MIRROR: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
    ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
}


def _is_number(node: ast.AST) -> bool:
    inner = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
    return isinstance(inner, ast.Constant)


def _is_zero(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0 and not isinstance(node.value, bool)


def _call(node: ast.Call) -> ast.AST:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name == "arange":
        return _arange(node)
    return _setattr(node) if name == "setattr" else node


def _arange(node: ast.Call) -> ast.AST:
    """``arange(0, n, 1)`` and ``arange(end=n)`` as ``arange(n)``."""
    named = {k.arg: k.value for k in node.keywords}
    bounds = [*node.args, *(named[word] for word in ("start", "end", "step") if word in named)]
    if len(bounds) == 3 and isinstance(bounds[2], ast.Constant) and bounds[2].value == 1:
        bounds.pop()
    if len(bounds) == 2 and "step" not in named and _is_zero(bounds[0]):
        bounds.pop(0)
    left = [k for k in node.keywords if k.arg not in ("start", "end", "step")]
    left = [k for k in left if not (k.arg == "requires_grad" and _is_zero_or_false(k.value))]
    if len(bounds) != 1 or (len(left) == len(node.keywords) and len(node.args) == 1):
        return node
    return ast.copy_location(ast.Call(node.func, bounds, left), node)


def _is_zero_or_false(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and not node.value


def _setattr(node: ast.Call) -> ast.AST:
    """``setattr(x, "name", value)`` as ``x.name = value``."""
    if len(node.args) != 3 or node.keywords or not isinstance(node.args[1], ast.Constant):
        return node
    name = node.args[1].value
    if not isinstance(name, str) or not name.isidentifier():
        return node
    target = ast.copy_location(ast.Attribute(node.args[0], name, ast.Store()), node)
    return ast.copy_location(ast.Assign([target], node.args[2]), node)


def _assign(node: ast.Assign) -> ast.AST:
    """``x[a:b] = value`` as ``x[a:b].copy_(value)``: what a slice selects is a view."""
    target = node.targets[0]
    if len(node.targets) != 1 or not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Slice):
        inner = target.slice if isinstance(target, ast.Subscript) else None
        if len(node.targets) != 1 or not (isinstance(inner, ast.Constant) and inner.value is Ellipsis):
            return node
    func = ast.copy_location(ast.Attribute(target, "copy_", ast.Load()), node)
    return ast.copy_location(ast.Expr(ast.copy_location(ast.Call(func, [node.value], []), node)), node)


def _annotated(node: ast.AnnAssign) -> ast.AST:
    return node if node.value is None else ast.copy_location(ast.Assign([node.target], node.value), node)


def _subscript(node: ast.Subscript) -> ast.AST:
    """``x[0:]`` and ``x[...]`` as ``x[:]``; ``x[:, i, ...]`` as ``x[:, i]``."""
    index = node.slice
    if isinstance(index, ast.Slice):
        if not _is_zero(index.lower):
            return node
        new: ast.expr = ast.Slice(None, index.upper, index.step)
    elif isinstance(index, ast.Constant) and index.value is Ellipsis:
        new = ast.Slice()
    elif isinstance(index, ast.Tuple) and len(index.elts) > 1 and _is_everything(index.elts[-1]):
        rest = index.elts[:-1]
        new = rest[0] if len(rest) == 1 else ast.copy_location(ast.Tuple(rest, ast.Load()), index)
    else:
        return node
    return ast.copy_location(ast.Subscript(node.value, ast.copy_location(new, index), node.ctx), node)


def _is_everything(index: ast.expr) -> bool:
    if isinstance(index, ast.Slice):
        return index.lower is index.upper is index.step is None
    return isinstance(index, ast.Constant) and index.value is Ellipsis


def _negated(node: ast.UnaryOp) -> ast.AST:
    """``not not x`` as ``x``."""
    inner = node.operand
    double = isinstance(node.op, ast.Not) and isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.Not)
    return inner.operand if double and isinstance(inner, ast.UnaryOp) else node


def _walrus(node: ast.NamedExpr) -> ast.AST:
    return node.value


SYNTAX: Mapping[type[ast.AST], Callable[..., ast.AST]] = {
    ast.Call: _call,
    ast.Compare: _mirrored,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.Subscript: _subscript,
    ast.UnaryOp: _negated,
    ast.NamedExpr: _walrus,
}
"""Returns a node in the general spelling by its kind: the node itself where it is in that."""

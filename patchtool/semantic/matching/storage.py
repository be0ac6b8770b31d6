"""Which values share their storage, so that a change of one in place is a change of the other."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping

Environment = Mapping[str, "ast.expr | None"]
"""The value of each name that is certainly assigned."""
Helpers = Callable[[ast.Call], "list[ast.expr]"]
"""Returns the arguments of a call that the called function changes in place, as far as this file shows."""

_VIEWS = frozenset({"T", "mT", "H", "mH", "data", "real", "imag"})
_VIEW_CALLS = frozenset(
    {"view", "view_as", "reshape", "reshape_as", "transpose", "t", "permute", "swapaxes", "swapdims", "movedim"}
    | {"squeeze", "unsqueeze", "flatten", "unflatten", "ravel", "expand", "expand_as", "narrow", "select", "diagonal"}
    | {"contiguous", "to", "type", "type_as", "long", "int", "float", "half", "bfloat16", "cpu", "cuda", "npu", "numpy"}
    | {"detach", "alias", "as_strided", "unbind", "split", "chunk", "tensor_split", "as_tensor", "from_numpy"}
)
"""Calls whose result may be a view of their operand."""
_MODULES = frozenset({"torch", "np", "numpy", "F"})
_CONTAINERS = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.IfExp, ast.Starred, ast.BoolOp)


def storage(code: ast.AST, env: Environment, *, written: bool = False) -> list[ast.AST]:
    """Return what an expression is a view of, as values; a list or a choice has several.

    Args:
        code: An expression.
        env: The values of local names; empty for an expression that is a value.
        written: Whether the expression is changed, so that any method of a local name may return a view.
    """
    while True:
        operand = _operand(code, env, written)
        if operand is not None:
            code = operand
        elif isinstance(code, _CONTAINERS):
            parts = [child for child in ast.iter_child_nodes(code) if isinstance(child, ast.expr)]
            return [root for part in parts for root in storage(part, env, written=written)]
        else:
            value = env.get(code.id) if isinstance(code, ast.Name) else None
            return [code] if value is None else storage(value, {})


def _operand(code: ast.AST, env: Environment, written: bool) -> ast.expr | None:
    """What an expression is directly a view of, or None."""
    if isinstance(code, (ast.Subscript, ast.NamedExpr)):
        return code.value
    if isinstance(code, ast.Attribute):
        return code.value if code.attr in _VIEWS else None
    if not isinstance(code, ast.Call):
        return None
    name = code.func.attr if isinstance(code.func, ast.Attribute) else getattr(code.func, "id", "")
    views = name in _VIEW_CALLS or (name.endswith("_") and not name.endswith("__"))
    receiver = code.func.value if isinstance(code.func, ast.Attribute) else None
    if receiver is None or (isinstance(receiver, ast.Name) and receiver.id in _MODULES):
        return code.args[0] if views and code.args else None
    local = isinstance(_receiver(receiver), ast.Name) and getattr(_receiver(receiver), "id", "") in env
    return receiver if views or (written and local) else None


def _receiver(code: ast.AST) -> ast.AST:
    while isinstance(code, ast.Subscript) or (isinstance(code, ast.Call) and isinstance(code.func, ast.Attribute)):
        code = code.value if isinstance(code, ast.Subscript) else code.func.value  # type: ignore[attr-defined]
    return code


def is_attribute(value: ast.expr | None) -> bool:
    """Whether a value is an attribute, or an element of one."""
    while isinstance(value, ast.Subscript):
        value = value.value
    return isinstance(value, ast.Attribute)


CHANGING = (ast.Subscript, ast.AugAssign, ast.Call)
"""Kinds of nodes that `changed_in_place` finds anything in."""


def changed_in_place(node: ast.AST, env: Environment, helpers: Helpers) -> Iterator[ast.AST]:
    """Yield the expressions whose value a node changes in place."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, (ast.Store, ast.Del)):
        yield node.value
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield ast.Name(node.target.id, ast.Load())
    elif isinstance(node, ast.Call):
        yield from (k.value for k in node.keywords if k.arg == "out")
        yield from helpers(node)
        in_place = any(k.arg == "inplace" for k in node.keywords)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if in_place or name in ("__setitem__", "copyto") or (name.endswith("_") and not name.endswith("__")):
            receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
            if receiver is not None and not (isinstance(receiver, ast.Name) and receiver.id not in env):
                yield receiver
            elif node.args:
                yield node.args[0]

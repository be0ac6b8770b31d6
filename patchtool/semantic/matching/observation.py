"""Code that only looks: it logs or asserts, and changes nothing that other code could see."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from patchtool.semantic.language.nodes import children, walk

_LOGGERS = frozenset({"logger", "logging", "log", "_logger", "LOG", "LOGGER", "warnings", "rank0_log", "print"})
_LEVELS = frozenset(
    {"debug", "info", "warning", "warn", "error", "critical", "exception", "log", "print", "isEnabledFor"}
    | {"debug_once", "info_once", "warning_once"}
)
_PURE = frozenset(
    {"len", "isinstance", "type", "repr", "str", "int", "bool", "float", "tuple", "list", "min", "max", "sum", "abs"}
    | {"numel", "nelement", "size", "dim", "any", "all", "item", "tolist", "is_contiguous", "is_floating_point"}
    | {"to", "long", "cpu", "detach", "getattr", "hasattr", "id", "shape", "unique", "count_nonzero", "equal"}
    | {"eq", "ne", "ge", "gt", "le", "lt", "nonzero", "where", "index_select", "masked_select", "squeeze", "flatten"}
    | {"view", "reshape", "transpose", "contiguous", "arange", "clone"}
)
"""Calls that change nothing, by name."""
_EFFECTS = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)


def is_pure(node: ast.AST) -> bool:
    """Whether an expression certainly changes nothing."""
    return not any(isinstance(n, _EFFECTS) or (isinstance(n, ast.Call) and _callee(n) not in _PURE) for n in walk(node))


def only_looks(statement: ast.stmt) -> bool:
    """Whether a statement only logs or asserts, under any conditions that only look."""
    if isinstance(statement, ast.Assert):
        return is_pure(statement)
    if isinstance(statement, ast.Expr):
        call = statement.value
        if isinstance(call, ast.Call) and _is_logging(call):
            return all(is_pure(child) for child in children(call) if child is not call.func)
        return isinstance(call, ast.Constant)
    if isinstance(statement, ast.If):
        looks = is_pure(statement.test) or (isinstance(statement.test, ast.Call) and _is_logging(statement.test))
        return looks and all(only_looks(inner) for inner in (*statement.body, *statement.orelse))
    return isinstance(statement, ast.Pass)


def looked_at(body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """Yield every node of the statements of a block, nested ones too, that only look."""
    for statement in body:
        if only_looks(statement):
            yield from walk(statement)
        else:
            for field in ("body", "orelse", "finalbody"):
                yield from looked_at(getattr(statement, field, None) or ())


def _is_logging(call: ast.Call) -> bool:
    if isinstance(call.func, ast.Name):
        return call.func.id == "print"
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
    return isinstance(call.func, ast.Attribute) and call.func.attr in _LEVELS and name in _LOGGERS


def _callee(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")

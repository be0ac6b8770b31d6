"""Whether a tensor has one entry for each request, in the order of the batch: neither filtered nor permuted."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from enum import Enum

from patchtool.semantic.language.nodes import walk
from patchtool.semantic.matching.unify import same

_ELEMENTWISE = frozenset(
    {"to", "long", "int", "type", "clone", "contiguous", "detach", "cpu", "cuda", "npu", "as_tensor", "where"}
    | {"flatten", "ravel", "view", "reshape", "squeeze", "clamp", "clamp_min", "clamp_max", "sub", "add", "mul", "abs"}
    | {"minimum", "maximum", "zeros_like", "ones_like", "full_like", "remainder", "div", "floor_divide"}
)
"""Calls that leave each entry in its place."""
_REORDERING = frozenset(
    {"sort", "argsort", "msort", "flip", "flipud", "fliplr", "rot90", "roll", "masked_select", "index_select", "gather"}
    | {"take", "take_along_dim", "unique", "unique_consecutive", "nonzero", "argwhere", "topk", "randperm", "narrow"}
    | {"repeat", "repeat_interleave", "compress", "sorted", "reversed", "filter", "shuffle", "permute", "cat", "stack"}
    | {
        "split",
        "chunk",
        "tensor_split",
        "unbind",
        "scatter",
        "index_copy",
        "pad",
        "tile",
        "delete",
        "choose",
        "extract",
    }
)


class Rows(Enum):
    """Which requests a tensor has entries for."""

    ALL = "all"
    FIRST = "the first ones"
    """As many as some number says that is not the length of another such tensor."""
    UNKNOWN = "unknown"


def rows_of(value: ast.AST, aligned: Sequence[ast.AST]) -> Rows:
    """Return which requests a value has entries for.

    Args:
        value: The value of a tensor.
        aligned: Values that code pairs with it entry by entry.
    """
    for node in walk(value):
        name = _callee(node) if isinstance(node, ast.Call) else ""
        if name in _REORDERING or (isinstance(node, ast.Name) and "\0" in node.id):
            return Rows.UNKNOWN
    return _rows(value, aligned)


def _rows(value: ast.AST, aligned: Sequence[ast.AST]) -> Rows:
    if isinstance(value, ast.Subscript):
        return _least(_rows(value.value, aligned), _selected(value.slice, aligned))
    if isinstance(value, (ast.Name, ast.Attribute, ast.Constant)):
        return Rows.ALL
    if isinstance(value, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp)):
        parts = [n for n in ast.iter_child_nodes(value) if isinstance(n, ast.expr)]
        return _least(*(_rows(part, aligned) for part in parts))
    return _call_rows(value, aligned) if isinstance(value, ast.Call) else Rows.UNKNOWN


def _call_rows(call: ast.Call, aligned: Sequence[ast.AST]) -> Rows:
    name = _callee(call)
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    if name == "arange":
        keywords = {keyword.arg: keyword.value for keyword in call.keywords}
        bounds = [*call.args, *(keywords[key] for key in ("start", "end", "step") if key in keywords)]
        ends = bounds[1:] if len(bounds) == 2 and _is_constant(bounds[0], 0) else bounds
        return _counted(ends[0], aligned) if len(ends) == 1 else Rows.UNKNOWN
    if name in _ELEMENTWISE:
        module = receiver is None or (isinstance(receiver, ast.Name) and receiver.id in ("torch", "np"))
        operands = call.args if module else [receiver]
        return _least(*(_rows(node, aligned) for node in operands if node is not None))
    own = isinstance(receiver, ast.Name) and receiver.id == "self"
    if (receiver is None and call.args) or (own and not all(isinstance(a, ast.Name) for a in call.args)):
        return Rows.UNKNOWN
    arguments = [node for argument in (*call.args, *call.keywords) for node in walk(argument)]
    of_rows = [*arguments, *([] if receiver is None else walk(receiver))]
    return Rows.UNKNOWN if any(same(node, other) for node in of_rows for other in aligned) else Rows.ALL


def _selected(index: ast.expr, aligned: Sequence[ast.AST]) -> Rows:
    """What an index keeps of a tensor: everything, the first entries, or an unknown choice."""
    if isinstance(index, ast.Slice):
        from_start = index.lower is None or _is_constant(index.lower, 0)
        if not from_start or not (index.step is None or _is_constant(index.step, 1)):
            return Rows.UNKNOWN
        return Rows.ALL if index.upper is None else _counted(index.upper, aligned)
    parts = [index.left, index.right] if isinstance(index, ast.BinOp) else [index]
    number = any(isinstance(part, ast.Constant) and isinstance(part.value, int) for part in parts)
    return Rows.ALL if number or isinstance(index, ast.UnaryOp) else Rows.UNKNOWN  # an element of a list of tensors


def _counted(number: ast.expr, aligned: Sequence[ast.AST]) -> Rows:
    """The rows that a tensor of a given length has entries for."""
    if isinstance(number, ast.UnaryOp):
        return Rows.UNKNOWN
    tensor: ast.AST | None = None
    if isinstance(number, ast.Call) and _callee(number) in ("len", "numel", "size"):
        own = number.func.value if isinstance(number.func, ast.Attribute) else None
        tensor = own if own is not None else next(iter(number.args), None)
    elif isinstance(number, ast.Subscript) and _is_constant(number.slice, 0):
        shape = number.value
        tensor = shape.value if isinstance(shape, ast.Attribute) and shape.attr == "shape" else None
    return Rows.FIRST if tensor is None else _rows(tensor, aligned)


def _least(*rows: Rows) -> Rows:
    return Rows.UNKNOWN if Rows.UNKNOWN in rows else Rows.FIRST if Rows.FIRST in rows else Rows.ALL


def _callee(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _is_constant(node: ast.AST, value: int) -> bool:
    return isinstance(node, ast.Constant) and node.value == value and not isinstance(node.value, bool)

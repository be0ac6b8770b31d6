"""The shape of Python code: what two spellings of the same code have in common."""

from __future__ import annotations

import ast
import inspect
import re
from typing import TYPE_CHECKING, Any

from patchtool.textual.annotations import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

Shape = Any
"""Nested tuples of strings; equal for code that differs in white space, quotes, parentheses, trailing commas, comments,
documentation, in how a string is formatted, or in how a type is spelled."""

_SKIPPED = frozenset({"ctx", "type_comment", "kind", "type_params"})
_TYPES = frozenset({"annotation", "returns"})
_BLOCKS = frozenset({"body", "orelse", "finalbody", "handlers", "cases"})
_PERCENT = re.compile(r"%(?:%|[sr])|%")
_BRACES = re.compile(r"\{\{|\}\}|\{\}|[{}]")


def shape(node: ast.AST, names: dict[str, str] | None = None) -> Shape:
    """Tell the shape of a whole piece of code, blocks included.

    Args:
        node: A statement, an expression or a module.
        names: Other names for names that are read or written, such as those of renamed local variables.

    Returns:
        Its shape.
    """
    if isinstance(node, ast.Name):
        return ("Name", names.get(node.id, node.id) if names else node.id)
    if isinstance(node, ast.Constant):
        return ("Constant", type(node.value).__name__, repr(node.value))
    formatted = _formatted(node)
    if formatted is not None:
        return _joined(formatted, names)
    parts: list[Shape] = [type(node).__name__]
    parts += [_part(_field(node, f), names) for f in node._fields if f not in _SKIPPED]
    if names and isinstance(node, ast.arg):
        parts[1] = names.get(node.arg, node.arg)
    return tuple(parts)


def _part(value: object, names: dict[str, str] | None) -> Shape:
    if isinstance(value, ast.AST):
        return shape(value, names)
    if isinstance(value, list):
        return tuple(_part(element, names) for element in value)
    return repr(value)


def _field(node: ast.AST, field: str) -> object:
    """A field of a node, without documentation, and with types in one spelling."""
    value = getattr(node, field, None)
    if field in _TYPES and isinstance(value, ast.expr):
        return plain(value)
    if field == "body" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
        return [s for i, s in enumerate(node.body) if i or not is_documentation(s)] or [ast.Pass()]
    return value


def header_shape(node: ast.AST, names: dict[str, str] | None = None) -> Shape:
    """Tell the shape of the header of a compound statement, its blocks left out."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        fields = [f for f in node._fields if f not in _SKIPPED | {"body"}]
        return (type(node).__name__, *(_part(_field(node, f), names) for f in fields))
    if not any(hasattr(node, field) for field in _BLOCKS) or isinstance(node, ast.expr):
        return shape(node, names)
    fields = [f for f in node._fields if f not in _SKIPPED | _BLOCKS]
    return (type(node).__name__, *(_part(getattr(node, f, None), names) for f in fields))


def nodes_of(roots: Iterable[ast.AST]) -> list[ast.AST]:
    """List all nodes under some, in the order of ``ast.walk``, at a fraction of its time."""
    found = list(roots)
    for node in found:  # which grows
        for value in node.__dict__.values():
            if isinstance(value, list):
                found += [each for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                found.append(value)
    return found


def is_documentation(node: ast.AST) -> bool:
    """Tell whether a statement is a string that stands alone."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def documentation_shape(node: object) -> Shape:
    """Tell the shape of a docstring: its text without indentation."""
    value = node.value.value if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) else ""
    return ("doc", inspect.cleandoc(str(value)))


def _formatted(node: ast.AST) -> list[str | tuple[ast.expr, str]] | None:
    """Split a formatted string into texts and values with their conversion; None for anything else."""
    if isinstance(node, ast.JoinedStr):
        return _f_string(node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and (text := _text(node.left)) is not None:
        if isinstance(node.right, ast.Dict | ast.Starred):
            return None
        values = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
        return _filled(text, _PERCENT, values, {"%s": "s", "%r": "r", "%%": "%"})
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "format":
        return None
    if node.keywords or (text := _text(node.func.value)) is None:
        return None
    return _filled(text, _BRACES, node.args, {"{}": "s", "{{": "{", "}}": "}"})


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _f_string(node: ast.JoinedStr) -> list[str | tuple[ast.expr, str]] | None:
    parts: list[str | tuple[ast.expr, str]] = []
    for value in node.values:
        if isinstance(value, ast.Constant):
            parts.append(str(value.value))
        elif isinstance(value, ast.FormattedValue) and value.format_spec is None and value.conversion in {-1, 115, 114}:
            parts.append((value.value, "r" if value.conversion == 114 else "s"))
        else:
            return None
    return parts


def _filled(
    text: str, pattern: re.Pattern[str], values: list[ast.expr], meaning: dict[str, str]
) -> list[str | tuple[ast.expr, str]] | None:
    parts, at, rest = list[str | tuple[ast.expr, str]](), 0, list(values)
    for found in pattern.finditer(text):
        means = meaning.get(found.group())
        parts.append(text[at : found.start()])
        at = found.end()
        if means is None or (means in {"s", "r"} and (not rest or isinstance(rest[0], ast.Starred))):
            return None
        parts.append((rest.pop(0), means) if means in {"s", "r"} else means)
    return None if rest else [*parts, text[at:]]


def _joined(parts: list[str | tuple[ast.expr, str]], names: dict[str, str] | None) -> Shape:
    out: list[Shape] = ["Format"]
    text = ""
    for part in [*parts, None]:
        if isinstance(part, str):
            text += part
            continue
        if text:
            out.append(text)
        text = ""
        if part is not None:
            out.append((part[1], shape(part[0], names)))
    return tuple(out)

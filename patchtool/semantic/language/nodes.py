"""Walking the stdlib tree, without the nodes that only say how a name is used or which operator stands there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_MARKS = frozenset({"ctx", "op", "ops", "type_comment", "type_ignores", "kind", "lineno"})
# Fields that never hold a node; most nodes of a tree are names and have no others.
_WORDS = frozenset({"id", "attr", "arg", "asname", "module", "level", "simple", "conversion", "rest", "is_async"})
_FIELDS: dict[type, tuple[str, ...]] = {}


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below one, in the order of its fields."""
    kind = type(node)
    fields = _FIELDS.get(kind)
    if fields is None:
        fields = _FIELDS[kind] = tuple(name for name in kind._fields if name not in _MARKS | _WORDS)
    found: list[ast.AST] = []
    for field in fields:
        value = getattr(node, field, None)
        if isinstance(value, ast.AST):
            found.append(value)
        elif value.__class__ is list:
            found += [item for item in value if isinstance(item, ast.AST)]
    return found


def walk(root: ast.AST) -> Iterator[ast.AST]:
    """A node and every one below it, in the order of the fields."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack += reversed(children(node))

"""Walking stdlib syntax trees, without the nodes for load or store context and for operators."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache

NESTED_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

_SKIPPED = frozenset({"ctx", "op", "ops", "type_comment", "type_ignores", "kind", "lineno"})
# Fields that never hold a node; most nodes of a tree are names and have no other field.
_PLAIN = frozenset({"id", "attr", "arg", "asname", "module", "level", "simple", "conversion", "rest", "is_async"})


@cache
def _node_fields(fields: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in fields if name not in _SKIPPED | _PLAIN)


def children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes directly below one, in the order of its fields."""
    nodes: list[ast.AST] = []
    for field in _node_fields(node._fields):
        value = getattr(node, field, None)
        if isinstance(value, ast.AST):
            nodes.append(value)
        elif value.__class__ is list:
            nodes += [item for item in value if isinstance(item, ast.AST)]
    return nodes


def walk(root: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all nodes below it, depth first in the order of the fields."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack += reversed(children(node))


def walk_scope(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield every node of the same scope; of nested functions, lambdas and classes only the definition itself."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, NESTED_SCOPES):
            stack += children(node)


def walk_nested(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield every node inside nested functions, lambdas and classes: they run later, or not at all."""
    for node in walk_scope(nodes):
        if isinstance(node, NESTED_SCOPES):
            yield from walk(node)

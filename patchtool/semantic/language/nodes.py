"""Walking stdlib syntax trees, without the nodes for load or store context and for operators."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

NESTED_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

_SKIPPED = frozenset({"ctx", "op", "ops", "type_comment", "type_ignores", "kind", "lineno"})
# Fields that never hold a node; most nodes of a tree are names and have no other field.
_PLAIN = frozenset({"id", "attr", "arg", "asname", "module", "level", "simple", "conversion", "rest", "is_async"})


class _NodeFields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of each class of nodes that can hold nodes, last one first."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        self[kind] = tuple(name for name in reversed(kind._fields) if name not in _SKIPPED | _PLAIN)
        return self[kind]


_NODE_FIELDS = _NodeFields()


def _push_children(node: ast.AST, stack: list[ast.AST]) -> None:
    """Put the nodes directly below one on a stack, the first of them on top; a tenth of a judgement is spent here."""
    for field in _NODE_FIELDS[node.__class__]:
        value = getattr(node, field, None)
        if value.__class__ is list:
            stack += [item for item in reversed(value) if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            stack.append(value)


def children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes directly below one, in the order of its fields."""
    nodes: list[ast.AST] = []
    _push_children(node, nodes)
    nodes.reverse()
    return nodes


def walk(root: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all nodes below it, depth first in the order of the fields."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        _push_children(node, stack)


def walk_scope(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield every node of the same scope; of nested functions, lambdas and classes only the definition itself."""
    stack = [*nodes][::-1]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, NESTED_SCOPES):
            _push_children(node, stack)


def walk_nested(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield every node inside nested functions, lambdas and classes: they run later, or not at all."""
    for node in walk_scope(nodes):
        if isinstance(node, NESTED_SCOPES):
            yield from walk(node)

"""Which names a piece of code reads and binds."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from patchtool.semantic.scopes import Function, parameters
from patchtool.semantic.source import binds

NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def own_nodes(root: ast.AST) -> Iterator[ast.AST]:
    """Every node that runs together with this one, nested functions, lambdas and classes left out."""
    stack: list[ast.AST] = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, NESTED))


def nested_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """Every node inside a function that runs at another time, if at all: in nested functions, lambdas and classes."""
    for node in own_nodes(function):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, NESTED):
                yield from ast.walk(child)


def reads(nodes: Iterable[ast.AST], name: str) -> list[ast.Name]:
    """Where a name is read, nested functions included: a closure may read it too."""
    return [
        found
        for node in nodes
        for found in ast.walk(node)
        if isinstance(found, ast.Name) and found.id == name and isinstance(found.ctx, ast.Load)
    ]


def stores(nodes: Iterable[ast.AST], name: str) -> list[ast.AST]:
    """Where a name is bound or deleted, nested functions included: ``nonlocal`` could reach it."""
    return [found for node in nodes for found in ast.walk(node) if name in binds(found)]


def stored_in(nodes: Iterable[ast.AST]) -> set[str]:
    """Names that code binds or deletes in its own scope."""
    return {name for node in nodes for own in _with_definition(node) for name in binds(own)}


def _with_definition(node: ast.AST) -> Iterator[ast.AST]:
    """The node's own nodes, and the nested definitions among them for their names."""
    for own in own_nodes(node):
        yield own
        for child in ast.iter_child_nodes(own):
            if isinstance(child, NESTED):
                yield child


def locals_of(function: Function) -> frozenset[str]:
    """Every name that is local to a function: its parameters and all that its own code binds."""
    shared = {
        name for node in own_nodes(function) if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names
    }
    return frozenset((set(parameters(function)) | stored_in(function.body)) - shared)


def shared_names(function: Function) -> frozenset[str]:
    """Names that other code may bind while the function runs: declared global, or nonlocal in a nested function."""
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            found |= set(node.names)
    return frozenset(found)

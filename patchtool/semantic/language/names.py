"""Which names a piece of code reads and binds."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from patchtool.semantic.language.nodes import children, walk
from patchtool.semantic.language.scopes import Function, parameters
from patchtool.semantic.language.source import binds

NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def running(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Every node that runs together with these; of nested functions, lambdas and classes only the definition itself."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, NESTED):
            stack += children(node)


def nested_nodes(function: Function) -> Iterator[ast.AST]:
    """Every node inside a function that runs at another time, if at all: in nested functions, lambdas and classes."""
    for node in running(function.body):
        if isinstance(node, NESTED):
            yield from walk(node)


def reads(nodes: Iterable[ast.AST], name: str) -> list[ast.Name]:
    """Where a name is read, nested functions included: a closure may read it too."""
    return [
        found
        for node in nodes
        for found in walk(node)
        if isinstance(found, ast.Name) and found.id == name and isinstance(found.ctx, ast.Load)
    ]


def stores(nodes: Iterable[ast.AST], name: str) -> list[ast.AST]:
    """Where a name is bound or deleted, nested functions included: ``nonlocal`` could reach it."""
    return [found for node in nodes for found in walk(node) if name in binds(found)]


def stored_in(nodes: Iterable[ast.AST]) -> set[str]:
    """Names that code binds or deletes in its own scope."""
    found: set[str] = set()
    for node in running(nodes):
        found.update(binds(node))
    return found


def locals_of(function: Function) -> frozenset[str]:
    """Every name that is local to a function: its parameters and all that its own code binds."""
    shared: set[str] = set()
    for node in running(function.body):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            shared.update(node.names)
    return frozenset((set(parameters(function)) | stored_in(function.body)) - shared)


def shared_names(function: Function) -> frozenset[str]:
    """Names that other code may bind while the function runs: declared global, or nonlocal in a nested function."""
    found: set[str] = set()
    for node in walk(function):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            found |= set(node.names)
    return frozenset(found)

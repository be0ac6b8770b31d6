"""Which names code reads, binds and shares with other scopes."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from patchtool.semantic.language.nodes import walk, walk_scope
from patchtool.semantic.language.scopes import Function, parameters
from patchtool.semantic.language.source import direct_bindings


def reads(nodes: Iterable[ast.AST], name: str) -> list[ast.Name]:
    """List the reads of a name, also those in nested functions: a closure may read it."""
    return [
        node
        for root in nodes
        for node in walk(root)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ]


def stores(nodes: Iterable[ast.AST], name: str) -> list[ast.AST]:
    """List the nodes that bind or delete a name, also in nested functions: ``nonlocal`` could reach it."""
    return [node for root in nodes for node in walk(root) if name in direct_bindings(node)]


def assigned_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Names that code binds or deletes in its own scope; variables of comprehensions count too."""
    return {name for node in walk_scope(nodes) for name in direct_bindings(node)}


def local_names_of(function: Function) -> frozenset[str]:
    """Names that are local to a function: its parameters and all that its own code binds."""
    outer = declared_outer(walk_scope(function.body))
    return frozenset((set(parameters(function)) | assigned_names(function.body)) - outer)


def global_names_of(function: Function) -> frozenset[str]:
    """Names that a function declares to be the module's."""
    return frozenset(n for node in walk_scope(function.body) if isinstance(node, ast.Global) for n in node.names)


def shared_names(function: Function) -> frozenset[str]:
    """Names that other code may bind while the function runs: global, or nonlocal in a nested function."""
    return declared_outer(walk(function))


def declared_outer(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Names that the nodes themselves declare global or nonlocal."""
    return frozenset(n for node in nodes if isinstance(node, (ast.Global, ast.Nonlocal)) for n in node.names)

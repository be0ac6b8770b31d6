"""The names that code reads, and those that a function binds."""

from __future__ import annotations

import ast
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from patchtool.textual.chunks import KEPT

if TYPE_CHECKING:
    from patchtool.textual.items import Item

HEADERS = frozenset({"If", "elif", "else", "For", "AsyncFor", "While", "With", "AsyncWith", "Try", "except", "finally"})
"""Forms of items that are the header of a block."""


def read_names(item: Item) -> set[str]:
    """Tell which names a statement, or the header of a block, reads itself."""
    found: set[str] = set()
    stack: list[ast.AST] = [*item.nodes_only]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.add(node.id)
        if isinstance(node, ast.stmt) or node in item.nodes:
            blocks = ("body", "orelse", "finalbody", "handlers", "cases") if item.form in HEADERS else ()
            stack += [v for f, value in ast.iter_fields(node) if f not in blocks for v in _nodes(value)]
        elif not isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            stack += ast.iter_child_nodes(node)
    return found


def _nodes(value: object) -> list[ast.AST]:
    return [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, ast.AST)]


def _children(node: ast.AST) -> list[ast.AST]:
    return [each for value in node.__dict__.values() for each in _nodes(value)]


class LocalNames:
    """The names that a function binds.

    Args:
        function: Its syntax node.

    Attributes:
        stores: How often it binds each.
        local: Those that are its own.
    """

    def __init__(self, function: ast.AST) -> None:
        self.stores: Counter[str] = Counter()
        outer: set[str] = set()
        stack = _children(function)
        while stack:
            node = stack.pop()
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                self.stores[node.id] += 1
            elif isinstance(node, ast.arg):
                self.stores[node.arg] += 1
            elif isinstance(node, ast.alias):
                self.stores[node.asname or node.name.partition(".")[0]] += 1
            elif isinstance(node, ast.ExceptHandler) and node.name:
                self.stores[node.name] += 1
            elif isinstance(node, ast.Global | ast.Nonlocal):
                outer.update(node.names)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self.stores[node.name] += 1
            elif not isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
                stack += _children(node)
        self.local = {*self.stores} - outer


@lru_cache(maxsize=KEPT)
def local_names(function: ast.AST) -> LocalNames:
    """Tell the names that a function binds; a function that is in several files is read once."""
    return LocalNames(function)

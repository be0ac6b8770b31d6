"""Functions of the same file that a function calls: what they change in place is changed for the caller too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.scopes import Scope, ScopeNode, local_mro
from patchtool.semantic.language.source import Source
from patchtool.semantic.matching.flow import DataFlow


class Helpers(NamedTuple):
    """The functions that code of one class can call by name.

    Args:
        source: The file.
        owner: The class; None for a function outside of classes.
    """

    source: Source
    owner: ast.ClassDef | None

    def changed_arguments(self, call: ast.Call) -> list[ast.expr]:
        """Return the arguments of a call that the called function changes in place."""
        function = self._definition(call)
        if function is None:
            return []
        spec = function.args
        names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
        static = any(getattr(d, "id", "") == "staticmethod" for d in function.decorator_list)
        skipped = 1 if isinstance(call.func, ast.Attribute) and not static else 0
        given = [*zip(names[skipped:], call.args), *((k.arg or "", k.value) for k in call.keywords)]
        changed = self._changed_parameters(function)
        return [value for name, value in given if name in changed]

    def _changed_parameters(self, function: ast.FunctionDef) -> set[str]:
        cache = self.source.changed_parameters
        if id(function) not in cache:
            cache[id(function)] = set()  # for a recursive call
            changed = DataFlow(function, self.changed_arguments).changed
            cache[id(function)] = {root.id for root in changed if isinstance(root, ast.Name)}
        return cache[id(function)]

    def called(self, scope: Scope) -> list[Scope]:
        """Return the functions that a scope calls, directly or through others of them, without itself."""
        found: dict[int, Scope] = {}
        pending: list[ScopeNode] = [scope.node]
        while pending:
            for function in self._callees(pending.pop()):
                if id(function) not in found and function is not scope.node:
                    owners: list[ScopeNode] = [self.source.tree, *([self.owner] if self.owner else [])]
                    found[id(function)] = Scope(function.name, function, tuple(owners))
                    pending.append(function)
        return list(found.values())

    def _callees(self, node: ScopeNode) -> Iterator[ast.FunctionDef]:
        for statement in node.body:
            for child in walk(statement):
                function = self._definition(child) if isinstance(child, ast.Call) else None
                if function is not None:
                    yield function

    def _definition(self, call: ast.Call) -> ast.FunctionDef | None:
        """The function of this file that ``self.f()``, ``super().f()``, ``Class.f()`` or ``f()`` calls, or None."""
        bodies: list[list[ast.stmt]] = []
        if isinstance(call.func, ast.Name):
            name, bodies = call.func.id, [self.source.tree.body]
        elif isinstance(call.func, ast.Attribute) and self.owner is not None:
            receiver, name = call.func.value, call.func.attr
            base = isinstance(receiver, ast.Call) and getattr(receiver.func, "id", "") == "super"
            own = isinstance(receiver, ast.Name) and receiver.id in ("self", "cls", self.owner.name)
            order = local_mro(self.source.tree, self.owner)
            bodies = [definition.body for definition in order[base:]] if base or own else []
        for body in bodies:
            for statement in body:
                if isinstance(statement, ast.FunctionDef) and statement.name == name:
                    return statement
        return None

"""Functions of the same file that a function calls: what they change in place is changed for the caller too."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cached_property

from patchtool.semantic.language.inheritance import local_mro
from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.scopes import Scope, ScopeNode, parameters
from patchtool.semantic.language.source import Source
from patchtool.semantic.matching.flow import DataFlow, TooLargeError


class Helpers:
    """The functions that code of one class can call by name.

    Args:
        source: The file.
        owner: The class; None for a function outside of classes.
    """

    def __init__(self, source: Source, owner: ast.ClassDef | None) -> None:
        self.source = source
        self.owner = owner

    def parameters(self, call: ast.Call) -> list[str]:
        """Return the positional parameters that a call fills; none where the function is not certain."""
        function = self._definition(call)
        if function is None or function.args.posonlyargs or function.args.vararg:
            return []
        static = any(getattr(d, "id", "") == "staticmethod" for d in function.decorator_list)
        return [a.arg for a in function.args.args][1 if isinstance(call.func, ast.Attribute) and not static else 0 :]

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
            try:
                changed = DataFlow(function, self.changed_arguments).changed
            except TooLargeError:  # it may change any
                cache[id(function)] = set(parameters(function))
            else:
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
        if isinstance(call.func, ast.Name):
            return self._functions.get(call.func.id)
        if not isinstance(call.func, ast.Attribute) or self.owner is None:
            return None
        receiver, name = call.func.value, call.func.attr
        if isinstance(receiver, ast.Name) and receiver.id in ("self", "cls", self.owner.name):
            return self._methods.get(name)
        base = isinstance(receiver, ast.Call) and getattr(receiver.func, "id", "") == "super"
        return self._base_methods.get(name) if base else None

    @cached_property
    def _functions(self) -> dict[str, ast.FunctionDef]:
        return _by_name([self.source.tree.body])

    @cached_property
    def _methods(self) -> dict[str, ast.FunctionDef]:
        return _by_name(self._class_bodies)

    @cached_property
    def _base_methods(self) -> dict[str, ast.FunctionDef]:
        return _by_name(self._class_bodies[1:])

    @cached_property
    def _class_bodies(self) -> list[list[ast.stmt]]:
        return [] if self.owner is None else [each.body for each in local_mro(self.source.tree, self.owner)]


def _by_name(bodies: Iterable[list[ast.stmt]]) -> dict[str, ast.FunctionDef]:
    """The functions of some blocks; of two with the same name, the first."""
    functions: dict[str, ast.FunctionDef] = {}
    for statement in (statement for body in bodies for statement in body):
        if isinstance(statement, ast.FunctionDef):
            functions.setdefault(statement.name, statement)
    return functions

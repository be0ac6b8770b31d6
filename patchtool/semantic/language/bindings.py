"""Which scope binds each name, as the compiler decides it: every binding form, and all kinds of scopes.

Source: the language reference, "Naming and binding".
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from patchtool.semantic.language.nodes import COMPREHENSIONS, children

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(eq=False)
class NameScope:
    """A module, class, function or comprehension with the names that it binds.

    Args:
        node: The definition; None for statements whose scope is elsewhere.
        parent: The enclosing scope.
        bound: Names that it binds.
        outer: Names that it declares global or nonlocal.
    """

    node: ast.AST | None
    parent: NameScope | None = None
    bound: set[str] = field(default_factory=set)
    outer: set[str] = field(default_factory=set)

    @property
    def is_class(self) -> bool:
        """Whether the names are only visible to code directly in it."""
        return isinstance(self.node, ast.ClassDef)

    @property
    def is_comprehension(self) -> bool:
        """Whether assignment expressions in it bind in the enclosing scope."""
        return isinstance(self.node, COMPREHENSIONS)

    @property
    def enclosing(self) -> Iterator[NameScope]:
        """This scope and all that it is in, innermost first."""
        scope: NameScope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    @property
    def deferred(self) -> bool:
        """Whether its code runs later than the statement that it is in."""
        return any(isinstance(scope.node, _FUNCTIONS) for scope in self.enclosing)

    def resolve(self, name: str) -> NameScope | None:
        """Return the scope that binds a name that is read here; None where it is global, or none of these scopes."""
        for scope in self.enclosing:
            if name in scope.outer:
                declared_global = scope.parent is None or not any(name in s.bound for s in scope.parent.enclosing)
                if declared_global:
                    return None
            elif name in scope.bound and (scope is self or not scope.is_class):
                return scope
        return None


class Use(NamedTuple):
    """A read of a name.

    Args:
        node: The name; for ``x += 1`` the target.
        scope: The scope that it is read in.
    """

    node: ast.Name
    scope: NameScope


class NameTable:
    """The scopes of some code, the names that it reads, and the nodes that bind names.

    Args:
        roots: A definition, whose own scope is then part of the table, or statements of any scope.
    """

    def __init__(self, roots: Iterable[ast.AST]) -> None:
        self.root = NameScope(None)
        self.uses: list[Use] = []
        self.binders: list[tuple[ast.AST, NameScope]] = []
        self._stack: list[tuple[ast.AST, NameScope]] = [(node, self.root) for node in roots]
        while self._stack:
            self._visit(*self._stack.pop())

    @property
    def free(self) -> set[str]:
        """Names that the code reads and none of its scopes binds."""
        return {use.node.id for use in self.uses if use.scope.resolve(use.node.id) is None}

    def _visit(self, node: ast.AST, scope: NameScope) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self._bound(node, scope, node.name)
            self._definition(node, scope)
        elif isinstance(node, ast.Lambda):
            self._function(node, scope, [node.body])
        elif isinstance(node, COMPREHENSIONS):
            self._comprehension(node, scope)
        elif isinstance(node, ast.NamedExpr):
            self._bound(node.target, next(s for s in scope.enclosing if not s.is_comprehension), node.target.id)
            self._stack.append((node.value, scope))
        else:
            self._bind(node, scope)
            self._stack += [(child, scope) for child in children(node)]

    def _bind(self, node: ast.AST, scope: NameScope) -> None:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                self._bound(node, scope, node.id)
            else:
                self.uses.append(Use(node, scope))
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self.uses.append(Use(node.target, scope))
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            self._bound(node, scope, *(alias.asname or alias.name.split(".")[0] for alias in node.names))
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            self._bound(node, scope, node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            self._bound(node, scope, node.rest)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            self.binders.append((node, scope))
            scope.outer |= set(node.names)

    def _bound(self, node: ast.AST, scope: NameScope, *names: str) -> None:
        scope.bound.update(names)
        self.binders.append((node, scope))

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, scope: NameScope) -> None:
        self._stack += [(decorator, scope) for decorator in node.decorator_list]
        if isinstance(node, ast.ClassDef):
            inner = NameScope(node, scope)
            self._stack += [(part, scope) for part in (*node.bases, *node.keywords)]
            self._stack += [(statement, inner) for statement in node.body]
        else:
            self._stack += [(node.returns, scope)] if node.returns is not None else []
            self._function(node, scope, node.body)

    def _function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, scope: NameScope, body: Iterable[ast.AST]
    ) -> None:
        spec = node.args
        parameters = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *(a for a in (spec.vararg, spec.kwarg) if a)]
        inner = NameScope(node, scope)
        for parameter in parameters:
            self._bound(parameter, inner, parameter.arg)
        outside = [*spec.defaults, *spec.kw_defaults, *(parameter.annotation for parameter in parameters)]
        self._stack += [(part, scope) for part in outside if part is not None]
        self._stack += [(part, inner) for part in body]

    def _comprehension(self, node: ast.AST, scope: NameScope) -> None:
        inner, outside = NameScope(node, scope), scope  # the first iterable is evaluated outside
        for part in children(node):
            if not isinstance(part, ast.comprehension):
                self._stack.append((part, inner))
        for part in children(node):
            if isinstance(part, ast.comprehension):
                self._stack.append((part.iter, outside))
                self._stack += [(child, inner) for child in (part.target, *part.ifs)]
                outside = inner

"""Whether a local name has a value where new code reads it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cached_property

from patchtool.semantic.language.bindings import NameScope, Use
from patchtool.semantic.language.nodes import COMPREHENSIONS, children, walk
from patchtool.semantic.language.scopes import Function, parameters
from patchtool.semantic.matching.flow import DataFlow
from patchtool.semantic.writing.errors import CannotWrite


class Assignments:
    """Which local names of a function are assigned where its code reads them.

    Args:
        function: The function.
    """

    def __init__(self, function: Function) -> None:
        self._function = function

    @cached_property
    def _kept(self) -> frozenset[str]:
        """Parameters, and names of which no statement takes the value away."""
        nodes = list(walk(self._function))
        removed = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Del)}
        removed |= {n.name for n in nodes if isinstance(n, ast.ExceptHandler) and n.name}
        return frozenset({n.id for n in nodes if isinstance(n, ast.Name)} | set(parameters(self._function))) - removed

    @cached_property
    def _flow(self) -> DataFlow:
        return DataFlow(self._function)

    @cached_property
    def _statements(self) -> dict[int, tuple[ast.stmt, ...]]:
        """The statement of each node, after those that contain it; code of nested definitions belongs to them."""
        statements: dict[int, tuple[ast.stmt, ...]] = {}
        stack: list[tuple[ast.AST, tuple[ast.stmt, ...]]] = [(statement, ()) for statement in self._function.body]
        while stack:
            node, chain = stack.pop()
            if isinstance(node, ast.stmt):
                chain = (*chain, node)
            statements[id(node)] = chain
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                statements.update((id(inner), chain) for inner in walk(node))
            else:
                stack += [(child, chain) for child in children(node)]
        return statements

    def check(self, use: Use, scope: NameScope) -> None:
        """Make sure that a name has a value; a nested function may be read before it is defined, by another one."""
        name = use.node.id
        if name in self._kept and name in parameters(self._function):
            return
        chain = self._statements.get(id(use.node))
        if not chain or self._is_assigned_above(name, chain) or name in self._flow.definitely_assigned(chain[-1]):
            return
        direct = all(
            inner.is_comprehension or inner.is_class for inner in use.scope.enclosing if _is_inside(inner, scope)
        )
        if direct and any(bound.id == name for bound in _bound_before(chain[-1], use.node)):
            return
        definitions = [s for s in walk(self._function) if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef))]
        if not direct and any(definition.name == name for definition in definitions):
            return
        raise CannotWrite("name-unavailable", f"{name} may be unassigned at the site")

    def _is_assigned_above(self, name: str, chain: Sequence[ast.stmt]) -> bool:
        """Whether a statement above, in a block around the use, assigns the name; spares most uses the data flow."""
        if name not in self._kept:
            return False
        blocks = [block for owner in (self._function, *chain[:-1]) for block in _blocks(owner)]
        for statement in chain:
            for block in blocks:
                if any(each is statement for each in block):
                    above = block[: [each is statement for each in block].index(True)]
                    if any(isinstance(s, (ast.Assign, ast.AnnAssign)) and _assigns(s, name) for s in above):
                        return True
        return False


def _blocks(owner: ast.stmt) -> Iterator[list[ast.stmt]]:
    for part in (owner, *getattr(owner, "handlers", ()), *getattr(owner, "cases", ())):
        yield from (block for field in ("body", "orelse", "finalbody") if (block := getattr(part, field, None)))


def _assigns(statement: ast.Assign | ast.AnnAssign, name: str) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return statement.value is not None and any(isinstance(t, ast.Name) and t.id == name for t in targets)


def _is_inside(inner: NameScope, outer: NameScope) -> bool:
    return inner is not outer and any(scope is outer for scope in inner.enclosing)


def _bound_before(statement: ast.stmt, use: ast.Name) -> list[ast.Name]:
    """Names that a statement binds before it reads one: by an assignment expression or an earlier ``with`` item."""
    bound = [node.target for node in walk(statement) if isinstance(node, ast.NamedExpr)]
    for item in getattr(statement, "items", ()):
        targets = walk(item.optional_vars) if item.optional_vars is not None else ()
        bound += [node for node in targets if isinstance(node, ast.Name)]
    at = (use.lineno, use.col_offset)
    return [name for name in bound if (name.lineno, name.col_offset) < at or _is_filtered(statement, name, use)]


def _is_filtered(statement: ast.stmt, name: ast.Name, use: ast.Name) -> bool:
    """Whether a name is bound in the ``for`` or ``if`` of the comprehension whose element reads it."""
    for node in walk(statement):
        if isinstance(node, COMPREHENSIONS):
            clauses = {id(n) for child in children(node) if isinstance(child, ast.comprehension) for n in walk(child)}
            if id(name) in clauses and id(use) not in clauses and any(n is use for n in walk(node)):
                return True
    return False

"""Symbolic values: code in which every local name is replaced by the expression that it holds."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from itertools import count, islice

from patchtool.semantic.language.names import assigned_names
from patchtool.semantic.language.nodes import COMPREHENSIONS, NESTED_SCOPES, children, walk, walk_scope
from patchtool.semantic.language.source import direct_bindings
from patchtool.semantic.matching.storage import Helpers, changed_in_place, is_attribute, storage
from patchtool.semantic.matching.unify import same

Environment = dict[str, ast.expr | None]
"""The value of each name that is certainly assigned."""

_MAX_NODES = 150
"""Larger values become unknown, so that repeated assignments cannot grow them without limit."""
_INTEGERS = frozenset({"int64", "int32", "long", "int"})


class Evaluator:
    """Computes values and executes assignments symbolically.

    Args:
        local: Names that the function's own code binds.
        single: Those that it binds once, and that are no parameters.
        shared: Names that other code may bind meanwhile; their values are always unknown.
        walrus: Whether the function has any assignment expression.
        helpers: Tells which arguments a call of another function in the same file changes in place.
    """

    def __init__(
        self, local: set[str], single: set[str], shared: frozenset[str], walrus: bool, helpers: Helpers
    ) -> None:
        self.local = local
        self.single = single - shared
        self.shared = shared
        self.walrus = walrus
        self.helpers = helpers
        self.changed: list[ast.AST] = []
        """Storage that the function's own code changes in place."""
        self._numbers = count(1)

    def value(self, node: ast.AST, env: Environment) -> ast.AST:
        """Return the value of code."""
        return _Substitution(self, env).visit(node)

    def node_values(self, statement: ast.stmt, env: Environment) -> dict[int, ast.AST]:
        """Return the value of each node of a statement by ``id``, without the nodes of statements inside it."""
        substitution = _Substitution(self, env)
        if hasattr(statement, "body"):
            for child in children(statement):
                if isinstance(child, (ast.expr, ast.withitem)):
                    substitution.visit(child)
        else:
            substitution.visit(statement)
        return substitution.values

    def unknown(self, name: str) -> ast.Name:
        """Return a value that equals no other."""
        return ast.Name(f"{name}\0{next(self._numbers)}", ast.Load())

    def forget(self, names: Iterable[str], env: Environment) -> None:
        """Set the values of names to unknown."""
        for name in sorted(names):
            env[name] = self.unknown(name)

    def bind(self, names: Iterable[str], env: Environment) -> None:
        """Set names that a loop, ``with``, handler, import or definition binds.

        What it is bound to is unknown, but a name that is bound only once in the function stands for itself.
        """
        for name in sorted(names):
            env[name] = ast.Name(name, ast.Load()) if name in self.single else self.unknown(name)

    def execute(self, node: ast.stmt, env: Environment) -> None:
        """Update an environment by a simple statement or a definition."""
        self.evaluate(node, env)
        if isinstance(node, ast.Assign):
            value = self._bounded_value(node.value, env)
            for target in node.targets:
                self._assign(target, node.value, value, dict(env), env)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._assign(node.target, node.value, self._bounded_value(node.value, env), dict(env), env)
        elif isinstance(node, ast.AugAssign):
            self.forget(assigned_names([node.target]), env)
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                env.pop(target.id if isinstance(target, ast.Name) else "", None)
        elif not isinstance(node, (ast.AnnAssign, ast.Expr)):
            self.bind(direct_bindings(node), env)

    def evaluate(self, node: ast.AST, env: Environment) -> None:
        """Update an environment by the effects of an expression, or of a statement's own expressions."""
        self.assign_walrus(node, env)
        self._forget_changed(node, env)

    def _forget_changed(self, node: ast.AST, env: Environment) -> None:
        for changed in {name for own in walk_scope([node]) for name in self.mutated(own, env)}:
            self.forget([changed], env)

    def assign_walrus(self, node: ast.AST, env: Environment) -> None:
        """Update an environment by the assignment expressions in an expression or in a statement's own expressions."""
        if not self.walrus:
            return
        for own in walk_scope([node]):
            if isinstance(own, ast.NamedExpr):
                self.forget([own.target.id] if own.target.id in env else [], env)
        for own in _unconditional_nodes(node):
            if isinstance(own, ast.NamedExpr):
                self.bind([own.target.id], env)

    def _bounded_value(self, node: ast.expr, env: Environment) -> ast.expr | None:
        value = self.value(node, env)
        small = sum(1 for _ in islice(walk(value), _MAX_NODES + 1)) <= _MAX_NODES
        return value if small and isinstance(value, ast.expr) else None

    def _assign(
        self, target: ast.expr, code: ast.expr, value: ast.expr | None, before: Environment, env: Environment
    ) -> None:
        sequences = (ast.Tuple, ast.List)
        if isinstance(target, ast.Name):
            known = value is not None and target.id not in self.shared
            env[target.id] = value if known else self.unknown(target.id)
        elif isinstance(target, sequences) and isinstance(code, sequences) and _one_to_one(target, code):
            for part, element in zip(target.elts, code.elts):
                self._assign(part, element, self._bounded_value(element, before), before, env)
        else:
            self.forget(assigned_names([target]), env)

    def mutated(self, node: ast.AST, env: Environment) -> Iterator[str]:
        """Yield local names whose value a node changes in place: ``x[i] = 0``, ``x.fill_(0)``, ``f(out=x)``.

        With a name, all names change that may share its storage. A name that refers to an attribute
        (``x = self.buffer``) is left out: it still refers to that attribute.
        """
        roots = [
            root for code in changed_in_place(node, env, self.helpers) for root in storage(code, env, written=True)
        ]
        self.changed += roots
        if roots:
            for name, value in env.items():
                shared = value is not None and any(same(own, root) for own in storage(value, {}) for root in roots)
                if shared and not is_attribute(value):
                    yield name


def _one_to_one(target: ast.Tuple | ast.List, code: ast.Tuple | ast.List) -> bool:
    starred = any(isinstance(part, ast.Starred) for part in (*target.elts, *code.elts))
    return not starred and len(target.elts) == len(code.elts)


def _unconditional_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that are evaluated whenever this one is."""
    yield node
    if isinstance(node, (*NESTED_SCOPES, *COMPREHENSIONS)):
        return
    parts = children(node)
    if isinstance(node, ast.BoolOp):
        parts = parts[:1]
    elif isinstance(node, ast.IfExp):
        parts = [node.test]
    elif isinstance(node, ast.Assert):
        parts = []
    for part in parts:
        yield from _unconditional_nodes(part)


class _Substitution(ast.NodeVisitor):
    """Builds values without changing the code, and records the value of each node."""

    def __init__(self, evaluator: Evaluator, env: Environment) -> None:
        self.evaluator = evaluator
        self.env = env
        self.values: dict[int, ast.AST] = {}

    def visit(self, node: ast.AST) -> ast.AST:
        value: ast.AST = super().visit(node)
        self.values[id(node)] = value
        return value

    def generic_visit(self, node: ast.AST) -> ast.AST:
        new = ast.AST.__new__(type(node))  # its __init__ expects all fields at once
        for field, value in ast.iter_fields(node):
            setattr(new, field, self._field(value))
        return ast.copy_location(new, node)

    def _field(self, value: object) -> object:
        if isinstance(value, list):
            return [self.visit(item) if isinstance(item, ast.AST) else item for item in value]
        return self.visit(value) if isinstance(value, ast.AST) else value

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if not isinstance(node.ctx, ast.Load):
            return node
        value, shared = self.env.get(node.id), node.id in self.evaluator.shared
        if value is not None and not shared:
            return value
        return self.evaluator.unknown(node.id) if shared or node.id in self.evaluator.local else node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        return self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        operand = _integer_cast(node)
        return self.visit(operand) if operand is not None else self.generic_visit(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self._shadowed(node, {a.arg for a in walk(node.args) if isinstance(a, ast.arg)})

    def _comprehension(self, node: ast.AST) -> ast.AST:
        targets = [part.target for part in walk(node) if isinstance(part, ast.comprehension)]
        return self._shadowed(node, assigned_names(targets))

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension  # noqa: N815 -- ast's names

    def _shadowed(self, node: ast.AST, names: set[str]) -> ast.AST:
        outer = self.env
        self.env = {**outer, **{name: ast.Name(name, ast.Load()) for name in names}}
        new = self.generic_visit(node)
        self.env = outer
        return new


def _integer_cast(node: ast.Call) -> ast.expr | None:
    """The operand of ``x.to(torch.int64)`` or ``x.long()``: an index is the same in every integer type."""
    if not isinstance(node.func, ast.Attribute):
        return None
    arguments = [*node.args, *(k.value for k in node.keywords if k.arg == "dtype")]
    others = [k for k in node.keywords if k.arg not in ("dtype", "non_blocking")]
    if node.func.attr in ("long", "int") and not node.args and not node.keywords:
        return node.func.value
    dtype = arguments[0] if node.func.attr == "to" and len(arguments) == 1 and not others else None
    return node.func.value if isinstance(dtype, ast.Attribute) and dtype.attr in _INTEGERS else None

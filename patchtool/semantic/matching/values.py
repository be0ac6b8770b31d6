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
_CASTS = frozenset({"to", "type", "long", "int", "contiguous", "detach", "clone"})


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
        self._origins: dict[int, tuple[ast.expr, ast.expr]] = {}

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
                self._assign(own.target, own.value, self._bounded_value(own.value, env), env, env)

    def capture(self, subject: ast.expr, pattern: ast.pattern, env: Environment, before: Environment) -> None:
        """Set the name of ``case name``, which stands for the subject."""
        name = pattern.name if isinstance(pattern, ast.MatchAs) and pattern.pattern is None else None
        if name and name not in self.shared:
            env[name] = self._bounded_value(subject, before) or self.unknown(name)

    def _bounded_value(self, node: ast.expr, env: Environment) -> ast.expr | None:
        value = self.value(node, env)
        small = sum(1 for _ in islice(walk(value), _MAX_NODES + 1)) <= _MAX_NODES
        if not small or not isinstance(value, ast.expr):
            return None
        self._origins.setdefault(id(value), (value, node))
        return value

    def origin(self, value: ast.expr) -> ast.expr | None:
        """Return the code that an assigned value was computed from."""
        known = self._origins.get(id(value))  # which keeps the value, so that no other has its id
        return None if known is None else known[1]

    def walrus_before(self, name: ast.Name, at: ast.stmt) -> ast.expr | None:
        """Return what an assignment expression further left in the same statement has certainly assigned to a name."""
        if not self.walrus:
            return None
        tests = [at.test] if isinstance(at, (ast.If, ast.While)) else [at]
        position = (name.lineno, name.col_offset)
        for own in (own for test in tests for own in _unconditional_nodes(test) if isinstance(own, ast.NamedExpr)):
            if own.target.id == name.id and (own.lineno, own.col_offset) < position:
                return own.value
        return None

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
        elif isinstance(target, sequences) and isinstance(value, ast.Call) and len(target.elts) == 1:
            element = ast.copy_location(ast.Subscript(value, ast.Constant(0), ast.Load()), code)
            self._assign(target.elts[0], code, element, before, env)
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
        self.written: set[int] = set()

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
        operand = _index_operand(node) if isinstance(node.func, ast.Attribute) and node.func.attr in _CASTS else None
        if operand is not None and id(node) not in self.written:
            return self.visit(operand)
        receiver = node.func.value if isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_") else None
        if receiver is not None:
            self.written.add(id(receiver))  # a cast is a copy: what is written into it is lost
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if not isinstance(node.ctx, ast.Load):
            self.written.add(id(node.value))
        return self.generic_visit(node)

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


def _index_operand(node: ast.Call) -> ast.expr | None:
    """The operand of ``x.to(torch.int64)`` or ``x.long()``: an index is the same in every integer type.

    With the cast go calls around it that change where the index is, or whether it is a copy: ``x.contiguous().long()``.
    """
    operand, cast = _uncast(node)
    while isinstance(operand, ast.Call):
        inner, other = _uncast(operand)
        if inner is None:
            break
        operand, cast = inner, cast or other
    return operand if cast or (isinstance(operand, ast.Call) and _is_range(operand)) else None


def _uncast(node: ast.Call) -> tuple[ast.expr | None, bool]:
    """The receiver of a call that keeps the numbers of an index, and whether it is a cast to integers."""
    func = node.func
    if not isinstance(func, ast.Attribute):
        return None, False
    arguments = [*node.args, *(k.value for k in node.keywords if k.arg in ("dtype", "device"))]
    if any(k.arg not in ("dtype", "device", "non_blocking", "copy") for k in node.keywords):
        return None, False
    integers = [a for a in arguments if isinstance(a, ast.Attribute) and a.attr in _INTEGERS]
    if func.attr in ("long", "int"):
        return (func.value, True) if not arguments else (None, False)
    if func.attr in ("contiguous", "detach", "clone"):
        return (func.value, False) if not arguments else (None, False)
    places = [a for a in arguments if a not in integers]
    known = func.attr == "to" and all(_is_device(a) for a in places)
    known = known or (func.attr == "type" and not places)
    return (
        (func.value, bool(integers)) if arguments and len(integers) < 2 and len(places) < 2 and known else (None, False)
    )


def _is_device(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "device"


def _is_range(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr == "arange"

"""Code with every local name replaced by what it stands for."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from itertools import count

from patchtool.semantic.language.names import running, stored_in
from patchtool.semantic.language.nodes import children, walk
from patchtool.semantic.language.source import binds

Environment = dict[str, ast.expr | None]
"""What each surely assigned name stands for."""

_MOST_NODES = 150
_INTEGERS = frozenset({"int64", "int32", "long", "int"})
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Meaning:
    """Replaces names by values, and carries out assignments.

    Args:
        local: Names that the function's own code binds.
        shared: Names that other code may bind meanwhile; they never stand for anything certain.
        walrus: Whether any expression of the function assigns.
    """

    def __init__(self, local: set[str], shared: frozenset[str], walrus: bool) -> None:
        self.local = local
        self.shared = shared
        self.walrus = walrus
        self._numbers = count(1)

    def of(self, node: ast.AST, env: Environment) -> ast.AST:
        """What some code means."""
        return _Unfold(self, env).visit(node)

    def pairs(self, statement: ast.stmt, env: Environment) -> dict[int, ast.AST]:
        """What each node of a statement's own expressions means, a simple statement itself included, by identity."""
        unfold = _Unfold(self, env)
        if hasattr(statement, "body"):
            for child in children(statement):
                if isinstance(child, (ast.expr, ast.withitem)):
                    unfold.visit(child)
        else:
            unfold.visit(statement)
        return unfold.pairs

    def unknown(self, name: str) -> ast.Name:
        """A value that is equal to no other."""
        return ast.Name(f"{name}\0{next(self._numbers)}", ast.Load())

    def forget(self, names: Iterable[str], env: Environment) -> None:
        """Let names have values that are not known."""
        for name in sorted(names):
            env[name] = self.unknown(name)

    def run(self, node: ast.stmt, env: Environment) -> None:
        """Carry out a simple statement, or a definition."""
        self.evaluate(node, env)
        if isinstance(node, ast.Assign):
            value = self.value(node.value, env)
            for target in node.targets:
                self._assign(target, node.value, value, dict(env), env)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._assign(node.target, node.value, self.value(node.value, env), dict(env), env)
        elif isinstance(node, ast.AugAssign):
            self.forget(targets(node.target), env)
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                env.pop(target.id if isinstance(target, ast.Name) else "", None)
        elif not isinstance(node, (ast.AnnAssign, ast.Expr)):
            self.forget(binds(node), env)
        for changed in {name for own in running([node]) for name in self.mutated(own, env)}:
            self.forget([changed], env)

    def evaluate(self, node: ast.AST, env: Environment) -> None:
        """Carry out the ``:=`` in an expression or a statement's expressions."""
        if not self.walrus:
            return
        for own in running([node]):
            if isinstance(own, ast.NamedExpr):
                self.forget([own.target.id] if own.target.id in env else [], env)
        for own in _surely_run(node):
            if isinstance(own, ast.NamedExpr):
                self.forget([own.target.id], env)

    def value(self, node: ast.expr, env: Environment) -> ast.expr | None:
        """What an expression means, or None where that is too much to keep."""
        found = self.of(node, env)
        small = sum(1 for _, _ in zip(range(_MOST_NODES + 1), walk(found))) <= _MOST_NODES
        return found if small and isinstance(found, ast.expr) else None

    def _assign(
        self, target: ast.expr, code: ast.expr, value: ast.expr | None, before: Environment, env: Environment
    ) -> None:
        several = (ast.Tuple, ast.List)
        if isinstance(target, ast.Name):
            known = value is not None and target.id not in self.shared
            env[target.id] = value if known else self.unknown(target.id)
        elif isinstance(target, several) and isinstance(code, several) and _one_to_one(target, code):
            for part, element in zip(target.elts, code.elts):
                self._assign(part, element, self.value(element, before), before, env)
        else:
            self.forget(targets(target), env)

    def mutated(self, node: ast.AST, env: Environment) -> Iterator[str]:
        """Local names whose value a node changes in place: ``x[i] = 0``, ``x.fill_(0)``.

        A name for something that an object keeps (``x = self.buffer``) goes on meaning that same thing.
        """
        changed: ast.AST | None = None
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, (ast.Store, ast.Del)):
            changed = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = node.func.attr
            changed = node.func.value if name.endswith("_") and not name.endswith("__") else None
        root = _root(changed) if changed is not None else None
        if root is not None and root in env and not _kept_elsewhere(env[root]):
            yield root


def _root(node: ast.AST) -> str | None:
    """The variable that an index or a view is taken of."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        else:
            break
    return node.id if isinstance(node, ast.Name) else None


def _kept_elsewhere(value: ast.expr | None) -> bool:
    while isinstance(value, ast.Subscript):
        value = value.value
    return isinstance(value, ast.Attribute)


def _one_to_one(target: ast.Tuple | ast.List, code: ast.Tuple | ast.List) -> bool:
    starred = any(isinstance(part, ast.Starred) for part in (*target.elts, *code.elts))
    return not starred and len(target.elts) == len(code.elts)


def targets(target: ast.expr) -> list[str]:
    """Names that an assignment's target binds."""
    return [n.id for n in walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def _surely_run(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that are evaluated whenever this one is."""
    yield node
    if isinstance(node, (ast.Lambda, *_COMPREHENSIONS, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return
    parts = children(node)
    if isinstance(node, ast.BoolOp):
        parts = parts[:1]
    elif isinstance(node, ast.IfExp):
        parts = [node.test]
    elif isinstance(node, ast.Assert):
        parts = []
    for part in parts:
        yield from _surely_run(part)


class _Unfold(ast.NodeVisitor):
    """Builds the meaning without touching the code; remembers what became of each node."""

    def __init__(self, meaning: Meaning, env: Environment) -> None:
        self.meaning = meaning
        self.env = env
        self.pairs: dict[int, ast.AST] = {}

    def visit(self, node: ast.AST) -> ast.AST:
        found: ast.AST = super().visit(node)
        self.pairs[id(node)] = found
        return found

    def generic_visit(self, node: ast.AST) -> ast.AST:
        new = ast.AST.__new__(type(node))  # fields follow; its __init__ asks for them all at once
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
        known = self.env.get(node.id)
        if known is not None and node.id not in self.meaning.shared:
            return known
        surprising = node.id in self.meaning.local or node.id in self.meaning.shared
        return self.meaning.unknown(node.id) if surprising else node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        return self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        cast = _integer_cast(node)
        return self.visit(cast) if cast is not None else self.generic_visit(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self._shadowed(node, {a.arg for a in walk(node.args) if isinstance(a, ast.arg)})

    def _comprehension(self, node: ast.AST) -> ast.AST:
        return self._shadowed(node, {name for part in walk(node) for name in _iterated(part)})

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension  # noqa: N815 -- ast's names

    def _shadowed(self, node: ast.AST, names: set[str]) -> ast.AST:
        outer = self.env
        self.env = {**outer, **{name: ast.Name(name, ast.Load()) for name in names}}
        new = self.generic_visit(node)
        self.env = outer
        return new


def _iterated(node: ast.AST) -> set[str]:
    return stored_in([node.target]) if isinstance(node, ast.comprehension) else set()


def _integer_cast(node: ast.Call) -> ast.expr | None:
    """What ``x.to(torch.int64)`` or ``x.long()`` casts; indices mean the same in every integer type."""
    if not isinstance(node.func, ast.Attribute):
        return None
    arguments = [*node.args, *(k.value for k in node.keywords if k.arg == "dtype")]
    others = [k for k in node.keywords if k.arg not in ("dtype", "non_blocking")]
    if node.func.attr in ("long", "int") and not node.args and not node.keywords:
        return node.func.value
    dtype = arguments[0] if node.func.attr == "to" and len(arguments) == 1 and not others else None
    return node.func.value if isinstance(dtype, ast.Attribute) and dtype.attr in _INTEGERS else None

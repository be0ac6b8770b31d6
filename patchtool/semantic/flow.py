"""What names hold inside one function: where values come from, what is surely assigned, what is read and bound."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from patchtool.semantic.scopes import Function, parameters

PARAMETER = "parameter "
"""Prefix of the origin of a value that came in through a parameter, apart from a local of the same name."""


@dataclass(frozen=True)
class Origins:
    """Names that a value comes from.

    Args:
        surely: On every path.
        maybe: On some path.
        made_by: The assignments that a variable's value may come from, each by an id; empty for a parameter as it came in.
    """

    surely: frozenset[str] = frozenset()
    maybe: frozenset[str] = frozenset()
    made_by: frozenset[int] = frozenset()

    def __or__(self, other: Origins) -> Origins:
        return Origins(self.surely | other.surely, self.maybe | other.maybe)

    def joined(self, other: Origins) -> Origins:
        """What holds after two paths meet."""
        return Origins(self.surely & other.surely, self.maybe | other.maybe, self.made_by | other.made_by)


Environment = dict[str, Origins]


class Flow:
    """Definitions and uses in one function, followed in source order.

    Branches join, loops are walked once and joined with what was before, names assigned in nested functions are not seen.

    Args:
        function: The function.
    """

    def __init__(self, function: Function) -> None:
        names = parameters(function)
        self._before: dict[int, Environment] = {}
        origin = {name: frozenset({PARAMETER + name, name}) for name in names}
        start = {name: Origins(both, both) for name, both in origin.items()}
        self._walk(function.body, start)

    def origins(self, expression: ast.AST, at: ast.stmt) -> Origins:
        """Where an expression's value comes from, as the names stand just before a statement."""
        return _origins(expression, self._before.get(id(at), {}))

    def assigned(self, at: ast.stmt) -> frozenset[str]:
        """Local names that surely have a value just before a statement; empty where it cannot be reached."""
        return frozenset(self._before.get(id(at), ()))

    def made_by(self, name: str, at: ast.stmt) -> frozenset[int] | None:
        """The assignments that a variable's value may come from just before a statement, None where it has none."""
        found = self._before.get(id(at), {}).get(name)
        return None if found is None else found.made_by

    def reachable(self, at: ast.stmt) -> bool:
        """Whether control can come to a statement at all."""
        return id(at) in self._before

    def _walk(self, body: Sequence[ast.stmt], env: Environment | None) -> Environment | None:
        """Follow statements; None means that control does not come out at the end."""
        for statement in body:
            if env is None:
                return None
            self._before[id(statement)] = dict(env)
            env = self._step(statement, dict(env))
        return env

    def _step(self, node: ast.stmt, env: Environment) -> Environment | None:
        if isinstance(node, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
            return None
        if isinstance(node, ast.If):
            return _join(self._walk(node.body, dict(env)), self._walk(node.orelse, dict(env)))
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            return self._loop(node, env)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                if item.optional_vars is not None:
                    _assign(item.optional_vars, _origins(item.context_expr, env), env)
            return self._walk(node.body, env)
        if isinstance(node, (ast.Try, *_TRY_STAR)):
            return self._try(node, env)
        if isinstance(node, ast.Match):
            outcomes = [self._walk(case.body, _with_names(case.pattern, env)) for case in node.cases]
            return _join(dict(env), *outcomes)
        _simple(node, env)
        return env

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, env: Environment) -> Environment | None:
        inner = dict(env)
        if not isinstance(node, ast.While):
            _assign(node.target, _origins(node.iter, env), inner)
        after = _join(dict(env), self._walk(node.body, inner))
        return self._walk(node.orelse, after)

    def _try(self, node: ast.Try, env: Environment) -> Environment | None:
        body = self._walk(node.body, dict(env))
        clean = self._walk(node.orelse, body)
        handled = [self._walk(handler.body, dict(env)) for handler in node.handlers]
        return self._walk(node.finalbody, _join(clean, *handled))


_TRY_STAR: tuple[type, ...] = (getattr(ast, "TryStar"),) if hasattr(ast, "TryStar") else ()  # noqa: B009 -- absent on 3.10


def _join(*paths: Environment | None) -> Environment | None:
    alive = [path for path in paths if path is not None]
    if not alive:
        return None
    names = set(alive[0]).intersection(*alive[1:])
    joined = {}
    for name in names:
        origins = alive[0][name]
        for path in alive[1:]:
            origins = origins.joined(path[name])
        joined[name] = origins
    return joined


def _simple(node: ast.stmt, env: Environment) -> None:
    for walrus in [n for n in own_nodes(node) if isinstance(n, ast.NamedExpr)]:
        _assign(walrus.target, _origins(walrus.value, env), env)
    if isinstance(node, ast.Assign):
        origins = _origins(node.value, env)
        for target in node.targets:
            _assign_pairwise(target, node.value, origins, env)
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        _assign(node.target, _origins(node.value, env), env)
    elif isinstance(node, ast.AugAssign):
        _assign(node.target, _origins(node.value, env) | _origins(node.target, env), env)
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            env[alias.asname or alias.name.split(".")[0]] = Origins()
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        env[node.name] = Origins()
    elif isinstance(node, ast.Delete):
        for target in node.targets:
            if isinstance(target, ast.Name):
                env.pop(target.id, None)


def _assign_pairwise(target: ast.expr, value: ast.expr, origins: Origins, env: Environment) -> None:
    """``a, b = x, y`` gives each name its own value."""
    pair = (ast.Tuple, ast.List)
    if isinstance(target, pair) and isinstance(value, pair) and len(target.elts) == len(value.elts):
        each = [_origins(element, env) for element in value.elts]
        for part, found in zip(target.elts, each):
            _assign(part, found, env)
    else:
        _assign(target, origins, env)


def _assign(target: ast.expr, origins: Origins, env: Environment) -> None:
    for node in ast.walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own = frozenset({node.id})
            env[node.id] = Origins(origins.surely | own, origins.maybe | own, frozenset({id(node)}))


def _with_names(pattern: ast.pattern, env: Environment) -> Environment:
    inner = dict(env)
    for node in ast.walk(pattern):
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if isinstance(name, str):
            inner[name] = Origins()
    return inner


def _origins(expression: ast.AST, env: Environment) -> Origins:
    found = Origins()
    for node in ast.walk(expression):
        if isinstance(node, ast.Name):
            found |= env.get(node.id, Origins(frozenset({node.id}), frozenset({node.id})))
    return found


def own_nodes(root: ast.AST) -> Iterator[ast.AST]:
    """Every node that runs together with this one, nested functions, lambdas and classes left out."""
    stack: list[ast.AST] = [root]
    while stack:
        node = stack.pop()
        yield node
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
                stack.append(child)


def reads(nodes: Iterable[ast.AST], name: str) -> list[ast.Name]:
    """Where a name is read, nested functions included: a closure may read it too."""
    return [
        found
        for node in nodes
        for found in ast.walk(node)
        if isinstance(found, ast.Name) and found.id == name and isinstance(found.ctx, ast.Load)
    ]


def stores(nodes: Iterable[ast.AST], name: str) -> list[ast.AST]:
    """Where a name is bound or deleted, nested functions included: ``nonlocal`` could reach it."""
    return [
        found
        for node in nodes
        for found in ast.walk(node)
        if (isinstance(found, ast.Name) and found.id == name and isinstance(found.ctx, (ast.Store, ast.Del)))
        or (isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and found.name == name)
        or (isinstance(found, ast.alias) and (found.asname or found.name.split(".")[0]) == name)
        or (isinstance(found, ast.ExceptHandler) and found.name == name)
        or (isinstance(found, (ast.MatchAs, ast.MatchStar)) and found.name == name)
    ]


def locals_of(function: Function) -> frozenset[str]:
    """Every name that is local to a function: its parameters and all that its own code binds."""
    names = set(parameters(function))
    for statement in function.body:
        for node in own_nodes(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
                names.add(node.id)
            elif isinstance(node, ast.alias):
                names.add(node.asname or node.name.split(".")[0])
            elif isinstance(node, ast.ExceptHandler) and node.name:
                names.add(node.name)
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(statement.name)
    return frozenset(names)

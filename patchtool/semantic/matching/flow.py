"""What the names of one function stand for at each statement, and where control can come to.

A value is kept as code in which every local name is replaced by what it stands for, so that two spellings of one value
are equal: ``b = a.to(torch.int64); f(b)`` means ``f(a)``. What cannot be said for sure becomes a mark of its own, equal
to nothing else.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from patchtool.semantic.language.names import running, shared_names, stored_in
from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.scopes import Function, parameters
from patchtool.semantic.matching.meaning import Environment, Meaning, targets
from patchtool.semantic.matching.unify import same

_EXITED = "\0exited"
_TRY = (ast.Try, getattr(ast, "TryStar", ast.Try))


class Flow:
    """Follows one function in the order it runs: branches join, loops and handlers forget what their code may change.

    Args:
        function: The function.
    """

    def __init__(self, function: Function) -> None:
        self._before: dict[int, Environment] = {}
        self._after: dict[int, Environment] = {}
        self._pairs: dict[int, dict[int, ast.AST]] = {}
        self._breaks: list[list[Environment | None]] = []
        self._meaning = Meaning(stored_in(function.body), shared_names(function), _assigns_inside(function))
        start: Environment = {name: ast.Name(name, ast.Load()) for name in parameters(function)}
        self.end = self._walk(function.body, start)

    def meaning(self, node: ast.AST, at: ast.stmt, *, after: bool = False) -> ast.AST:
        """What some code means, as the names stand just before, or just after, a statement."""
        known = self._after if after else self._before
        return self._meaning.of(node, known.get(id(at), {}))

    def pairs(self, at: ast.stmt) -> dict[int, ast.AST]:
        """What each node of a statement means, by the node's identity."""
        known = self._pairs.get(id(at))
        if known is None:
            known = self._pairs[id(at)] = self._meaning.pairs(at, self._before.get(id(at), {}))
        return known

    def assigned(self, at: ast.stmt, *, after: bool = False) -> frozenset[str]:
        """Local names that surely have a value just before, or just after, a statement."""
        known = self._after if after else self._before
        return frozenset(known.get(id(at), ())) - {_EXITED}

    def reachable(self, at: ast.stmt, *, after: bool = False) -> bool:
        """Whether control can come to a statement, or out of it, at all."""
        return id(at) in (self._after if after else self._before)

    def may_have_returned(self, at: ast.stmt) -> bool:
        """Whether the function may already have returned on another path before a statement."""
        return _EXITED in self._before.get(id(at), ())

    def _walk(self, body: Sequence[ast.stmt], env: Environment | None) -> Environment | None:
        """Follow statements; None means that control does not come out at the end."""
        for statement in body:
            if env is None:
                return None
            self._before[id(statement)] = dict(env)
            env = self._step(statement, dict(env))
            if env is not None:
                if hasattr(statement, "body") and self._returns(statement):
                    env[_EXITED] = ast.Constant(value=True)
                self._after[id(statement)] = dict(env)
        return env

    def _returns(self, statement: ast.stmt) -> bool:
        return any(isinstance(n, ast.Return) and id(n) in self._before for n in running([statement]))

    def _step(self, node: ast.stmt, env: Environment) -> Environment | None:
        if isinstance(node, (ast.Return, ast.Raise)):
            return None
        if isinstance(node, (ast.Break, ast.Continue)):
            if isinstance(node, ast.Break) and self._breaks:
                self._breaks[-1].append(env)
            return None
        if isinstance(node, ast.If):
            return self._branch(node, env)
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            return self._loop(node, env)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            return self._with(node, env)
        if isinstance(node, _TRY):
            return self._try(node, env)
        if isinstance(node, ast.Match):
            return self._match(node, env)
        self._meaning.run(node, env)
        return env

    def _branch(self, node: ast.If, env: Environment) -> Environment | None:
        self._meaning.evaluate(node.test, env)
        known = constant(node.test)
        body = self._walk(node.body, None if known is False else dict(env))
        orelse = self._walk(node.orelse, None if known is True else dict(env))
        return self._join(body, orelse)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, env: Environment) -> Environment | None:
        if not isinstance(node, ast.While):
            self._meaning.evaluate(node.iter, env)
        entry = self._forget(env, [node])
        if isinstance(node, ast.While):
            self._meaning.evaluate(node.test, entry)
        inner = dict(entry)
        if not isinstance(node, ast.While):
            self._meaning.forget(targets(node.target), inner)
        self._breaks.append([])
        self._walk(node.body, inner)
        breaks = self._breaks.pop()
        endless = isinstance(node, ast.While) and constant(node.test) is True
        after = None if endless else self._walk(node.orelse, dict(entry))
        return self._join(after, *breaks)

    def _with(self, node: ast.With | ast.AsyncWith, env: Environment) -> Environment | None:
        for item in node.items:
            self._meaning.evaluate(item.context_expr, env)
            if item.optional_vars is not None:
                self._meaning.forget(targets(item.optional_vars), env)
        body = self._walk(node.body, dict(env))
        swallows = any("suppress" in ast.unparse(item.context_expr) for item in node.items)
        return self._join(body, self._forget(env, node.body)) if swallows else body

    def _try(self, node: ast.Try, env: Environment) -> Environment | None:
        broken = self._forget(env, node.body)
        ends = [self._walk(node.orelse, self._walk(node.body, dict(env)))]
        for handler in node.handlers:
            inner = dict(broken)
            if handler.name:
                self._meaning.forget([handler.name], inner)
            end = self._walk(handler.body, inner)
            if end is not None and handler.name:
                end.pop(handler.name, None)
            ends.append(end)
        joined = self._join(*ends)
        if not node.finalbody:
            return joined
        after = self._walk(node.finalbody, joined)
        self._walk(node.finalbody, self._forget(env, [*node.body, *node.handlers, *node.orelse]))
        return after

    def _match(self, node: ast.Match, env: Environment) -> Environment | None:
        self._meaning.evaluate(node.subject, env)
        ends: list[Environment | None] = []
        rest: Environment | None = env
        for case in node.cases:
            if rest is None:
                break
            inner = dict(rest)
            self._meaning.forget(stored_in([case.pattern]), inner)
            tried = [case.pattern, *([case.guard] if case.guard is not None else [])]
            if case.guard is not None:
                self._meaning.evaluate(case.guard, inner)
            rest = self._forget(rest, tried)
            ends.append(self._walk(case.body, inner))
            if case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None:
                rest = None
        return self._join(rest, *ends)

    def _forget(self, env: Environment, nodes: Sequence[ast.AST]) -> Environment:
        """What is left of an environment when some code may have run, wholly, in part or not at all."""
        changed = stored_in(nodes)
        for node in running(nodes):
            changed.update(self._meaning.mutated(node, env))
        inner = dict(env)
        self._meaning.forget(changed & set(env), inner)
        return inner

    def _join(self, *paths: Environment | None) -> Environment | None:
        """What holds where paths meet: equal values stay, others become unknown."""
        alive = [path for path in paths if path is not None]
        if len(alive) < 2:
            return alive[0] if alive else None
        joined: Environment = {}
        for name in set(alive[0]).intersection(*alive[1:]):
            values = [path[name] for path in alive]
            joined[name] = values[0] if all(v is values[0] or same(v, values[0]) for v in values[1:]) else None
        for name in [name for name, value in joined.items() if value is None]:
            self._meaning.forget([name], joined)
        if any(_EXITED in path for path in alive):
            joined[_EXITED] = ast.Constant(value=True)
        return joined


def _assigns_inside(function: Function) -> bool:
    return any(isinstance(node, ast.NamedExpr) for node in walk(function))


def constant(test: ast.expr) -> bool | None:
    """The truth of a condition that never changes, or None."""
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = constant(test.operand)
        return None if inner is None else not inner
    name = test.id if isinstance(test, ast.Name) else test.attr if isinstance(test, ast.Attribute) else ""
    return False if name == "TYPE_CHECKING" else None

"""Data flow of one function: the value of each name at each statement, and which statements are reachable.

A value is code in which every local name is replaced by the expression that it holds, so that two spellings of one
value are equal: after ``b = a.to(torch.int64)``, the value of ``f(b)`` is ``f(a)``. A value that is not certain is
unknown, and equals no other.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence

from patchtool.semantic.language.names import assigned_names, declared_outer
from patchtool.semantic.language.nodes import walk, walk_scope
from patchtool.semantic.language.scopes import Function, parameters
from patchtool.semantic.language.source import direct_bindings
from patchtool.semantic.matching.storage import Helpers
from patchtool.semantic.matching.unify import same
from patchtool.semantic.matching.values import Environment, Evaluator

_RETURNED = "\0returned"
_MAX_VALUES = (
    1_000_000  # a value for each name at each statement: some 100 MB, and as many comparisons where it changes
)
_TRY = (ast.Try, getattr(ast, "TryStar", ast.Try))


class TooLargeError(Exception):
    """A function is too large to be followed; the message says which."""


class DataFlow:
    """Executes a function symbolically: branches join, loops and handlers forget what their code may change.

    Args:
        function: The function.
        helpers: Tells which arguments a call of another function in the same file changes in place.

    Raises:
        TooLargeError: The function has too many statements and names.
    """

    def __init__(self, function: Function, helpers: Helpers = lambda _: []) -> None:
        self._before: dict[int, Environment] = {}
        self._after: dict[int, Environment] = {}
        self._node_values: dict[int, dict[int, ast.AST]] = {}
        self._breaks: list[list[Environment | None]] = []
        self._returns = 0  # reached so far
        everything = list(walk(function))
        walrus = any(isinstance(node, ast.NamedExpr) for node in everything)
        nodes = list(walk_scope(function.body))
        bound = Counter(name for node in nodes for name in direct_bindings(node))
        statements = sum(isinstance(node, ast.stmt) for node in nodes)
        if statements * len(bound) > _MAX_VALUES:
            size = f"{statements} statements and {len(bound)} local names"
            raise TooLargeError(f"{function.name} on line {function.lineno} has {size}, too many to be followed")
        single = {name for name, times in bound.items() if times == 1} - set(parameters(function))
        self._evaluator = Evaluator(set(bound), single, declared_outer(everything), walrus, helpers)
        self._visit_block(function.body, {name: ast.Name(name, ast.Load()) for name in parameters(function)})

    def _environment(self, at: ast.stmt, *, after: bool = False) -> Environment:
        return (self._after if after else self._before).get(id(at), {})

    def value(self, node: ast.AST, at: ast.stmt, *, after: bool = False) -> ast.AST:
        """Return the value of code just before, or just after, a statement."""
        return self._evaluator.value(node, self._environment(at, after=after))

    def node_values(self, at: ast.stmt) -> dict[int, ast.AST]:
        """Return the value of each node of a statement, by the node's ``id``."""
        values = self._node_values.get(id(at))
        if values is None:
            values = self._node_values[id(at)] = self._evaluator.node_values(at, self._environment(at))
        return values

    def origin(self, name: ast.Name, at: ast.stmt) -> ast.expr | None:
        """Return the code that a name was last assigned, where evaluating it at a statement gives the same value."""
        code = self._evaluator.walrus_before(name, at)
        if code is not None:
            return code
        value = self._environment(at).get(name.id)
        code = None if value is None else self._evaluator.origin(value)
        if code is None or (isinstance(code, ast.Name) and code.id == name.id):
            return None
        return code if value is not None and same(self.value(code, at), value) else None

    def definitely_assigned(self, at: ast.stmt, *, after: bool = False) -> frozenset[str]:
        """Return the local names that are assigned on every path just before, or just after, a statement."""
        return frozenset(self._environment(at, after=after)) - {_RETURNED}

    @property
    def changed(self) -> list[ast.AST]:
        """Values of what the function's own code changes in place; see ``storage``."""
        return self._evaluator.changed

    def reachable(self, at: ast.stmt, *, after: bool = False) -> bool:
        """Whether a statement, or with ``after`` its end, can be reached."""
        return id(at) in (self._after if after else self._before)

    def may_have_returned(self, at: ast.stmt) -> bool:
        """Whether the function may already have returned, on another path, before a statement."""
        return _RETURNED in self._environment(at)

    def _visit_block(self, body: Sequence[ast.stmt], env: Environment | None) -> Environment | None:
        """Return the environment at the end of a block, or None where the end is unreachable; both are only read."""
        for statement in body:
            if env is None:
                return None
            self._before[id(statement)] = env
            returns = self._returns
            env = self._visit(statement, dict(env))
            if env is not None:
                if self._returns > returns:
                    env = {**env, _RETURNED: ast.Constant(value=True)}
                self._after[id(statement)] = env
        return env

    def _visit(self, node: ast.stmt, env: Environment) -> Environment | None:
        if isinstance(node, (ast.Return, ast.Raise)):
            self._returns += isinstance(node, ast.Return)
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
        self._evaluator.execute(node, env)
        return env

    def _branch(self, node: ast.If, env: Environment) -> Environment | None:
        self._evaluator.evaluate(node.test, env)
        truth = constant_truth(node.test)
        body = self._visit_block(node.body, None if truth is False else env)
        orelse = self._visit_block(node.orelse, None if truth is True else env)
        return self._join(body, orelse)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, env: Environment) -> Environment | None:
        if not isinstance(node, ast.While):
            self._evaluator.evaluate(node.iter, env)
        entry = self._forget(env, [node])
        if isinstance(node, ast.While):
            self._evaluator.evaluate(node.test, entry)
        inner = dict(entry)
        if not isinstance(node, ast.While):
            self._evaluator.bind(assigned_names([node.target]), inner)
        self._breaks.append([])
        self._visit_block(node.body, None if _never_runs(node) else inner)
        breaks = self._breaks.pop()
        endless = isinstance(node, ast.While) and constant_truth(node.test) is True
        after = None if endless else self._visit_block(node.orelse, dict(entry))
        return self._join(after, *breaks)

    def _with(self, node: ast.With | ast.AsyncWith, env: Environment) -> Environment | None:
        for item in node.items:
            self._evaluator.evaluate(item.context_expr, env)
            if item.optional_vars is not None:
                self._evaluator.bind(assigned_names([item.optional_vars]), env)
        body = self._visit_block(node.body, dict(env))
        swallows = any("suppress" in ast.unparse(item.context_expr) for item in node.items)
        return self._join(body, self._forget(env, node.body)) if swallows else body

    def _try(self, node: ast.Try, env: Environment) -> Environment | None:
        interrupted = self._forget(env, node.body)
        ends = [self._visit_block(node.orelse, self._visit_block(node.body, dict(env)))]
        for handler in node.handlers:
            inner = dict(interrupted)
            if handler.name:
                self._evaluator.bind([handler.name], inner)
            end = self._visit_block(handler.body, inner)
            if end is not None and handler.name:
                end = {name: value for name, value in end.items() if name != handler.name}
            ends.append(end)
        joined = self._join(*ends)
        if not node.finalbody:
            return joined
        after = self._visit_block(node.finalbody, joined)
        self._visit_block(node.finalbody, self._forget(env, [*node.body, *node.handlers, *node.orelse]))
        return after

    def _match(self, node: ast.Match, env: Environment) -> Environment | None:
        self._evaluator.evaluate(node.subject, env)
        ends: list[Environment | None] = []
        rest: Environment | None = env
        for case in node.cases:
            if rest is None:
                break
            inner = dict(rest)
            self._evaluator.bind(assigned_names([case.pattern]), inner)
            self._evaluator.capture(node.subject, case.pattern, inner, env)
            tried = [case.pattern, *([case.guard] if case.guard is not None else [])]
            if case.guard is not None:
                self._evaluator.evaluate(case.guard, inner)
            rest = self._forget(rest, tried)
            ends.append(self._visit_block(case.body, inner))
            if case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None:
                rest = None
        return self._join(rest, *ends)

    def _forget(self, env: Environment, nodes: Sequence[ast.AST]) -> Environment:
        """Return the environment after code that may have run fully, partly or not at all."""
        changed = assigned_names(nodes)
        for node in walk_scope(nodes):
            changed.update(self._evaluator.mutated(node, env))
        inner = dict(env)
        self._evaluator.forget(changed & set(env), inner)
        return inner

    def _join(self, *paths: Environment | None) -> Environment | None:
        """Merge the environments of paths that meet: equal values stay, others become unknown."""
        alive = [path for path in paths if path is not None]
        if len(alive) < 2:
            return alive[0] if alive else None
        joined: Environment = {}
        for name in set(alive[0]).intersection(*alive[1:]):
            values = [path[name] for path in alive]
            joined[name] = values[0] if all(v is values[0] or same(v, values[0]) for v in values[1:]) else None
        for name in [name for name, value in joined.items() if value is None]:
            self._evaluator.forget([name], joined)
        if any(_RETURNED in path for path in alive):
            joined[_RETURNED] = ast.Constant(value=True)
        return joined


def _never_runs(node: ast.For | ast.AsyncFor | ast.While) -> bool:
    if isinstance(node, ast.While):
        return constant_truth(node.test) is False
    return isinstance(node.iter, (ast.Tuple, ast.List)) and not node.iter.elts


def constant_truth(test: ast.expr) -> bool | None:
    """Return the truth of a condition that is constant, or None."""
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.BoolOp):
        parts, decisive = [constant_truth(part) for part in test.values], isinstance(test.op, ast.Or)
        return decisive if decisive in parts else None if None in parts else not decisive
    if (
        isinstance(test, ast.Call)
        and isinstance(test.func, ast.Name)
        and test.func.id == "bool"
        and len(test.args) == 1
    ):
        return constant_truth(test.args[0])
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = constant_truth(test.operand)
        return None if inner is None else not inner
    name = test.id if isinstance(test, ast.Name) else test.attr if isinstance(test, ast.Attribute) else ""
    return False if name == "TYPE_CHECKING" else None

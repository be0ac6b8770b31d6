"""One scope under examination: searching it for templates, as it is spelled or by what it means."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from patchtool.semantic.language.grammar import BUILTINS
from patchtool.semantic.language.names import locals_of, nested_nodes
from patchtool.semantic.language.nodes import children
from patchtool.semantic.language.scopes import Block, Scope, blocks, parameters
from patchtool.semantic.language.source import Source
from patchtool.semantic.matching.flow import Flow
from patchtool.semantic.matching.template import Template
from patchtool.semantic.matching.unify import Bindings, Bound, Matcher


class Match(NamedTuple):
    """One place where a template fits.

    Args:
        block: The list of statements it stands in.
        start: Index of its first statement.
        stop: Index after its last one.
        node: The expression that fits, or the first statement.
        env: What the holes stand for.
        unsure: Why the expression may not run, or not once, when its statement does; empty when it surely runs.
        meant: Whether the holes stand for meanings instead of spellings.
    """

    block: Block
    start: int
    stop: int
    node: ast.AST
    env: Bindings
    unsure: str = ""
    meant: bool = False

    @property
    def statement(self) -> ast.stmt:
        """The statement that holds the match, or the first one of several."""
        return self.block.statements[self.start]

    @property
    def statements(self) -> list[ast.stmt]:
        """All statements that the match takes up."""
        return self.block.statements[self.start : self.stop]

    @property
    def line(self) -> int:
        """One-based line."""
        return getattr(self.node, "lineno", self.statement.lineno)

    @property
    def position(self) -> tuple[int, int]:
        """Line and column, for order in the source."""
        return (self.line, getattr(self.node, "col_offset", 0))


class ScopeAnalysis:
    """A scope of one file.

    Args:
        source: The parsed file.
        scope: The definition in it.
    """

    def __init__(self, source: Source, scope: Scope) -> None:
        self.source = source
        self.scope = scope
        self.bound_at: dict[str, ast.stmt] = {}
        """Where holes were bound by code that the patch relies on."""

    @cached_property
    def blocks(self) -> list[Block]:
        """Every list of statements of the scope, nested definitions left out."""
        return blocks(self.scope.node)

    @cached_property
    def _headers(self) -> list[tuple[Block, int, list[tuple[ast.expr, str]]]]:
        """Every statement, as its block and index, with its own expressions."""
        return [(b, i, list(header_nodes(s))) for b in self.blocks for i, s in enumerate(b.statements)]

    @cached_property
    def _nested(self) -> list[ast.AST]:
        """Every node that runs at another time than the scope's own code."""
        return [] if self.scope.function is None else list(nested_nodes(self.scope.function))

    @cached_property
    def flow(self) -> Flow | None:
        """What names stand for, when the scope is a function."""
        function = self.scope.function
        return None if function is None else Flow(function)

    @cached_property
    def local_names(self) -> frozenset[str]:
        """Names that are local to the scope and so hide the module's."""
        function = self.scope.function
        return frozenset() if function is None else locals_of(function)

    @cached_property
    def matcher(self) -> Matcher:
        """Unification that sees through the aliases of imports and is not misled by locals of their name."""
        return Matcher(self._real)

    def _real(self, name: str) -> str:
        if name not in self.local_names:
            return self.source.names.real(name)
        hides = name in self.source.names.imported or name in self.source.names.defined or name in BUILTINS
        return f"{name}\0local" if hides else name

    @cached_property
    def parameters(self) -> list[str]:
        """The function's parameters, ``*args`` and ``**kwargs`` left out; none for a class."""
        function = self.scope.function
        if function is None:
            return []
        starred = {a.arg for a in (function.args.vararg, function.args.kwarg) if a is not None}
        return [name for name in parameters(function) if name not in starred]

    def find(self, pattern: Template, env: Bindings) -> list[Match]:
        """Search for an expression where the template is one, else for statements."""
        single = len(pattern.body) == 1 and isinstance(pattern.body[0], ast.Expr)
        return self._expressions(pattern, env) if single else self._statements(pattern, env)

    def _statements(self, pattern: Template, env: Bindings) -> list[Match]:
        """Every run of statements that a template fits, at most one for each first statement."""
        matches: list[Match] = []
        for block in self.blocks:
            for start in range(len(block.statements)):
                tail = block.statements[start:]
                for taken, inner in self.matcher.prefix(pattern.body, tail, env):
                    if taken:
                        matches.append(Match(block, start, start + taken, block.statements[start], inner))
                        break
        return matches

    def _expressions(self, pattern: Template, env: Bindings) -> list[Match]:
        """Every expression that a template fits, in source order."""
        wanted = pattern.expression
        matches: list[Match] = []
        for block, index, nodes in self._headers:
            for node, unsure in nodes:
                if not isinstance(wanted, ast.Name) and type(node) is not type(wanted):
                    continue
                for inner in self.matcher.expression(wanted, node, env):
                    matches.append(Match(block, index, index + 1, node, inner, unsure))
                    break
        return sorted(matches, key=lambda match: match.position)

    def find_meant(self, pattern: Template, env: Bindings) -> list[Match]:
        """Search by meaning: local names count as what they stand for, indices of any integer type as one.

        Args:
            pattern: An expression, or one simple statement.
            env: What holes mean.
        """
        wanted: ast.AST = pattern.body[0]
        wanted = wanted.value if isinstance(wanted, ast.Expr) else wanted
        matches: list[Match] = []
        for block, index, nodes in self._headers:
            statement = block.statements[index]
            for node, unsure in [(statement, ""), *nodes]:
                if type(node) is not type(wanted):
                    continue
                meaning = self._meanings(statement).get(id(node), node)
                for inner in self.matcher.expression(wanted, meaning, env):
                    matches.append(Match(block, index, index + 1, node, inner, unsure, meant=True))
                    break
        return sorted(matches, key=lambda match: match.position)

    def _meanings(self, statement: ast.stmt) -> dict[int, ast.AST]:
        return {} if self.flow is None else self.flow.pairs(statement)

    def nested(self, pattern: Template) -> ast.AST | None:
        """Code like a template in a nested function, lambda or class, where it runs at another time; or None."""
        if self.scope.function is None or len(pattern.body) != 1:
            return None
        wanted: ast.AST = pattern.body[0]
        wanted = wanted.value if isinstance(wanted, ast.Expr) else wanted
        for node in self._nested:
            if type(node) is type(wanted) and next(iter(self.matcher.expression(wanted, node, {})), None) is not None:
                return node
        return None

    def meaning(self, node: ast.AST, at: ast.stmt, *, after: bool = False) -> ast.AST:
        """What some code means just before, or just after, a statement."""
        if isinstance(node, ast.Name):  # also where the code that bound a hole assigned to it
            node = ast.Name(node.id, ast.Load())
        return node if self.flow is None else self.flow.meaning(node, at, after=after)

    def meanings(self, env: Bindings, at: ast.stmt, *, after: bool = False) -> dict[str, Bound]:
        """What every hole's code means just before, or just after, a statement."""
        return {
            hole: tuple(self.meaning(n, at, after=after) for n in nodes)
            if isinstance(env[hole], tuple)
            else self.meaning(nodes[0], at, after=after)
            for hole in env
            for nodes in [bound_nodes(env[hole])]
        }


def bound_nodes(value: Bound | None) -> tuple[ast.AST, ...]:
    """The nodes that a hole stands for; a plain name as a node."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (ast.Name(id=value, ctx=ast.Load()),)
    return value if isinstance(value, tuple) else (value,)


_HELD = (ast.stmt, ast.ExceptHandler, ast.match_case, ast.Lambda)
_LOOPS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def header_nodes(statement: ast.stmt) -> Iterator[tuple[ast.expr, str]]:
    """The expressions of a statement itself, without the statements it holds and without nested functions.

    Yields:
        The expression, and why it may not run, or not once, when the statement does.
    """
    first = {ast.While: "in the condition of a loop", ast.Assert: "in an assertion"}.get(type(statement), "")
    stack: list[tuple[ast.AST, str]] = [(statement, first)]
    while stack:
        node, unsure = stack.pop()
        if isinstance(node, ast.expr):
            yield node, unsure
        inner = [c for c in children(node) if not isinstance(c, _HELD)]
        stack.extend((child, unsure or _unsure(node, child)) for child in inner)


def _unsure(node: ast.AST, child: ast.AST) -> str:
    if isinstance(node, ast.BoolOp) and child is not node.values[0]:
        return "behind and/or"
    if isinstance(node, ast.IfExp) and child is not node.test:
        return "in a conditional expression"
    if isinstance(node, _LOOPS):
        return "in a comprehension"
    if isinstance(node, ast.AnnAssign) and child is node.annotation:
        return "in an annotation"
    return ""


def plain(env: Bindings) -> Mapping[str, str]:
    """The holes that stand for one variable, with its name."""
    names = {}
    for hole, value in env.items():
        if isinstance(value, ast.Name):
            names[hole] = value.id
        elif isinstance(value, str):
            names[hole] = value
    return names

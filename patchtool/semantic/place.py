"""One scope under examination: searching it for templates, with what is already known of its holes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from patchtool.semantic.flow import PARAMETER, Flow, Origins, locals_of
from patchtool.semantic.match import Bindings, Bound, Matcher, same
from patchtool.semantic.scopes import Block, Scope, blocks, parameters
from patchtool.semantic.source import Source
from patchtool.semantic.template import Template


@dataclass(frozen=True)
class Hit:
    """One place where a template fits.

    Args:
        block: The list of statements it stands in.
        start: Index of its first statement.
        stop: Index after its last one.
        node: The expression that fits, or the first statement.
        env: What the holes stand for.
    """

    block: Block
    start: int
    stop: int
    node: ast.AST
    env: Bindings

    @property
    def statement(self) -> ast.stmt:
        """The statement that holds the hit, or the first one of several."""
        return self.block.statements[self.start]

    @property
    def statements(self) -> list[ast.stmt]:
        """All statements that the hit takes up."""
        return self.block.statements[self.start : self.stop]

    @property
    def line(self) -> int:
        """One-based line."""
        return getattr(self.node, "lineno", self.statement.lineno)

    @property
    def position(self) -> tuple[int, int]:
        """Line and column, for order in the source."""
        return (self.line, getattr(self.node, "col_offset", 0))


class Place:
    """A scope of one file.

    Args:
        source: The parsed file.
        scope: The definition in it.
    """

    def __init__(self, source: Source, scope: Scope) -> None:
        self.source = source
        self.scope = scope

    @cached_property
    def blocks(self) -> list[Block]:
        """Every list of statements of the scope, nested definitions left out."""
        return blocks(self.scope.node)

    @cached_property
    def flow(self) -> Flow | None:
        """Definitions and uses, when the scope is a function."""
        function = self.scope.function
        return None if function is None else Flow(function)

    @cached_property
    def local_names(self) -> frozenset[str]:
        """Names that are local to the scope and so hide the module's."""
        function = self.scope.function
        return frozenset() if function is None else locals_of(function)

    @cached_property
    def matcher(self) -> Matcher:
        """Unification that sees through the aliases of the module's imports."""
        return Matcher(lambda name: name if name in self.local_names else self.source.names.real(name))

    @cached_property
    def parameters(self) -> list[str]:
        """The function's parameters; none for a class."""
        function = self.scope.function
        return [] if function is None else parameters(function)

    def find_statements(self, pattern: Template, env: Bindings) -> list[Hit]:
        """Every run of statements that a template fits, at most one for each first statement."""
        hits: list[Hit] = []
        for block in self.blocks:
            for start in range(len(block.statements)):
                tail = block.statements[start:]
                for taken, inner in self.matcher.prefix(pattern.body, tail, env):
                    if taken:
                        hits.append(Hit(block, start, start + taken, block.statements[start], inner))
                        break
        return hits

    def find_expressions(self, pattern: Template, env: Bindings) -> list[Hit]:
        """Every expression that a template fits, in source order."""
        wanted = pattern.expression
        hits: list[Hit] = []
        for block in self.blocks:
            for index, statement in enumerate(block.statements):
                for node in header_nodes(statement):
                    for inner in self.matcher.expression(wanted, node, env):
                        hits.append(Hit(block, index, index + 1, node, inner))
                        break
        return sorted(hits, key=lambda hit: hit.position)

    def find(self, pattern: Template, env: Bindings) -> list[Hit]:
        """Search for an expression where the template is one, else for statements."""
        single = len(pattern.body) == 1 and isinstance(pattern.body[0], ast.Expr)
        return self.find_expressions(pattern, env) if single else self.find_statements(pattern, env)

    def origins(self, hit: Hit, hole: str) -> Origins:
        """Where the value of a hole comes from, just before the statement that holds the hit."""
        found = Origins()
        if self.flow is not None:
            for node in bound_nodes(hit.env.get(hole)):
                found |= self.flow.origins(node, hit.statement)
        return found

    def fixed(self, env: Bindings, at: ast.stmt) -> dict[str, frozenset[int] | None]:
        """For every hole that stands for a variable, the assignments its value comes from once a statement has run."""
        if self.flow is None:
            return {}
        made = {n.id: frozenset({id(n)}) for n in header_nodes(at) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        names = [name for name in plain(env).values() if name in self.local_names]
        return {name: made.get(name, self.flow.made_by(name, at)) for name in names}

    def rebound(self, known: Mapping[str, frozenset[int] | None], at: ast.stmt, names: Iterable[str]) -> str | None:
        """The first of some variables whose value at a statement is not the one that was known, or None."""
        for name in sorted(set(names) & set(known)):
            if self.flow is not None and self.flow.made_by(name, at) != known[name]:
                return name
        return None

    def root(self, env: Bindings, hole: str) -> str | None:
        """How a hole's variable is named among origins, or None where it is no plain variable."""
        value = env.get(hole)
        name = value.id if isinstance(value, ast.Name) else value if isinstance(value, str) else None
        if name is None:
            return None
        return PARAMETER + name if name in self.parameters else name


def bound_nodes(value: Bound | None) -> tuple[ast.AST, ...]:
    """The nodes that a hole stands for; a plain name as a node."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (ast.Name(id=value, ctx=ast.Load()),)
    return value if isinstance(value, tuple) else (value,)


def header_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement itself, without the statements it holds and without nested functions."""
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.expr):
            yield node
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case, ast.Lambda)):
                stack.append(child)


def contains(root: ast.AST, wanted: ast.AST) -> bool:
    """Whether equal code stands somewhere inside."""
    return any(same(node, wanted) for node in ast.walk(root))


def plain(env: Bindings) -> Mapping[str, str]:
    """The holes that stand for one variable, with its name."""
    names = {}
    for hole, value in env.items():
        if isinstance(value, ast.Name):
            names[hole] = value.id
        elif isinstance(value, str):
            names[hole] = value
    return names

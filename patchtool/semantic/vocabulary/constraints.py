"""Constraints: what the holes of a template may stand for."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from patchtool.semantic.language.nodes import walk
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.match import Match, bound_nodes
from patchtool.semantic.matching.template import template
from patchtool.semantic.matching.unify import Bindings, same


class Constraint(Protocol):
    """Restricts what one hole of a match is bound to."""

    def refine(self, analysis: ScopeAnalysis, match: Match, hole: str) -> Bindings | None:
        """Return the match's bindings with those that the constraint adds, or None where it is violated."""


class FreeOf(NamedTuple):
    """The hole's value has no part that equals the code of another hole."""

    source: str

    def refine(self, analysis: ScopeAnalysis, match: Match, hole: str) -> Bindings | None:
        """Return the match's bindings, or None where the constraint is violated."""
        values = [analysis.value(node, match.statement) for node in bound_nodes(match.env.get(hole))]
        excluded = bound_nodes(match.env.get(self.source))
        mixed = any(same(node, other) for value in values for node in walk(value) for other in excluded)
        return None if mixed else match.env


class Holds(NamedTuple):
    """The hole's code has a part that this template matches; the template's bindings are added."""

    pattern: str

    def refine(self, analysis: ScopeAnalysis, match: Match, hole: str) -> Bindings | None:
        """Return the bindings with those of the inner template, or None where it does not match."""
        wanted = template(self.pattern).expression
        nodes = (node for root in bound_nodes(match.env.get(hole)) for node in walk(root))
        return next((env for node in nodes for env in analysis.matcher.expression(wanted, node, match.env)), None)


class OneOf(NamedTuple):
    """The hole's value is what one of these templates matches; their bindings are not kept."""

    patterns: tuple[str, ...]

    def refine(self, analysis: ScopeAnalysis, match: Match, hole: str) -> Bindings | None:
        """Return the match's bindings, or None where the constraint is violated."""
        nodes = bound_nodes(match.env.get(hole)) if _runs(analysis, match) else ()
        known = all(_is_one_of(analysis, match, node, self.patterns) for node in nodes)
        return match.env if known else None


class Root(NamedTuple):
    """The hole's value is made of a parameter, or of an attribute of the function's first one.

    What selects, converts or bounds it does not count: ``self.slots[:n].to(device)`` is made of ``self``.
    """

    parameter: bool

    def refine(self, analysis: ScopeAnalysis, match: Match, hole: str) -> Bindings | None:
        """Return the match's bindings, or None where the constraint is violated."""
        own, *others = analysis.parameters or [""]
        wanted = others if self.parameter else [own]
        roots = [_root(analysis.value(node, match.statement)) for node in bound_nodes(match.env.get(hole))]
        return match.env if all(root in wanted for root in roots) or not _runs(analysis, match) else None


def _root(value: ast.AST) -> str:
    while isinstance(value, (ast.Attribute, ast.Subscript, ast.Call)):
        value = value.func if isinstance(value, ast.Call) else value.value
    return value.id if isinstance(value, ast.Name) else ""


class Fixed(NamedTuple):
    """The hole stands for arguments that are constants, globals, or attributes of the function's first parameter."""

    def refine(self, analysis: ScopeAnalysis, match: Match, hole: str) -> Bindings | None:
        """Return the match's bindings, or None where the constraint is violated."""
        own = analysis.parameters[:1]
        values = [analysis.value(node, match.statement) for node in bound_nodes(match.env.get(hole))]
        names = {node.id for value in values for node in walk(value) if isinstance(node, ast.Name)}
        starred = any(isinstance(node, ast.Starred) or getattr(node, "arg", "") is None for node in values)
        return (
            None if starred or (names & analysis.local_names) - {*own} or any("\0" in n for n in names) else match.env
        )


class Keywords(NamedTuple):
    """The hole stands for keywords of these names only, each with a value that one of its templates matches."""

    allowed: Mapping[str, tuple[str, ...]]

    def refine(self, analysis: ScopeAnalysis, match: Match, hole: str) -> Bindings | None:
        """Return the match's bindings, or None where the constraint is violated."""
        for node in bound_nodes(match.env.get(hole)):
            patterns = self.allowed.get(node.arg or "", ()) if isinstance(node, ast.keyword) else ()
            if not (isinstance(node, ast.keyword) and _is_one_of(analysis, match, node.value, patterns)):
                return None
        return match.env


def _runs(analysis: ScopeAnalysis, match: Match) -> bool:
    """Whether a match can be reached: elsewhere nothing has a value, and other checks refuse it."""
    return analysis.flow is None or analysis.flow.reachable(match.statement)


def _is_one_of(analysis: ScopeAnalysis, match: Match, node: ast.AST, patterns: Iterable[str]) -> bool:
    value = node if match.by_value else analysis.value(node, match.statement)
    return any(analysis.matcher.matches(template(text).expression, value, {}) for text in patterns)


def filter_matches(analysis: ScopeAnalysis, matches: Sequence[Match], where: Mapping[str, Constraint]) -> list[Match]:
    """Keep the matches that satisfy all constraints, with the bindings that those add; one match per node."""
    kept: dict[int, Match] = {}
    for match in matches:
        env: Bindings | None = match.env
        for hole, constraint in where.items():
            env = env if env is None else constraint.refine(analysis, match._replace(env=env), hole)
        if env is not None:
            kept.setdefault(id(match.node), match._replace(env=env))
    return list(kept.values())


def violated(analysis: ScopeAnalysis, matches: Sequence[Match], where: Mapping[str, Constraint]) -> str | None:
    """Describe the first hole of a match that is not what it may be, or None."""
    for match in matches:
        for hole, constraint in where.items():
            if constraint.refine(analysis, match, hole) is None:
                code = ", ".join(ast.unparse(node) for node in bound_nodes(match.env.get(hole)))
                return f"{hole} is {code} on line {match.line}, which it must not be"
    return None

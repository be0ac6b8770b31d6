"""Positive evidence: goals, and constraints on what their holes are bound to."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Protocol

from patchtool.semantic.language.nodes import walk
from patchtool.semantic.matching.analysis import Match, ScopeAnalysis, bound_nodes
from patchtool.semantic.matching.template import Template, template
from patchtool.semantic.matching.unify import Bindings, same
from patchtool.semantic.vocabulary.guards import AnyBranch, Guard, execution_problem, exit_problem


class GoalStatus(Enum):
    """How far a goal is met."""

    MISSING = "missing"
    MET = "met"
    INEXACT = "inexact"
    """Part of it is there, or all of it but not exactly as stated."""


@dataclass(frozen=True)
class SearchResult:
    """The result of searching for one goal.

    Args:
        status: How far the goal is met.
        line: Line of the evidence, 0 for none.
        detail: Why it is not met, for the user.
        env: The hole bindings where it is met.
        statement: The statement that meets it.
        too_many: Whether it is there more often than stated.
        nodes: The code that meets it.
    """

    status: GoalStatus
    line: int = 0
    detail: str = ""
    env: Bindings = field(default_factory=dict)
    statement: ast.stmt | None = None
    too_many: bool = False
    nodes: tuple[ast.AST, ...] = ()


MISSING = SearchResult(GoalStatus.MISSING, detail="not found")


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


@dataclass(frozen=True)
class Goal:
    """Code that must be there, a given number of times, under given conditions and in a given order.

    An expression or a simple statement is found by value: ``y = x; f(y)`` meets the goal ``f(x)``. Templates of several
    statements, and all code that a rule is given, are found as they are written.

    Args:
        name: The author's description, for reports.
        patterns: Alternative templates.
        where: Constraints by hole.
        within: Which conditions may enclose it.
        times: How often it must be there.
        ahead_of: A template that must come later in the source.
        behind: A template that must come earlier.
        as_written: Never find it by value.
    """

    name: str
    patterns: tuple[str, ...]
    where: dict[str, Constraint] = field(default_factory=dict)
    within: Guard = field(default_factory=AnyBranch)
    times: int = 1
    ahead_of: str | None = None
    behind: str | None = None
    as_written: bool = False

    def search(self, analysis: ScopeAnalysis, env: Bindings, values: Bindings) -> SearchResult:
        """Search a scope for the goal.

        Args:
            analysis: The scope.
            env: Known hole bindings, as code.
            values: The same, as values.
        """
        candidates: list[Match] = []
        for text in self.patterns:
            pattern = template(text)
            nested = analysis.find_nested(pattern)
            if nested is not None:
                line = getattr(nested, "lineno", 0)
                return SearchResult(GoalStatus.INEXACT, line, "is inside a nested function or class")
            candidates += self._find(analysis, pattern, env, values)
        matches = filter_matches(analysis, candidates, self.where)
        if not matches:
            return MISSING
        if len(matches) != self.times:
            detail = f"found {len(matches)} times, expected {self.times}"
            too_many = len(matches) > self.times
            return SearchResult(GoalStatus.INEXACT, matches[0].line, detail, too_many=too_many)
        for match in matches:
            violation = self._violation(analysis, match, env, values)
            if violation:
                return SearchResult(GoalStatus.INEXACT, match.line, violation)
        first, *_ = matches
        nodes = [n for m in matches for n in (m.statements if isinstance(m.node, ast.stmt) else [m.node])]
        return SearchResult(GoalStatus.MET, first.line, env=first.env, statement=first.statement, nodes=tuple(nodes))

    def _find(self, analysis: ScopeAnalysis, pattern: Template, env: Bindings, values: Bindings) -> list[Match]:
        simple = len(pattern.body) == 1 and not hasattr(pattern.body[0], "body")
        by_value = simple and not self.as_written and analysis.flow is not None
        return analysis.find_by_value(pattern, values) if by_value else analysis.find(pattern, env)

    def _violation(self, analysis: ScopeAnalysis, match: Match, env: Bindings, values: Bindings) -> str | None:
        violation = execution_problem(analysis, match) or self.within.violation(analysis, match)
        if violation:
            return violation
        start = 0
        for text, later in ((self.ahead_of, True), (self.behind, False)):
            if not text:
                continue
            known = match.env if match.by_value else values
            others = self._find(analysis, template(text), {**env, **match.env}, known)
            if not others:
                return f"has no {text!r} {'behind' if later else 'before'} it"
            if any((other.position > match.position) is not later for other in others):
                return f"is in the wrong order with {text!r}"
            start = start if later else max(other.line for other in others)
        return exit_problem(analysis, match, self.within, behind=start)


def filter_matches(analysis: ScopeAnalysis, matches: Sequence[Match], where: dict[str, Constraint]) -> list[Match]:
    """Keep the matches that satisfy all constraints, with the bindings that those add; one match per node."""
    kept: dict[int, Match] = {}
    for match in matches:
        env: Bindings | None = match.env
        for hole, constraint in where.items():
            env = env if env is None else constraint.refine(analysis, match._replace(env=env), hole)
        if env is not None:
            kept.setdefault(id(match.node), match._replace(env=env))
    return list(kept.values())

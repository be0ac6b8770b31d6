"""Positive evidence: code that must be there."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from enum import Enum

from patchtool.semantic.language.nodes import walk
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.match import Match
from patchtool.semantic.matching.meaning import effects_of
from patchtool.semantic.matching.template import Template, template
from patchtool.semantic.matching.unify import Bindings
from patchtool.semantic.vocabulary.constraints import Constraint, filter_matches, violated
from patchtool.semantic.vocabulary.effects import effect_problem, find_effects
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
        statement: The statement that meets it, or the first that does not meet it exactly.
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
            further = self._find(analysis, pattern, env, values)
            candidates += [match for match in further if not any(_overlap(match, other) for other in candidates)]
        matches = filter_matches(analysis, candidates, self.where)
        if not matches:
            found = self._search_effects(analysis, values)
            if found is not None:
                return found
            problem = violated(analysis, candidates, self.where)
            return SearchResult(GoalStatus.MISSING, detail=problem) if problem else MISSING
        if len(matches) != self.times:
            detail = f"found {len(matches)} times, expected {self.times}"
            too_many = len(matches) > self.times
            return SearchResult(GoalStatus.INEXACT, matches[0].line, detail, too_many=too_many)
        for match in matches:
            violation = self._violation(analysis, match, env, values)
            if violation:
                return SearchResult(GoalStatus.INEXACT, match.line, violation, statement=match.statement)
        first, *_ = matches
        nodes = [n for m in matches for n in (m.statements if isinstance(m.node, ast.stmt) else [m.node])]
        return SearchResult(GoalStatus.MET, first.line, env=first.env, statement=first.statement, nodes=tuple(nodes))

    def _search_effects(self, analysis: ScopeAnalysis, values: Bindings) -> SearchResult | None:
        """Search for what the template does; None where that is not stated or not found."""
        body = template(self.patterns[0]).body
        compound = len(body) > 1 or hasattr(body[0], "body")
        effects = effects_of(body) if compound and not self.as_written and analysis.scope.function is not None else None
        if (
            not effects
            or len(self.patterns) > 1
            or self.ahead_of
            or self.behind
            or not isinstance(self.within, AnyBranch)
        ):
            return None
        ways = find_effects(analysis, effects, values, self.where)
        if not ways:
            return None
        first = ways[0][0][1]
        if len(ways) != self.times:
            detail = f"found {len(ways)} times, expected {self.times}"
            return SearchResult(GoalStatus.INEXACT, first.line, detail, too_many=len(ways) > self.times)
        for effect, match in (found for way in ways for found in way):
            problem = effect_problem(analysis, effect, match, alone=False)
            if problem:
                return SearchResult(GoalStatus.INEXACT, match.line, problem, statement=match.statement)
        nodes = tuple(n for way in ways for _, match in way for n in match.statements)
        return SearchResult(GoalStatus.MET, first.line, env=first.env, statement=first.statement, nodes=nodes)

    def _find(self, analysis: ScopeAnalysis, pattern: Template, env: Bindings, values: Bindings) -> list[Match]:
        simple = len(pattern.body) == 1 and not hasattr(pattern.body[0], "body")
        by_value = simple and not self.as_written and analysis.flow is not None
        if by_value:
            return analysis.find_by_value(pattern, values)
        return analysis.find(pattern, env) or (analysis.find(pattern, env, unfold=True) if self.as_written else [])

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
            doubt = next((doubt for other in others if (doubt := execution_problem(analysis, other))), None)
            if doubt:
                return f"needs {text!r}, which {doubt}"
            start = start if later else max(other.line for other in others)
        return exit_problem(analysis, match, self.within, behind=start)


def _overlap(one: Match, other: Match) -> bool:
    """Whether two alternatives match the same code, or one what is inside of the other's."""
    return any(inner.node is node for inner, outer in ((one, other), (other, one)) for node in walk(outer.node))

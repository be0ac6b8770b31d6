"""Evidence that code is there: goals, and the demands on what their holes stand for."""

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
from patchtool.semantic.vocabulary.guards import AnyBranch, Guard, never_runs


class Held(Enum):
    """How far a goal is met."""

    NO = "no"
    YES = "yes"
    WRONG = "wrong"
    """Something of it is there, but not exactly as stated."""


@dataclass(frozen=True)
class SearchResult:
    """What a search for one goal came to.

    Args:
        held: How far it is met.
        where: Line of the evidence, 0 for none.
        why: For a person, when it is not met.
        env: What the holes stand for where it is met.
        at: The statement it was found in.
        several: Whether it is there more often than stated.
    """

    held: Held
    where: int = 0
    why: str = ""
    env: Bindings = field(default_factory=dict)
    at: ast.stmt | None = None
    several: bool = False


class Constraint(Protocol):
    """A demand on one hole of a match."""

    def join(self, analysis: ScopeAnalysis, match: Match, hole: str) -> Bindings | None:
        """The match's bindings and what the demand adds, or None where it is not met."""


class FreeOf(NamedTuple):
    """What the hole's code means has no part that another hole's code means."""

    source: str

    def join(self, analysis: ScopeAnalysis, match: Match, hole: str) -> Bindings | None:
        """The match's bindings, or None where the demand is not met."""
        parts = [analysis.meaning(n, match.statement) for n in bound_nodes(match.env.get(hole))]
        foreign = bound_nodes(match.env.get(self.source))
        mixed = any(same(node, other) for part in parts for node in walk(part) for other in foreign)
        return None if mixed else match.env


class Holds(NamedTuple):
    """The hole's code has a part that this template fits, and its holes join the others."""

    pattern: str

    def join(self, analysis: ScopeAnalysis, match: Match, hole: str) -> Bindings | None:
        """The bindings with those of the inner template, or None when it does not fit."""
        wanted = template(self.pattern).expression
        for root in bound_nodes(match.env.get(hole)):
            for node in walk(root):
                for inner in analysis.matcher.expression(wanted, node, match.env):
                    return inner
        return None


@dataclass(frozen=True)
class Goal:
    """Code that must be there, exactly so often, under these conditions and in this order.

    An expression or a simple statement is looked for by its meaning: ``f(x)`` is there when ``y = x; f(y)`` is. Longer
    templates, and all that a patch is given, are looked for as they are spelled.

    Args:
        name: In the author's words, for reports.
        patterns: Templates; any one of them will do.
        where: Demands on holes.
        within: Which conditions it may stand under.
        times: How often it must be there.
        ahead_of: A template that must come later in the source.
        behind: A template that must come earlier.
        spelled: Whether it is looked for as it is spelled, whatever the template.
    """

    name: str
    patterns: tuple[str, ...]
    where: dict[str, Constraint] = field(default_factory=dict)
    within: Guard = field(default_factory=AnyBranch)
    times: int = 1
    ahead_of: str | None = None
    behind: str | None = None
    spelled: bool = False

    def search(self, analysis: ScopeAnalysis, spelled: Bindings, meant: Bindings) -> SearchResult:
        """Look for the goal in a scope.

        Args:
            analysis: The scope.
            spelled: What the holes known so far stand for.
            meant: What that means.
        """
        found: list[Match] = []
        for text in self.patterns:
            pattern = template(text)
            nested = analysis.nested(pattern)
            if nested is not None:
                return SearchResult(Held.WRONG, getattr(nested, "lineno", 0), "stands in a nested function or class")
            found += self._find(analysis, pattern, spelled, meant)
        matches = constrained(analysis, found, self.where)
        if not matches:
            return SearchResult(Held.NO, why="not there")
        if len(matches) != self.times:
            why = f"there {len(matches)} times, expected {self.times}"
            return SearchResult(Held.WRONG, matches[0].line, why, several=len(matches) > self.times)
        for match in matches:
            objection = self._objection(analysis, match, spelled, meant)
            if objection:
                return SearchResult(Held.WRONG, match.line, objection)
        return SearchResult(Held.YES, matches[0].line, env=matches[0].env, at=matches[0].statement)

    def _find(self, analysis: ScopeAnalysis, pattern: Template, spelled: Bindings, meant: Bindings) -> list[Match]:
        single = len(pattern.body) == 1 and not hasattr(pattern.body[0], "body")
        by_meaning = single and not self.spelled and analysis.flow is not None
        return analysis.find_meant(pattern, meant) if by_meaning else analysis.find(pattern, spelled)

    def _objection(self, analysis: ScopeAnalysis, match: Match, spelled: Bindings, meant: Bindings) -> str | None:
        objection = never_runs(analysis, match) or self.within.objection(analysis, match)
        if objection:
            return objection
        for text, later in ((self.ahead_of, True), (self.behind, False)):
            env = match.env if match.meant else meant
            others = self._find(analysis, template(text), {**spelled, **match.env}, env) if text else []
            if text and not others:
                return f"nothing to be in order with: {text!r}"
            if any((other.position > match.position) is not later for other in others):
                return f"in the wrong order with {text!r}"
        return None


def constrained(analysis: ScopeAnalysis, matches: Sequence[Match], where: dict[str, Constraint]) -> list[Match]:
    """Those matches whose holes meet every demand, with what the demands bind; one for each node."""
    kept: dict[int, Match] = {}
    for match in matches:
        env: Bindings | None = match.env
        for hole, demand in where.items():
            if env is not None:
                here = Match(match.block, match.start, match.stop, match.node, env, match.unsure, match.meant)
                env = demand.join(analysis, here, hole)
        if env is not None:
            kept.setdefault(
                id(match.node), Match(match.block, match.start, match.stop, match.node, env, match.unsure, match.meant)
            )
    return list(kept.values())

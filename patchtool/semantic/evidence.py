"""Evidence that code is there: goals, and the demands on what their holes stand for."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Protocol

from patchtool.semantic.guards import AnyBranch, Guard, never_runs
from patchtool.semantic.match import Bindings, same
from patchtool.semantic.place import Hit, Place, bound_nodes
from patchtool.semantic.template import Template, template
from patchtool.semantic.tree import walk


class Held(Enum):
    """How far a goal is met."""

    NO = "no"
    YES = "yes"
    WRONG = "wrong"
    """Something of it is there, but not exactly as stated."""


@dataclass(frozen=True)
class Finding:
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
    """A demand on one hole of a hit."""

    def join(self, place: Place, hit: Hit, hole: str) -> Bindings | None:
        """The hit's bindings and what the demand adds, or None where it is not met."""


class FreeOf(NamedTuple):
    """What the hole's code means has no part that another hole's code means."""

    source: str

    def join(self, place: Place, hit: Hit, hole: str) -> Bindings | None:
        """The hit's bindings, or None where the demand is not met."""
        parts = [place.meaning(n, hit.statement) for n in bound_nodes(hit.env.get(hole))]
        foreign = bound_nodes(hit.env.get(self.source))
        mixed = any(same(node, other) for part in parts for node in walk(part) for other in foreign)
        return None if mixed else hit.env


class Holds(NamedTuple):
    """The hole's code has a part that this template fits, and its holes join the others."""

    pattern: str

    def join(self, place: Place, hit: Hit, hole: str) -> Bindings | None:
        """The bindings with those of the inner template, or None when it does not fit."""
        wanted = template(self.pattern).expression
        for root in bound_nodes(hit.env.get(hole)):
            for node in walk(root):
                for inner in place.matcher.expression(wanted, node, hit.env):
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

    def search(self, place: Place, spelled: Bindings, meant: Bindings) -> Finding:
        """Look for the goal in a scope.

        Args:
            place: The scope.
            spelled: What the holes known so far stand for.
            meant: What that means.
        """
        found: list[Hit] = []
        for text in self.patterns:
            pattern = template(text)
            nested = place.nested(pattern)
            if nested is not None:
                return Finding(Held.WRONG, getattr(nested, "lineno", 0), "stands in a nested function or class")
            found += self._find(place, pattern, spelled, meant)
        hits = constrained(place, found, self.where)
        if not hits:
            return Finding(Held.NO, why="not there")
        if len(hits) != self.times:
            why = f"there {len(hits)} times, expected {self.times}"
            return Finding(Held.WRONG, hits[0].line, why, several=len(hits) > self.times)
        for hit in hits:
            objection = self._objection(place, hit, spelled, meant)
            if objection:
                return Finding(Held.WRONG, hit.line, objection)
        return Finding(Held.YES, hits[0].line, env=hits[0].env, at=hits[0].statement)

    def _find(self, place: Place, pattern: Template, spelled: Bindings, meant: Bindings) -> list[Hit]:
        single = len(pattern.body) == 1 and not hasattr(pattern.body[0], "body")
        by_meaning = single and not self.spelled and place.flow is not None
        return place.find_meant(pattern, meant) if by_meaning else place.find(pattern, spelled)

    def _objection(self, place: Place, hit: Hit, spelled: Bindings, meant: Bindings) -> str | None:
        objection = never_runs(place, hit) or self.within.objection(place, hit)
        if objection:
            return objection
        for text, later in ((self.ahead_of, True), (self.behind, False)):
            env = hit.env if hit.meant else meant
            others = self._find(place, template(text), {**spelled, **hit.env}, env) if text else []
            if text and not others:
                return f"nothing to be in order with: {text!r}"
            if any((other.position > hit.position) is not later for other in others):
                return f"in the wrong order with {text!r}"
        return None


def constrained(place: Place, hits: Sequence[Hit], where: dict[str, Constraint]) -> list[Hit]:
    """Those hits whose holes meet every demand, with what the demands bind; one for each node."""
    kept: dict[int, Hit] = {}
    for hit in hits:
        env: Bindings | None = hit.env
        for hole, demand in where.items():
            if env is not None:
                here = Hit(hit.block, hit.start, hit.stop, hit.node, env, hit.unsure, hit.meant)
                env = demand.join(place, here, hole)
        if env is not None:
            kept.setdefault(id(hit.node), Hit(hit.block, hit.start, hit.stop, hit.node, env, hit.unsure, hit.meant))
    return list(kept.values())

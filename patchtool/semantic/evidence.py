"""Evidence: what must be there (goals), what must not (negatives), and what shows that the fix is needed (defects)."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from patchtool.semantic.flow import reads, stores
from patchtool.semantic.guards import AnyBranch, Guard
from patchtool.semantic.match import Bindings, bind
from patchtool.semantic.place import Hit, Place, bound_nodes, contains, plain
from patchtool.semantic.scopes import Function, ScopeNode, lineage, replaced_from_outside
from patchtool.semantic.source import bound_names
from patchtool.semantic.template import is_hole, template


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
        at: The statement it was met in.
        many: Whether it is there more often than expected.
    """

    held: Held
    where: int = 0
    why: str = ""
    env: Bindings = field(default_factory=dict)
    at: ast.stmt | None = None
    many: bool = False


class Constraint(Protocol):
    """A demand on one hole of a hit."""

    def holds(self, place: Place, hit: Hit, hole: str) -> bool:
        """Whether the hole's code meets the demand."""


@dataclass(frozen=True)
class FlowsFrom:
    """The value surely comes from another hole's variable, by whatever names it passes."""

    source: str

    def holds(self, place: Place, hit: Hit, hole: str) -> bool:
        """Whether the hole's code meets the demand."""
        root = place.root(hit.env, self.source)
        if root is None:
            wanted = bound_nodes(hit.env.get(self.source))
            return any(contains(node, part) for node in bound_nodes(hit.env.get(hole)) for part in wanted)
        return root in place.origins(hit, hole).surely


@dataclass(frozen=True)
class FreeOf:
    """The value does not come from another hole's variable on any path."""

    source: str

    def holds(self, place: Place, hit: Hit, hole: str) -> bool:
        """Whether the hole's code meets the demand."""
        return place.root(hit.env, self.source) not in place.origins(hit, hole).maybe


@dataclass(frozen=True)
class Holds:
    """The hole's code has a part that this template fits, and its holes join the others."""

    pattern: str

    def holds(self, place: Place, hit: Hit, hole: str) -> bool:
        """Whether the hole's code meets the demand."""
        return self.join(place, hit.env, hole) is not None

    def join(self, place: Place, env: Bindings, hole: str) -> Bindings | None:
        """The bindings with those of the inner template, or None when it does not fit."""
        wanted = template(self.pattern).expression
        for root in bound_nodes(env.get(hole)):
            for node in ast.walk(root):
                for inner in place.matcher.expression(wanted, node, env):
                    return inner
        return None


@dataclass(frozen=True)
class Goal:
    """Code that must be there, exactly so often, under these conditions and in this order.

    Args:
        name: In the author's words, for reports.
        patterns: Templates; any one of them will do.
        where: Demands on holes.
        within: Which conditions it may stand under.
        times: How often it must be there.
        ahead_of: A template that must come later in the source.
        behind: A template that must come earlier.
    """

    name: str
    patterns: tuple[str, ...]
    where: dict[str, Constraint] = field(default_factory=dict)
    within: Guard = field(default_factory=AnyBranch)
    times: int = 1
    ahead_of: str | None = None
    behind: str | None = None

    def search(self, place: Place, env: Bindings) -> Finding:
        """Look for the goal in a scope."""
        hits = constrained(place, [h for p in self.patterns for h in place.find(template(p), env)], self.where)
        if not hits:
            return Finding(Held.NO, why="not there")
        if len(hits) != self.times:
            why = f"there {len(hits)} times, expected {self.times}"
            return Finding(Held.WRONG, hits[0].line, why, many=len(hits) > self.times)
        for hit in hits:
            objection = self._objection(place, hit)
            if objection:
                return Finding(Held.WRONG, hit.line, objection)
        return Finding(Held.YES, hits[0].line, env=hits[0].env, at=hits[0].statement)

    @property
    def holes(self) -> frozenset[str]:
        """The holes of all its templates."""
        return frozenset(hole for pattern in self.patterns for hole in template(pattern).holes)

    def _objection(self, place: Place, hit: Hit) -> str | None:
        if place.flow is not None and not place.flow.reachable(hit.statement):
            return "there, but control never comes to it"
        objection = self.within.objection(place, hit)
        if objection:
            return objection
        for text, later in ((self.ahead_of, True), (self.behind, False)):
            others = place.find(template(text), hit.env) if text else []
            if text and not others:
                return f"nothing to be in order with: {text!r}"
            if any((other.position > hit.position) is not later for other in others):
                return f"in the wrong order with {text!r}"
        return None


@dataclass(frozen=True)
class Method:
    """A class must define this method once, plainly, with this body.

    Args:
        name: In the author's words.
        code: A ``def`` with its body; further parameters, annotations, defaults and the docstring do not count.
    """

    name: str
    code: str

    @property
    def hole(self) -> str | None:
        """The hole that stands for the method's name, if it may have any."""
        wanted = template(self.code).body[0]
        return wanted.name if isinstance(wanted, ast.FunctionDef) and is_hole(wanted.name) else None

    def search(self, place: Place, env: Bindings) -> Finding:
        """Look for the method in the class, then in its bases as far as this file defines them."""
        wanted = template(self.code).body[0]
        if not isinstance(wanted, ast.FunctionDef):
            raise TypeError("a method goal is a def")
        for owner in lineage(place.source.tree, place.scope.node):
            finding = self._in_class(place, wanted, owner, env)
            if finding.held is not Held.NO:
                return finding
        return Finding(Held.NO, why="not there")

    def _in_class(self, place: Place, wanted: ast.FunctionDef, owner: ScopeNode, env: Bindings) -> Finding:
        found: list[tuple[ast.FunctionDef, Bindings]] = []
        for statement in owner.body:
            if isinstance(statement, ast.FunctionDef):
                named = bind(env, wanted.name, statement.name) if is_hole(wanted.name) else env
                if named is not None and (is_hole(wanted.name) or statement.name == wanted.name):
                    found += [(statement, inner) for inner in _body_fits(place, wanted, statement, named)]
        known = named_as(wanted.name, env)
        names = {method.name for method, _ in found} or {known}
        symbol = f"{getattr(owner, 'name', '')}.{sorted(names)[0]}"
        outside = replaced_from_outside(place.source, symbol)
        if outside:
            return Finding(Held.WRONG, outside, f"{sorted(names)[0]} is replaced from outside the class")
        bindings = [s for s in owner.body for name in bound_names(s) if name in names]
        if len(found) == 1 and len(bindings) == 1:
            return Finding(Held.YES, found[0][0].lineno, env=found[0][1])
        if len(bindings) > 1:
            return Finding(Held.WRONG, bindings[0].lineno, f"{sorted(names)[0]} is bound {len(bindings)} times")
        if bindings:
            return Finding(Held.WRONG, bindings[0].lineno, f"{known} is there with another body")
        return Finding(Held.NO)


def named_as(name: str, env: Bindings) -> str:
    """An identifier, or what its hole stands for."""
    value = env.get(name)
    return value if isinstance(value, str) else name


def _body_fits(place: Place, wanted: ast.FunctionDef, method: Function, env: Bindings) -> list[Bindings]:
    body = method.body[1:] if ast.get_docstring(method, clean=False) is not None else method.body
    names = [a.arg for a in wanted.args.args]
    have = [a.arg for a in method.args.args]
    inner: Bindings | None = env
    for want, got in zip(names, have):
        if is_hole(want) and inner is not None:
            inner = bind(inner, want, got)
    if inner is None or len(have) < len(names):
        return []
    return list(place.matcher.statements(wanted.body, body, inner))[:1]


AnyGoal = Goal | Method


def constrained(place: Place, hits: Sequence[Hit], where: dict[str, Constraint]) -> list[Hit]:
    """Those hits whose holes meet every demand, with what the demands bind; one for each node."""
    kept: dict[int, Hit] = {}
    for hit in hits:
        env: Bindings | None = hit.env
        for hole, demand in where.items():
            if env is None:
                break
            if isinstance(demand, Holds):
                env = demand.join(place, env, hole)
            elif not demand.holds(place, Hit(hit.block, hit.start, hit.stop, hit.node, env), hole):
                env = None
        if env is not None:
            kept.setdefault(id(hit.node), Hit(hit.block, hit.start, hit.stop, hit.node, env))
    return list(kept.values())


@dataclass(frozen=True)
class Never:
    """Code that must not be there, apart from the sites about to be replaced.

    Args:
        name: What is wrong when it is there.
        pattern: A template.
    """

    name: str
    pattern: str

    def objection(self, place: Place, env: Bindings, replaced: Sequence[ast.stmt]) -> str | None:
        """Where it is there, or None."""
        taken = {id(node) for statement in replaced for node in ast.walk(statement)}
        hits = [hit for hit in place.find(template(self.pattern), env) if id(hit.node) not in taken]
        return f"{self.name} (line {hits[0].line})" if hits else None


@dataclass(frozen=True)
class Only:
    """Every mention of some code must be part of a known use; an unknown one is not understood.

    Args:
        name: What is wrong when it is used otherwise.
        mention: A template of the code in question.
        uses: Templates of the known uses.
    """

    name: str
    mention: str
    uses: tuple[str, ...]

    def objection(self, place: Place, env: Bindings, replaced: Sequence[ast.stmt]) -> str | None:
        """Where it is used otherwise, or None."""
        known = {id(node) for statement in replaced for node in ast.walk(statement)}
        for use in self.uses:
            for hit in place.find(template(use), env):
                nodes = hit.statements if isinstance(hit.node, ast.stmt) else [hit.node]
                known |= {id(node) for root in nodes for node in ast.walk(root)}
        for statement in place.scope.node.body:
            for node in ast.walk(statement):
                if isinstance(node, ast.expr) and id(node) not in known and self._mentioned(place, node, env):
                    return f"{self.name} (line {node.lineno})"
        return None

    def _mentioned(self, place: Place, node: ast.expr, env: Bindings) -> bool:
        wanted = template(self.mention).expression
        return next(iter(place.matcher.expression(wanted, node, env)), None) is not None


Negative = Never | Only


@dataclass(frozen=True)
class Unread:
    """Parameters that nobody reads, binds or deletes: what they carry is lost."""

    holes: tuple[str, ...]

    def objection(self, place: Place, env: Bindings) -> str | None:
        """Why the defect is not there, or None when it is."""
        names = plain(env)
        for hole in self.holes:
            name = names.get(hole, "")
            used = reads(place.scope.node.body, name) or stores(place.scope.node.body, name)
            if used:
                return f"{name} is already used on line {getattr(used[0], 'lineno', 0)}"
        return None


@dataclass(frozen=True)
class Unmentioned:
    """Attributes and methods that the scope does not speak of at all."""

    names: tuple[str, ...]

    def objection(self, place: Place, env: Bindings) -> str | None:  # noqa: ARG002 -- the Protocol's shape
        """Why the defect is not there, or None when it is."""
        for statement in place.scope.node.body:
            for node in ast.walk(statement):
                for name in self.names:
                    if name in (
                        getattr(node, "attr", None),
                        getattr(node, "name", None),
                        getattr(node, "id", None),
                    ):
                        return f"{name} is already spoken of on line {getattr(node, 'lineno', 0)}"
                    if isinstance(node, ast.Constant) and node.value == name:
                        return f"{name} is already spoken of on line {node.lineno}"
        return None


Defect = Unread | Unmentioned

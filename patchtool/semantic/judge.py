"""The judgement: from rules and evidence to one named state, by the decision table of the architecture."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from patchtool.semantic.edits import Edit, Splice
from patchtool.semantic.evidence import Finding, Goal, Held, Method
from patchtool.semantic.match import Bindings, Bound
from patchtool.semantic.patch import Rule, Transform
from patchtool.semantic.place import Hit, Place, plain
from patchtool.semantic.scopes import Scope, ScopeProblem, find_scope, parameters, unresolved_bases
from patchtool.semantic.source import Source
from patchtool.semantic.template import template


@dataclass(frozen=True)
class Problem:
    """Why a rule cannot be applied: a short code and one sentence."""

    reason: str
    detail: str
    ambiguous: bool = False


@dataclass
class RuleVerdict:
    """What one rule came to in one file.

    Args:
        rule: The rule.
        path: The file.
        places: The scopes it was examined in.
        goals: Each goal by name with what was found.
        hits: Where the anchor stands while the defect is there.
        splices: What would be written, with the scope.
        problem: Why nothing can be written.
        objection: Negative evidence: what is there and must not be.
        found: What the holes stand for where goals are met.
    """

    rule: Rule
    path: str
    places: list[Place] = field(default_factory=list)
    goals: dict[str, Finding] = field(default_factory=dict)
    hits: list[tuple[Place, Hit]] = field(default_factory=list)
    splices: list[tuple[Place, Splice]] = field(default_factory=list)
    problem: Problem | None = None
    objection: str | None = None
    found: dict[str, Bound] = field(default_factory=dict)

    @property
    def landed(self) -> bool:
        """All goals there exactly as stated, nothing that must not be there, no site left."""
        return self.complete and not self.objection and not self.hits

    @property
    def complete(self) -> bool:
        """All goals there exactly as stated."""
        return bool(self.goals) and all(f.held is Held.YES for f in self.goals.values())

    def note(self, problem: Problem) -> None:
        """Keep the first problem: what follows may only be its consequence."""
        self.problem = self.problem or problem

    @property
    def untouched(self) -> bool:
        """Nothing of any goal there."""
        return all(f.held is Held.NO for f in self.goals.values())


def examine(rule: Rule, source: Source, names: dict[str, str]) -> RuleVerdict:
    """Look at one rule in one file.

    Args:
        rule: The rule.
        source: The parsed file.
        names: Holes for names that the patch introduces; where a goal finds the code under another name, it is put here.
    """
    verdict = RuleVerdict(rule, source.path)
    scope = find_scope(source, rule.scope)
    if isinstance(scope, ScopeProblem):
        verdict.problem = Problem(scope.reason, scope.detail, scope.reason == "scope-ambiguous")
        return verdict
    if rule.extends:
        strange = unresolved_bases(source.tree, scope.node, rule.extends)
        if strange:
            detail = f"{rule.scope} has {', '.join(strange)} among its bases; it may behave otherwise"
            verdict.problem = Problem("base-unknown", detail)
    scopes = list(_scopes(rule, source, scope))
    if not scopes:
        verdict.problem = Problem("anchor-missing", f"{rule.scope} has no method that the rule is about")
    for found, env in scopes:
        place = Place(source, found)
        verdict.places.append(place)
        _examine_place(verdict, place, env, names)
    return verdict


def _scopes(rule: Rule, source: Source, scope: Scope) -> Iterator[tuple[Scope, Bindings]]:
    if rule.methods is None:
        yield scope, {}
        return
    wanted = rule.methods
    for statement in scope.node.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and fnmatchcase(statement.name, wanted.names):
            if wanted.having in parameters(statement):
                inner = find_scope(source, f"{rule.scope}.{statement.name}")
                if isinstance(inner, Scope):
                    yield inner, {wanted.hole: statement.name}


def _examine_place(verdict: RuleVerdict, place: Place, env: Bindings, names: dict[str, str]) -> None:
    rule = verdict.rule
    known = _with_roles(rule, place, env)
    if isinstance(known, Problem):
        verdict.note(known)
        return
    fixed: Fixed = {name: frozenset() for name in plain(known).values() if name in place.parameters}
    for given in rule.given:
        finding = given.search(place, known)
        if finding.held is not Held.YES or finding.at is None:
            detail = f"{given.name}: {finding.why} in {place.scope.symbol}"
            verdict.note(Problem("given-missing", detail, finding.many))
            return
        known = finding.env
        met = place.fixed({hole: known[hole] for hole in given.holes if hole in known}, finding.at)
        changed = place.rebound(fixed, finding.at, met)
        if changed:
            verdict.note(Problem("name-rebound", f"{changed} has another value at {given.name} (line {finding.where})"))
            return
        fixed = {**met, **fixed}
    _search_goals(verdict, place, known, names, fixed)
    _find_sites(verdict, place, {**known, **{k: v for k, v in names.items() if k not in known}}, fixed)


def _with_roles(rule: Rule, place: Place, env: Bindings) -> Bindings | Problem:
    known = dict(env)
    for hole, role in rule.roles.items():
        found = [name for name in role.spellings if name in place.parameters]
        if len(found) != 1:
            how = "no parameter" if not found else "more than one parameter"
            detail = f"{place.scope.symbol} has {how} named {' or '.join(role.spellings)}"
            return Problem("role-missing", detail, bool(found))
        known[hole] = found[0]
    return known


Fixed = Mapping[str, "frozenset[int] | None"]
"""For each variable that a hole stands for, the assignments that its value comes from."""


def _search_goals(verdict: RuleVerdict, place: Place, env: Bindings, names: dict[str, str], fixed: Fixed) -> None:
    for wanted in verdict.rule.goals:
        own = wanted.hole if isinstance(wanted, Method) else None
        finding = wanted.search(place, {**env, **{hole: name for hole, name in names.items() if hole != own}})
        if finding.held is Held.NO and own in names:  # under the patch's own name it would be in the way
            finding = wanted.search(place, {**env, **names})
        if isinstance(wanted, Goal) and finding.at is not None:
            used = plain({hole: env[hole] for hole in wanted.holes if hole in env})
            changed = place.rebound(fixed, finding.at, used.values())
            if changed:
                finding = Finding(Held.WRONG, finding.where, f"{changed} has another value there")
        if finding.held is Held.YES:
            verdict.found.update(finding.env)
        value = finding.env.get(own or "")
        if own in names and isinstance(value, str):
            names[own] = value
        verdict.goals[wanted.name] = _both(verdict.goals.get(wanted.name), finding, place)


def _both(earlier: Finding | None, finding: Finding, place: Place) -> Finding:
    """A goal that is stated for several methods holds only where it holds in all of them."""
    if earlier is None or earlier.held is finding.held:
        return earlier or finding
    return Finding(Held.WRONG, max(earlier.where, finding.where), f"there in some methods, not in {place.scope.symbol}")


def _find_sites(verdict: RuleVerdict, place: Place, env: Bindings, fixed: Fixed) -> None:
    rule = verdict.rule
    objection = rule.defect.objection(place, env) if rule.defect else None
    hits = [] if objection else _anchor_hits(rule, place, env)
    if rule.replaces:
        replaced = [statement for hit in hits for statement in hit.statements]
    else:
        replaced = []
        if verdict.complete or (rule.defect is None and not verdict.untouched):
            hits = []  # an anchor is no defect: the goals say what is missing
    for negative in rule.never:
        found = negative.objection(place, hits[0].env if hits else {**verdict.found, **env}, replaced)
        verdict.objection = verdict.objection or found
    verdict.hits += [(place, hit) for hit in hits]
    if objection:
        verdict.note(Problem("defect-missing", f"{rule.name}: the defect is not there: {objection}"))
    elif len(hits) != rule.sites:
        few = len(hits) < rule.sites
        detail = f"{rule.name}: {len(hits)} sites in {place.scope.symbol}, expected {rule.sites}"
        verdict.note(Problem("anchor-missing" if few else "sites-too-many", detail, ambiguous=not few))
    else:
        _plan(verdict, place, hits, fixed)


def _plan(verdict: RuleVerdict, place: Place, hits: list[Hit], fixed: Fixed) -> None:
    for hit in hits:
        changed = place.rebound(fixed, hit.statement, plain(_used(verdict.rule, hit.env)).values())
        if changed:
            detail = f"{verdict.rule.name}: {changed} has another value at the site (line {hit.line})"
            verdict.note(Problem("name-rebound", detail))
        if isinstance(verdict.rule.edit, Transform):
            continue
        splice = verdict.rule.edit.splice(place, hit)
        if isinstance(splice, str):
            verdict.note(Problem("site-refused", f"{verdict.rule.name}: {splice} (line {hit.line})"))
        else:
            verdict.splices.append((place, splice))


def _used(rule: Rule, env: Bindings) -> Bindings:
    """What the holes of a rule's edit stand for."""
    if not isinstance(rule.edit, Edit):
        return {}
    holes = template(rule.edit.anchor).holes | template(rule.edit.code).holes
    return {hole: env[hole] for hole in holes if hole in env}


def _anchor_hits(rule: Rule, place: Place, env: Bindings) -> list[Hit]:
    if isinstance(rule.edit, Transform):
        return place.find(template(rule.edit.anchor), env)
    return rule.edit.sites(place, env)

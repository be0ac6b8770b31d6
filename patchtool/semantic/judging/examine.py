"""The judgement: from rules and evidence to one named state, by the decision table of the architecture."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import NamedTuple

from patchtool.semantic.language.scopes import (
    Function,
    Scope,
    ScopeProblem,
    find_scope,
    lineage,
    parameters,
    unresolved_bases,
)
from patchtool.semantic.language.source import Source, bound_names
from patchtool.semantic.matching.analysis import Match, ScopeAnalysis
from patchtool.semantic.matching.template import template
from patchtool.semantic.matching.unify import Bindings
from patchtool.semantic.vocabulary.edits import Replacement
from patchtool.semantic.vocabulary.goals import Held, SearchResult
from patchtool.semantic.vocabulary.guards import AnyBranch
from patchtool.semantic.vocabulary.methods import Method
from patchtool.semantic.vocabulary.patch import Methods, Parameter, Rule, Transform


class Problem(NamedTuple):
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
        matches: Where the anchor stands while the defect is there.
        replacements: What would be written, with the scope.
        problem: Why nothing can be written.
        objection: Negative evidence: what is there and must not be.
    """

    rule: Rule
    path: str
    analyses: list[ScopeAnalysis] = field(default_factory=list)
    goals: dict[str, SearchResult] = field(default_factory=dict)
    matches: list[tuple[ScopeAnalysis, Match]] = field(default_factory=list)
    replacements: list[tuple[ScopeAnalysis, Replacement]] = field(default_factory=list)
    problem: Problem | None = None
    objection: str | None = None

    @property
    def landed(self) -> bool:
        """All goals there exactly as stated, nothing that must not be there, no site left."""
        return self.complete and not self.objection and not self.matches

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
        names: Holes for names that the patch introduces; where a goal finds the code under another name, that one
            is put here.
    """
    verdict = RuleVerdict(rule, source.path)
    scope = find_scope(source, rule.scope)
    if isinstance(scope, ScopeProblem):
        verdict.problem = Problem(scope.reason, scope.detail, scope.reason == "scope-ambiguous")
        return verdict
    if rule.extends:
        strange = unresolved_bases(source, scope.node, rule.extends)
        if strange:
            detail = f"{rule.scope} has {', '.join(strange)} among its bases; it may behave otherwise"
            verdict.problem = Problem("base-unknown", detail)
    scopes = [(scope, {})] if rule.methods is None else _methods(verdict, rule.methods, source, scope)
    if not scopes:
        verdict.note(Problem("anchor-missing", f"{rule.scope} has no method that the rule is about"))
    for found, env in scopes:
        analysis = ScopeAnalysis(source, found)
        verdict.analyses.append(analysis)
        _examine_place(verdict, analysis, env, names)
    return verdict


def _methods(verdict: RuleVerdict, wanted: Methods, source: Source, scope: Scope) -> list[tuple[Scope, dict[str, str]]]:
    """The methods that a rule is about; one that fits by name and is neither is a problem."""
    found: list[tuple[Scope, dict[str, str]]] = []
    for statement in scope.node.body:
        if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if not fnmatchcase(statement.name, wanted.names):
            continue
        symbol = f"{scope.symbol}.{statement.name}"
        role = parameter_for(wanted.having, statement)
        if role is None and not set(wanted.otherwise) & set(parameters(statement)):
            detail = f"{symbol} has none of the parameters that the rule knows"
            verdict.note(Problem("role-missing", detail))
        elif role is not None:
            inner = find_scope(source, symbol)
            if isinstance(inner, Scope):
                found.append((inner, {wanted.hole: statement.name, wanted.role: role}))
            else:
                verdict.note(Problem(inner.reason, inner.detail, inner.reason == "scope-ambiguous"))
    inherited = _inherited(wanted, source, scope)
    if inherited:
        detail = f"{inherited} in a base class is one of the methods that the rule is about; edits are never inherited"
        verdict.note(Problem("method-in-base", detail))
    return found


def _inherited(wanted: Methods, source: Source, scope: Scope) -> str | None:
    """A method of a base class in the same file that the rule is about, unless the class has its own."""
    own = {name for statement in scope.node.body for name in bound_names(statement)}
    for base in lineage(source.tree, scope.node)[1:]:
        for method in (m for m in base.body if isinstance(m, ast.FunctionDef) and m.name not in own):
            if fnmatchcase(method.name, wanted.names) and parameter_for(wanted.having, method) is not None:
                return f"{getattr(base, 'name', '')}.{method.name}"
    return None


def parameter_for(role: Parameter, function: Function) -> str | None:
    """The one parameter that plays a role: by a spelling it is known under, else by its annotation; or None."""
    every = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    found = [a.arg for a in every if a.arg in role.spellings]
    if not found and role.typed:
        found = [a.arg for a in every if a.annotation is not None and _type_name(a.annotation) == role.typed]
    return found[0] if len(found) == 1 else None


def _type_name(annotation: ast.expr) -> str:
    text = annotation.value if isinstance(annotation, ast.Constant) else ast.unparse(annotation)
    return str(text).rpartition(".")[2]


def _examine_place(verdict: RuleVerdict, analysis: ScopeAnalysis, env: Bindings, names: dict[str, str]) -> None:
    rule = verdict.rule
    known = _with_roles(rule, analysis, env)
    if isinstance(known, Problem):
        verdict.note(known)
        return
    meant: Bindings = dict(known)
    for given in rule.given:
        result = replace(given, within=AnyBranch()).search(analysis, known, meant)
        if result.held is not Held.YES or result.at is None:
            detail = f"{given.name}: {result.why} in {analysis.scope.symbol}"
            verdict.note(Problem("given-missing", detail, result.several))
            return
        surely = given.search(analysis, known, meant)
        if surely.held is not Held.YES:  # matters to writing; what landed may stand as it likes
            verdict.note(Problem("given-refused", f"{given.name}: {surely.why} (line {surely.where})"))
        new = {hole: value for hole, value in result.env.items() if hole not in known}
        analysis.bound_at.update(dict.fromkeys(new, result.at))
        known = {**known, **new}
        meant = {**meant, **analysis.meanings(new, result.at, after=True)}
    _search_goals(verdict, analysis, known, meant, names)
    _find_sites(verdict, analysis, {**known, **{k: v for k, v in names.items() if k not in known}})


def _with_roles(rule: Rule, analysis: ScopeAnalysis, env: Bindings) -> Bindings | Problem:
    known = dict(env)
    for hole, role in rule.roles.items():
        function = analysis.scope.function
        found = None if function is None else parameter_for(role, function)
        if found is None:
            several = len(set(role.spellings) & set(analysis.parameters)) > 1
            how = "several parameters" if several else "no parameter"
            detail = f"{analysis.scope.symbol} has {how} named {' or '.join(role.spellings)}"
            return Problem("role-missing", detail, several)
        known[hole] = found
    return known


def _search_goals(
    verdict: RuleVerdict, analysis: ScopeAnalysis, spelled: Bindings, meant: Bindings, names: dict[str, str]
) -> None:
    for wanted in verdict.rule.goals:
        own = wanted.hole if isinstance(wanted, Method) else None
        others = {hole: name for hole, name in names.items() if hole != own}
        result = wanted.search(analysis, {**spelled, **others}, {**meant, **others})
        if result.held is Held.NO and own in names:  # under the patch's own name it would be in the way
            result = wanted.search(analysis, {**spelled, **names}, {**meant, **names})
        value = result.env.get(own or "")
        if own in names and isinstance(value, str):
            names[own] = value
        verdict.goals[wanted.name] = _both(verdict.goals.get(wanted.name), result, analysis)


def _both(earlier: SearchResult | None, result: SearchResult, analysis: ScopeAnalysis) -> SearchResult:
    """A goal that is stated for several methods holds only where it holds in all of them."""
    if earlier is None or earlier.held is result.held:
        return earlier or result
    return SearchResult(
        Held.WRONG, max(earlier.where, result.where), f"there in some methods, not in {analysis.scope.symbol}"
    )


def _find_sites(verdict: RuleVerdict, analysis: ScopeAnalysis, env: Bindings) -> None:
    rule = verdict.rule
    objection = rule.defect.objection(analysis, env) if rule.defect else None
    matches = [] if objection else _anchor_hits(rule, analysis, env)
    if rule.replaces:
        replaced = [statement for match in matches for statement in match.statements]
    else:
        replaced = []
        if not verdict.untouched:
            matches = []  # an anchor is no defect: the goals say what is missing
    for negative in rule.never:
        found = negative.objection(analysis, matches[0].env if matches else env, replaced)
        verdict.objection = verdict.objection or found
    verdict.matches += [(analysis, match) for match in matches]
    if objection:
        verdict.note(Problem("defect-missing", f"{rule.name}: the defect is not there: {objection}"))
    elif len(matches) != rule.sites:
        few = len(matches) < rule.sites
        detail = f"{rule.name}: {len(matches)} sites in {analysis.scope.symbol}, expected {rule.sites}"
        verdict.note(Problem("anchor-missing" if few else "sites-too-many", detail, ambiguous=not few))
    else:
        _plan(verdict, analysis, matches)


def _plan(verdict: RuleVerdict, analysis: ScopeAnalysis, matches: list[Match]) -> None:
    for match in matches:
        if isinstance(verdict.rule.edit, Transform):
            continue
        replacement = verdict.rule.edit.replacement(analysis, match)
        if isinstance(replacement, str):
            verdict.note(Problem("site-refused", f"{verdict.rule.name}: {replacement} (line {match.line})"))
        else:
            verdict.replacements.append((analysis, replacement))


def _anchor_hits(rule: Rule, analysis: ScopeAnalysis, env: Bindings) -> list[Match]:
    if isinstance(rule.edit, Transform):
        return analysis.find(template(rule.edit.anchor), env)
    return rule.edit.sites(analysis, env)

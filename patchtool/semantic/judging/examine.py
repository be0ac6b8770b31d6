"""Examining one rule in one file: which goals are met, where the sites are, and what prevents the edit."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from patchtool.semantic.language.scopes import (
    Function,
    Problem,
    Scope,
    find_scope,
    local_mro,
    parameters,
    unresolved_bases,
)
from patchtool.semantic.language.source import Source, bound_names
from patchtool.semantic.matching.analysis import Match, ScopeAnalysis
from patchtool.semantic.matching.template import template
from patchtool.semantic.matching.unify import Bindings
from patchtool.semantic.vocabulary.edits import Replacement
from patchtool.semantic.vocabulary.goals import GoalStatus, SearchResult
from patchtool.semantic.vocabulary.guards import AnyBranch
from patchtool.semantic.vocabulary.methods import Method
from patchtool.semantic.vocabulary.patch import Methods, Parameter, Rule, Transform


@dataclass
class RuleVerdict:
    """The findings for one rule in one file.

    Args:
        rule: The rule.
        path: The file.
        analyses: The scopes in which it was examined.
        goals: The result for each goal, by name.
        matches: The sites, each with its scope.
        replacements: What would be written, each with its scope.
        problem: Why nothing can be written.
        violation: Code that is there and must not be.
    """

    rule: Rule
    path: str
    analyses: list[ScopeAnalysis] = field(default_factory=list)
    goals: dict[str, SearchResult] = field(default_factory=dict)
    matches: list[tuple[ScopeAnalysis, Match]] = field(default_factory=list)
    replacements: list[tuple[ScopeAnalysis, Replacement]] = field(default_factory=list)
    problem: Problem | None = None
    violation: str | None = None

    @property
    def landed(self) -> bool:
        """Whether all goals are met, nothing forbidden is there, and no site is left."""
        return self.all_goals_met and not self.violation and not self.matches

    @property
    def all_goals_met(self) -> bool:
        """Whether all goals are met exactly as stated."""
        return bool(self.goals) and all(result.status is GoalStatus.MET for result in self.goals.values())

    @property
    def all_goals_missing(self) -> bool:
        """Whether nothing of any goal is there."""
        return all(result.status is GoalStatus.MISSING for result in self.goals.values())

    def add_problem(self, problem: Problem) -> None:
        """Record the first problem; later ones may be its consequences."""
        self.problem = self.problem or problem


def examine(rule: Rule, source: Source, names: dict[str, str]) -> RuleVerdict:
    """Examine one rule in one file.

    Args:
        rule: The rule.
        source: The parsed file.
        names: Names that the patch introduces, by hole; updated where a goal finds the code under another name.
    """
    verdict = RuleVerdict(rule, source.path)
    scope = find_scope(source, rule.scope)
    if isinstance(scope, Problem):
        verdict.problem = scope
        return verdict
    unresolved = unresolved_bases(source, scope.node, rule.extends) if rule.extends else []
    if unresolved:
        detail = f"{rule.scope} has {', '.join(unresolved)} among its bases, which may change its behaviour"
        verdict.problem = Problem("base-unknown", detail)
    scopes = [(scope, {})] if rule.methods is None else _select_methods(verdict, rule.methods, source, scope)
    if not scopes:
        verdict.add_problem(Problem("anchor-missing", f"{rule.scope} has no method that the rule applies to"))
    for chosen, env in scopes:
        analysis = ScopeAnalysis(source, chosen)
        verdict.analyses.append(analysis)
        _examine_scope(verdict, analysis, env, names)
    return verdict


def _select_methods(
    verdict: RuleVerdict, wanted: Methods, source: Source, scope: Scope
) -> list[tuple[Scope, dict[str, str]]]:
    """The methods that a rule applies to, with bindings; one that it neither covers nor skips is a problem."""
    selected: list[tuple[Scope, dict[str, str]]] = []
    for method in scope.node.body:
        if not isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if not fnmatchcase(method.name, wanted.names):
            continue
        symbol = f"{scope.symbol}.{method.name}"
        parameter = find_parameter(wanted.having, method)
        if parameter is None:
            if not set(wanted.otherwise) & set(parameters(method)):
                expected = " or ".join((*wanted.having.spellings, *wanted.otherwise))
                verdict.add_problem(Problem("role-missing", f"{symbol} has no parameter named {expected}"))
            continue
        resolved = find_scope(source, symbol)
        if isinstance(resolved, Scope):
            selected.append((resolved, {wanted.hole: method.name, wanted.role: parameter}))
        else:
            verdict.add_problem(resolved)
    inherited = _inherited_method(wanted, source, scope)
    if inherited:
        detail = f"the rule applies to {inherited} of a base class; edits are not inherited"
        verdict.add_problem(Problem("method-in-base", detail))
    return selected


def _inherited_method(wanted: Methods, source: Source, scope: Scope) -> str | None:
    """A method of a base class in the same file that the rule applies to and the class does not override."""
    own = {name for statement in scope.node.body for name in bound_names(statement)}
    for base in local_mro(source.tree, scope.node)[1:]:
        for method in (m for m in base.body if isinstance(m, ast.FunctionDef) and m.name not in own):
            if fnmatchcase(method.name, wanted.names) and find_parameter(wanted.having, method) is not None:
                return f"{getattr(base, 'name', '')}.{method.name}"
    return None


def find_parameter(role: Parameter, function: Function) -> str | None:
    """Return the one parameter that has a role, by its name or else by its annotation, or None."""
    every = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    names = [a.arg for a in every if a.arg in role.spellings]
    if not names and role.typed:
        names = [a.arg for a in every if a.annotation is not None and _type_name(a.annotation) == role.typed]
    return names[0] if len(names) == 1 else None


def _type_name(annotation: ast.expr) -> str:
    text = annotation.value if isinstance(annotation, ast.Constant) else ast.unparse(annotation)
    return str(text).rpartition(".")[2]


def _examine_scope(verdict: RuleVerdict, analysis: ScopeAnalysis, methods: Bindings, names: dict[str, str]) -> None:
    rule = verdict.rule
    env = _bind_roles(rule, analysis, methods)
    if isinstance(env, Problem):
        verdict.add_problem(env)
        return
    values: Bindings = dict(env)
    for given in rule.given:
        result = replace(given, within=AnyBranch()).search(analysis, env, values)
        if result.status is not GoalStatus.MET or result.statement is None:
            detail = f"{given.name}: {result.detail} in {analysis.scope.symbol}"
            verdict.add_problem(Problem("given-missing", detail, result.too_many))
            return
        guarded = given.search(analysis, env, values)
        if guarded.status is not GoalStatus.MET:  # prevents writing only: upstream's own fix may be under any condition
            verdict.add_problem(Problem("given-refused", f"{given.name}: {guarded.detail} (line {guarded.line})"))
        new = {hole: value for hole, value in result.env.items() if hole not in env}
        analysis.binding_statements.update(dict.fromkeys(new, result.statement))
        env = {**env, **new}
        values = {**values, **analysis.values(new, result.statement, after=True)}
    _search_goals(verdict, analysis, env, values, names)
    _find_sites(verdict, analysis, {**names, **env})


def _bind_roles(rule: Rule, analysis: ScopeAnalysis, methods: Bindings) -> Bindings | Problem:
    env = dict(methods)
    for hole, role in rule.roles.items():
        function = analysis.scope.function
        parameter = None if function is None else find_parameter(role, function)
        if parameter is None:
            ambiguous = len(set(role.spellings) & set(analysis.parameters)) > 1
            how = "several parameters" if ambiguous else "no parameter"
            detail = f"{analysis.scope.symbol} has {how} named {' or '.join(role.spellings)}"
            return Problem("role-missing", detail, ambiguous)
        env[hole] = parameter
    return env


def _search_goals(
    verdict: RuleVerdict, analysis: ScopeAnalysis, env: Bindings, values: Bindings, names: dict[str, str]
) -> None:
    for goal in verdict.rule.goals:
        own = goal.hole if isinstance(goal, Method) else None
        others = {hole: name for hole, name in names.items() if hole != own}
        result = goal.search(analysis, {**env, **others}, {**values, **others})
        if result.status is GoalStatus.MISSING and own in names:  # code under the patch's own name would collide
            result = goal.search(analysis, {**env, **names}, {**values, **names})
        found_name = result.env.get(own or "")
        if own in names and isinstance(found_name, str):
            names[own] = found_name
        verdict.goals[goal.name] = _merge_results(verdict.goals.get(goal.name), result, analysis)


def _merge_results(earlier: SearchResult | None, result: SearchResult, analysis: ScopeAnalysis) -> SearchResult:
    """A goal of several methods is met only where all of them meet it."""
    if earlier is None or earlier.status is result.status:
        return earlier or result
    detail = f"found in some methods, not in {analysis.scope.symbol}"
    return SearchResult(GoalStatus.INEXACT, max(earlier.line, result.line), detail)


def _find_sites(verdict: RuleVerdict, analysis: ScopeAnalysis, env: Bindings) -> None:
    rule = verdict.rule
    absence = rule.defect.absence(analysis, env) if rule.defect else None
    matches = [] if absence else _anchor_matches(rule, analysis, env)
    replaced: list[ast.stmt] = []
    if rule.replaces:
        replaced = [statement for match in matches for statement in match.statements]
    elif not verdict.all_goals_missing:
        matches = []  # an insertion's anchor stays, so the goals say whether the fix is missing
    for negative in rule.never:
        violation = negative.violation(analysis, matches[0].env if matches else env, replaced)
        verdict.violation = verdict.violation or violation
    verdict.matches += [(analysis, match) for match in matches]
    if absence:
        verdict.add_problem(Problem("defect-missing", f"{rule.name}: the defect is absent: {absence}"))
    elif len(matches) != rule.sites:
        few = len(matches) < rule.sites
        found = f"{len(matches)} site{'' if len(matches) == 1 else 's'}"
        detail = f"{rule.name}: found {found} in {analysis.scope.symbol}, expected {rule.sites}"
        verdict.add_problem(Problem("anchor-missing" if few else "sites-too-many", detail, ambiguous=not few))
    else:
        _plan_replacements(verdict, analysis, matches)


def _plan_replacements(verdict: RuleVerdict, analysis: ScopeAnalysis, matches: list[Match]) -> None:
    if isinstance(verdict.rule.edit, Transform):
        return
    for match in matches:
        replacement = verdict.rule.edit.replacement(analysis, match)
        if isinstance(replacement, str):
            verdict.add_problem(Problem("site-refused", f"{verdict.rule.name}: {replacement} (line {match.line})"))
        else:
            verdict.replacements.append((analysis, replacement))


def _anchor_matches(rule: Rule, analysis: ScopeAnalysis, env: Bindings) -> list[Match]:
    if isinstance(rule.edit, Transform):
        return analysis.find(template(rule.edit.anchor), env)
    return rule.edit.sites(analysis, env)

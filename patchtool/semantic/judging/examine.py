"""Examining one rule in one file: which goals are met, where the sites are, and what prevents the edit."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace

from patchtool.semantic.judging.inheritance import find_parameter, overriding, select_methods
from patchtool.semantic.judging.kinds import RecordedKinds
from patchtool.semantic.language.inheritance import local_subclasses, unresolved_bases
from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.scopes import Problem, Scope, find_scope
from patchtool.semantic.language.source import Source
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.match import Match, bound_nodes
from patchtool.semantic.matching.spellings import ALWAYS, OwnSpellings
from patchtool.semantic.matching.template import template
from patchtool.semantic.matching.unify import Bindings
from patchtool.semantic.vocabulary.changes import InPlace
from patchtool.semantic.vocabulary.edits import Edit, Replacement
from patchtool.semantic.vocabulary.goals import Goal, GoalStatus, SearchResult
from patchtool.semantic.vocabulary.guards import AnyBranch
from patchtool.semantic.vocabulary.methods import Method
from patchtool.semantic.vocabulary.patch import Rule, Transform
from patchtool.semantic.vocabulary.renames import Renaming


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
        looked_in: The scopes with what the holes stand for in them, as far as that is known.
    """

    rule: Rule
    path: str
    analyses: list[ScopeAnalysis] = field(default_factory=list)
    goals: dict[str, SearchResult] = field(default_factory=dict)
    matches: list[tuple[ScopeAnalysis, Match]] = field(default_factory=list)
    replacements: list[tuple[ScopeAnalysis, Replacement | InPlace | Renaming]] = field(default_factory=list)
    problem: Problem | None = None
    violation: str | None = None
    looked_in: list[tuple[ScopeAnalysis, Bindings]] = field(default_factory=list)

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
        if self.problem is None or (problem.uncertain and not self.problem.uncertain):
            self.problem = problem


def examine(
    rule: Rule,
    source: Source,
    names: dict[str, str],
    kinds: RecordedKinds,
    aliases: frozenset[str] = frozenset(),
    spellings: OwnSpellings = ALWAYS,
) -> RuleVerdict:
    """Examine one rule in one file.

    Where the code before the fix is the code after it in another spelling, the fix is about the spelling: then code is
    only compared as it is written.

    Args:
        rule: The rule.
        source: The parsed file.
        names: Names that the patch introduces, by hole; updated where a goal finds the code under another name.
        kinds: What the scopes were before.
        aliases: Names that the patch itself gives to imports.
        spellings: Spellings that mean the same in this patch.
    """
    before = dict(names)
    verdict = _examine(rule, source, names, kinds, aliases, spellings)
    if verdict.all_goals_met and verdict.matches:
        names.update(before)
        return _examine(rule, source, names, kinds, aliases, None)
    return verdict


def _examine(
    rule: Rule,
    source: Source,
    names: dict[str, str],
    kinds: RecordedKinds,
    aliases: frozenset[str],
    spellings: OwnSpellings | None,
) -> RuleVerdict:
    verdict = RuleVerdict(rule, source.path)
    scope = find_scope(source, rule.scope)
    if isinstance(scope, Problem):
        verdict.problem = scope
        return verdict
    unresolved = unresolved_bases(source, scope.node, rule.extends) if rule.extends else []
    if unresolved:
        detail = f"{rule.scope} has {', '.join(unresolved)} among its bases, which may change its behaviour"
        verdict.problem = Problem("base-unknown", detail, uncertain=True)
    scopes, problems = ([(scope, {})], []) if rule.methods is None else select_methods(rule.methods, source, scope)
    problems += _overridden(verdict, source, scope, [chosen for chosen, _ in scopes])
    problems += [change for chosen, _ in scopes for change in [kinds.change(chosen)] if change is not None]
    for problem in problems:
        verdict.add_problem(problem)
    if not scopes:
        verdict.add_problem(Problem("anchor-missing", f"{rule.scope} has no method that the rule applies to"))
    for chosen, env in scopes:
        analysis = ScopeAnalysis(source, chosen, aliases, spellings)
        verdict.analyses.append(analysis)
        _examine_scope(verdict, analysis, env, names)
    return verdict


def _overridden(verdict: RuleVerdict, source: Source, owner: Scope, scopes: list[Scope]) -> list[Problem]:
    """Why the edit has no effect on a subclass in the same file."""
    definition = (owner.owner if owner.function else None) or owner.node
    names = {scope.node.name for scope in scopes if isinstance(scope.node, (ast.FunctionDef, ast.AsyncFunctionDef))}
    names |= {goal.fixed_name for goal in verdict.rule.goals if isinstance(goal, Method) and goal.fixed_name}
    whole_class = owner.function is None and verdict.rule.methods is None
    derived = local_subclasses(source.tree, definition) if whole_class else []
    changed = [Scope(each.name, each, (source.tree,)) for each in derived]
    problems = []
    for method, problem in overriding(source, definition, names):
        problems += [] if problem is None else [problem]
        changed.append(method)
    for negative in verdict.rule.never:
        for scope in changed:
            violation = negative.violation(ScopeAnalysis(source, scope), {}, {}, [])
            verdict.violation = verdict.violation or violation
    return problems


def _examine_scope(verdict: RuleVerdict, analysis: ScopeAnalysis, methods: Bindings, names: dict[str, str]) -> None:
    rule = verdict.rule
    env = _bind_roles(rule, analysis, methods)
    if isinstance(env, Problem):
        verdict.add_problem(env)
        return
    verdict.looked_in.append((analysis, env))
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
        analysis.known += result.nodes
        env = {**env, **new}
        values = {**values, **analysis.values(new, result.statement, after=True)}
    verdict.looked_in[-1] = (analysis, {**names, **env})
    analysis.intended = _new_code(rule, analysis, {**names, **env})
    _search_goals(verdict, analysis, env, values, names)
    _find_sites(verdict, analysis, {**names, **env}, {**names, **values})
    _leave_out_replaced(verdict)


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
        analysis.known += result.nodes
        verdict.goals[goal.name] = _merge_results(verdict.goals.get(goal.name), result, analysis)


def _merge_results(earlier: SearchResult | None, result: SearchResult, analysis: ScopeAnalysis) -> SearchResult:
    """A goal of several methods is met only where all of them meet it."""
    if earlier is None or earlier.status is result.status:
        return earlier or result
    detail = f"found in some methods, not in {analysis.scope.symbol}"
    return SearchResult(GoalStatus.INEXACT, max(earlier.line, result.line), detail)


def _find_sites(verdict: RuleVerdict, analysis: ScopeAnalysis, env: Bindings, values: Bindings) -> None:
    rule = verdict.rule
    absence = rule.defect.absence(analysis, env) if rule.defect else None
    matches = [] if absence else _anchor_matches(rule, analysis, env)
    replaced: list[ast.stmt] = []
    if rule.replaces:
        matches = [match for match in matches if match.statement not in _in_new_code(rule, analysis, env)]
        replaced = [statement for match in matches for statement in match.statements]
    elif not verdict.all_goals_missing:
        matches = []  # an insertion's anchor stays, so the goals say whether the fix is missing
    for match in matches[:1]:
        values = {**analysis.values(match.env, match.statement), **values}
        env = match.env
    for negative in rule.never:
        violation = negative.violation(analysis, env, values, [*replaced, *analysis.known])
        verdict.violation = verdict.violation or violation
    verdict.matches += [(analysis, match) for match in matches]
    if absence:
        verdict.add_problem(Problem("defect-missing", f"{rule.name}: the defect is absent: {absence}"))
    elif len(matches) != rule.sites:
        few = len(matches) < rule.sites
        found = f"{len(matches)} site{'' if len(matches) == 1 else 's'}"
        detail = f"{rule.name}: found {found} in {analysis.scope.symbol or 'the module'}, expected {rule.sites}"
        verdict.add_problem(Problem("anchor-missing" if few else "sites-too-many", detail, ambiguous=not few))
    else:
        _plan_replacements(verdict, analysis, matches)


def _leave_out_replaced(verdict: RuleVerdict) -> None:
    """A goal that only a site meets in part is missing: what is there is replaced."""
    if not verdict.rule.replaces:
        return
    sites = [statement for _, match in verdict.matches for statement in match.statements]
    replaced = {id(node) for statement in sites for node in walk(statement)}
    for name, result in verdict.goals.items():
        if result.status is GoalStatus.INEXACT and id(result.statement) in replaced:
            verdict.goals[name] = SearchResult(GoalStatus.MISSING, detail=f"{result.detail} (line {result.line})")


def _new_code(rule: Rule, analysis: ScopeAnalysis, env: Bindings) -> set[int]:
    """Ids of the nodes of the rule's new compound statements, where they are there, without what they carry."""
    code = template(rule.edit.code) if rule.edit.code and isinstance(rule.edit, Edit) else None
    if code is None or not any(hasattr(statement, "body") for statement in code.body):
        return set()
    nodes: set[int] = set()
    for match in analysis.find(code, env):
        carried = {id(n) for binding in match.env.values() for node in bound_nodes(binding) for n in walk(node)}
        nodes |= {id(node) for statement in match.statements for node in walk(statement)} - carried
    return nodes


def _in_new_code(rule: Rule, analysis: ScopeAnalysis, env: Bindings) -> list[ast.stmt]:
    """Statements inside of compound statements that the rule wants: a call that is guarded already is no site."""
    wanted = [template(rule.edit.code)] if rule.edit.code else []
    wanted += [template(text) for goal in rule.goals if isinstance(goal, Goal) for text in goal.patterns]
    compound = [code for code in wanted if any(hasattr(statement, "body") for statement in code.body)]
    found = [s for code in compound for match in analysis.find(code, env) for s in match.statements]
    return [node for statement in found for node in walk(statement) if isinstance(node, ast.stmt)]


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

"""The goal that a class defines a method, itself or in a base class that the same file defines."""

from __future__ import annotations

import ast
from typing import NamedTuple

from patchtool.semantic.language.inheritance import local_mro
from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.scopes import Scope, ScopeNode, special_kind
from patchtool.semantic.language.source import bound_names
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.meaning import effects_of
from patchtool.semantic.matching.template import is_hole, template
from patchtool.semantic.matching.unify import Bindings, bind
from patchtool.semantic.vocabulary.effects import effect_problem, find_effects, other_effect
from patchtool.semantic.vocabulary.goals import MISSING, Goal, GoalStatus, SearchResult

_MethodMatch = tuple[ast.FunctionDef, Bindings]


class Method(NamedTuple):
    """A plain method that a class must define once, that does this and nothing else.

    Args:
        name: The author's description, for reports.
        code: A ``def`` with its body, found as it is written or by its effects; extra parameters with defaults,
            annotations, the docstring, and what only logs or asserts do not count.
    """

    name: str
    code: str

    @property
    def hole(self) -> str | None:
        """The hole for the method's name, or None where the name is fixed."""
        return self._definition.name if is_hole(self._definition.name) else None

    @property
    def fixed_name(self) -> str:
        """The method's name, or empty where a hole stands for it."""
        return "" if self.hole else self._definition.name

    @property
    def _definition(self) -> ast.FunctionDef:
        definition = template(self.code).body[0]
        if not isinstance(definition, ast.FunctionDef):
            raise TypeError("a method goal is a def")
        return definition

    def search(self, analysis: ScopeAnalysis, env: Bindings, values: Bindings) -> SearchResult:  # noqa: ARG002 -- as Goal's
        """Search the class for the method, then its bases as far as this file defines them."""
        results = (self._search_class(analysis, c, env) for c in local_mro(analysis.source.tree, analysis.scope.node))
        return next((result for result in results if result.status is not GoalStatus.MISSING), MISSING)

    def _search_class(self, analysis: ScopeAnalysis, owner: ScopeNode, env: Bindings) -> SearchResult:
        wanted = self._definition
        matches: list[_MethodMatch] = []
        for method in owner.body:
            if isinstance(method, ast.FunctionDef) and (self.hole or method.name == wanted.name):
                named = bind(env, wanted.name, method.name) if self.hole else env
                inner = None if named is None else _unify(analysis, owner, wanted, method, named)
                matches += [] if inner is None else [(method, inner)]
        known = env.get(wanted.name)
        names = {method.name for method, _ in matches} or {known if isinstance(known, str) else wanted.name}
        return self._result(analysis, owner, matches, names)

    def _result(
        self, analysis: ScopeAnalysis, owner: ScopeNode, matches: list[_MethodMatch], names: set[str]
    ) -> SearchResult:
        name = min(names)
        bindings = [s for s in owner.body for bound in bound_names(s) if bound in names]
        line = analysis.source.reassigned_at(getattr(owner, "name", ""), name)
        if line:
            return SearchResult(GoalStatus.INEXACT, line, f"{name} is reassigned outside its class")
        if not bindings:
            return MISSING
        if len(bindings) > 1:
            return SearchResult(GoalStatus.INEXACT, bindings[0].lineno, f"{name} is bound {len(bindings)} times")
        if len(matches) != 1:
            return SearchResult(GoalStatus.INEXACT, bindings[0].lineno, f"{name} has another body")
        method, env = matches[0]
        kind = special_kind(method) or _unknown_decorator(method)
        if kind:
            return SearchResult(GoalStatus.INEXACT, method.lineno, f"{name} is not a plain method: {kind}")
        return SearchResult(GoalStatus.MET, method.lineno, env=env, nodes=(method,))


def _unknown_decorator(method: ast.FunctionDef) -> str | None:
    """Describe a decorator that could change what the method does, or None."""
    others = [d for d in method.decorator_list if ast.unparse(d).rpartition(".")[2] != "override"]
    return f"decorated with {ast.unparse(others[0])}" if others else None


def _unify(
    analysis: ScopeAnalysis, owner: ScopeNode, wanted: ast.FunctionDef, method: ast.FunctionDef, env: Bindings
) -> Bindings | None:
    """The bindings under which a method does what is wanted and accepts the same calls, or None."""
    body = method.body[1:] if ast.get_docstring(method, clean=False) is not None else method.body
    names = [a.arg for a in wanted.args.args]
    parameters = [a.arg for a in (*method.args.posonlyargs, *method.args.args)]
    required = len(parameters) - len(method.args.defaults)
    if not required <= len(names) <= len(parameters) or None in method.args.kw_defaults:
        return None
    inner: Bindings | None = env
    for name, parameter in zip(names, parameters):
        if is_hole(name) and inner is not None:
            inner = bind(inner, name, parameter)
        elif name != parameter:
            return None
    if inner is None:
        return None
    as_written = next(iter(analysis.matcher.statements(wanted.body, body, inner)), None)
    return _by_effects(analysis, owner, wanted, method, inner) if as_written is None else as_written


def _by_effects(
    analysis: ScopeAnalysis, owner: ScopeNode, wanted: ast.FunctionDef, method: ast.FunctionDef, env: Bindings
) -> Bindings | None:
    """The bindings under which a method has the wanted effects and no others, or None."""
    effects = effects_of(tuple(wanted.body))
    text = analysis.source.slice(method.lineno - 1, method.end_lineno or method.lineno)
    if not effects or not all(name in text for name in _attributes(wanted)):
        return None
    own = ScopeAnalysis(analysis.source, Scope(method.name, method, (analysis.source.tree, owner)), analysis.aliases)
    values = {hole: ast.Name(v, ast.Load()) if isinstance(v, str) else v for hole, v in env.items()}
    ways = find_effects(own, effects, values, {})
    if len(ways) != 1:
        return None
    if any(effect_problem(own, effect, match, alone=True) for effect, match in ways[0]):
        return None
    known = [statement for _, match in ways[0] for statement in match.statements]
    return env if other_effect(method.body, known) is None else None


def _attributes(wanted: ast.FunctionDef) -> set[str]:
    """Attributes that code with the wanted effects mentions."""
    stored = [n for s in wanted.body for n in walk(s) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)]
    return {node.attr for node in stored}


AnyGoal = Goal | Method

"""Edits within a line: parameters, arguments, decorators. Each brings its own goals."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

from patchtool.semantic.language.scopes import Block
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.match import Match
from patchtool.semantic.matching.template import template
from patchtool.semantic.matching.unify import Bindings, same
from patchtool.semantic.vocabulary.changes import (
    AddArgument,
    AddDecorator,
    AddParameter,
    InPlace,
    RemoveArgument,
    RemoveParameter,
    mentions,
)
from patchtool.semantic.vocabulary.goals import MISSING, GoalStatus, SearchResult


def scope_match(analysis: ScopeAnalysis, env: Bindings) -> list[Match]:
    """Return the scope's own definition as a match; none for a module."""
    scope = analysis.scope
    if not scope.owners or not isinstance(scope.node, ast.stmt):
        return []
    owner = scope.owners[-1]
    block = Block(owner, "body", owner.body)
    index = next(i for i, statement in enumerate(owner.body) if statement is scope.node)
    return [Match(block, index, index + 1, scope.node, env)]


@dataclass(frozen=True)
class ParameterEdit:
    """A parameter that is added to the scope, or removed from it; the goal is that it is there, or is not.

    Args:
        change: What is added or removed.
    """

    change: AddParameter | RemoveParameter
    anchor: ClassVar[str] = ""
    code: ClassVar[str] = ""
    replaces: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """The parameter's name."""
        return self.change.name if isinstance(self.change, RemoveParameter) else self.change.parameter.arg

    @property
    def result(self) -> str:
        """What is true afterwards, for reports."""
        gone = isinstance(self.change, RemoveParameter)
        return f"no parameter {self.name}" if gone else f"a parameter {self.name}"

    def sites(self, analysis: ScopeAnalysis, env: Bindings) -> list[Match]:
        """Find the scope, where it is still to be changed."""
        return [] if self.search(analysis, env, env).status is GoalStatus.MET else scope_match(analysis, env)

    def replacement(self, analysis: ScopeAnalysis, match: Match) -> InPlace | str:
        """Return what to change, or why it must not be changed."""
        function = analysis.scope.function
        if function is None:
            return f"{analysis.scope.symbol} is not a function"
        problem = self._problem(analysis)
        return problem or InPlace(match.block, match.statement, function, self.change, match.env)

    def _problem(self, analysis: ScopeAnalysis) -> str | None:
        function, change = analysis.scope.function, self.change
        if function is None or isinstance(change, RemoveParameter):
            return None
        line = mentions(function.body, self.name)
        if line:
            return f"the new parameter's name {self.name} is already used on line {line}"
        spec, new = function.args, change.arguments
        names = {a.arg for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}
        if change.behind and change.behind not in names:
            return f"has no parameter {change.behind}"
        if (new.vararg and spec.vararg) or (new.kwarg and spec.kwarg):
            return "already takes such arguments"
        return None if new.vararg or new.kwarg or new.kwonlyargs else _order_problem(function.args, change)

    def search(self, analysis: ScopeAnalysis, env: Bindings, values: Bindings) -> SearchResult:  # noqa: ARG002 -- as Goal's
        """Search the scope for the parameter."""
        function = analysis.scope.function
        found = None if function is None else _default_of(function.args, self.name)
        line = analysis.scope.line
        if isinstance(self.change, RemoveParameter):
            return MISSING if found else SearchResult(GoalStatus.MET, line)
        if found is None:
            return MISSING
        wanted = _default_of(self.change.arguments, self.name)
        if wanted is not None and same(found[1], wanted[1]) and (found[0] == wanted[0] or "*" not in found[0]):
            return SearchResult(GoalStatus.MET, line)
        return SearchResult(GoalStatus.INEXACT, line, f"{self.name} has another default or kind")


def _order_problem(spec: ast.arguments, change: AddParameter) -> str | None:
    positional = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    at = positional.index(change.behind) + 1 if change.behind in positional else len(positional)
    first_default = len(positional) - len(spec.defaults)
    if change.behind and change.behind not in positional:
        return f"{change.behind} is not a positional parameter"
    if at < len(spec.posonlyargs):
        return f"{change.behind} is positional-only"
    if change.arguments.defaults and at < first_default:
        return f"{positional[at]}, which follows, has no default"
    if not change.arguments.defaults and at > first_default:
        return f"{change.parameter.arg} has no default but follows {positional[first_default]}, which has"
    return None


def _default_of(spec: ast.arguments, name: str) -> tuple[str, ast.expr | None] | None:
    """The kind and the default of a parameter, or None where there is no such parameter."""
    positional = [*spec.posonlyargs, *spec.args]
    defaults = [None] * (len(positional) - len(spec.defaults)) + list(spec.defaults)
    for kind, args, values in (("", positional, defaults), ("keyword", spec.kwonlyargs, spec.kw_defaults)):
        for arg, default in zip(args, values):
            if arg.arg == name:
                return kind, default
    for kind, arg_ in (("*", spec.vararg), ("**", spec.kwarg)):
        if arg_ is not None and arg_.arg == name:
            return kind, None
    return None


@dataclass(frozen=True)
class ArgumentEdit:
    """An argument that is added to calls, or removed from them; the goal is that every such call has it, or has not.

    Args:
        anchor: A template of the call; ``*REST_`` for arguments that do not matter.
        change: What is added or removed.
    """

    anchor: str
    change: AddArgument | RemoveArgument
    replaces: ClassVar[bool] = False

    @property
    def code(self) -> str:
        """The new code, for its holes."""
        return f"_({self.change.code})" if isinstance(self.change, AddArgument) else ""

    @property
    def result(self) -> str:
        """What is true afterwards, for reports."""
        if isinstance(self.change, AddArgument):
            return f"{self.anchor} is called with {self.change.code}"
        return f"{self.anchor} is called without {self.change.name}"

    def _calls(self, analysis: ScopeAnalysis, env: Bindings) -> list[Match]:
        return [m for m in analysis.find(template(self.anchor), env) if isinstance(m.node, ast.Call)]

    def sites(self, analysis: ScopeAnalysis, env: Bindings) -> list[Match]:
        """Find every call that is still to be changed."""
        return [match for match in self._calls(analysis, env) if self._state(analysis, match) is GoalStatus.MISSING]

    def replacement(self, analysis: ScopeAnalysis, match: Match) -> InPlace | str:  # noqa: ARG002 -- as Edit's
        """Return what to change, or why it must not be changed."""
        call, change = match.node, self.change
        behind = change.behind if isinstance(change, AddArgument) else ""
        if isinstance(call, ast.Call) and behind and behind not in {k.arg for k in call.keywords}:
            return f"the call has no argument {behind}"
        return InPlace(match.block, match.statement, match.node, change, match.env)

    def search(self, analysis: ScopeAnalysis, env: Bindings, values: Bindings) -> SearchResult:  # noqa: ARG002 -- as Goal's
        """Search the scope for the calls."""
        states = [(match, self._state(analysis, match)) for match in self._calls(analysis, env)]
        if isinstance(self.change, AddArgument) and not isinstance(self.change.argument, ast.keyword) and not states:
            more = analysis.find(template(_with_argument(self.anchor, self.change.code)), env)
            states = [(match, GoalStatus.MET) for match in more]
        if all(state is GoalStatus.MISSING for _, state in states):
            return MISSING
        for match, state in states:
            if state is not GoalStatus.MET:
                detail = "has another value" if state is GoalStatus.INEXACT else "some calls have it, this one has not"
                return SearchResult(GoalStatus.INEXACT, match.line, detail)
        return SearchResult(GoalStatus.MET, states[0][0].line)

    def _state(self, analysis: ScopeAnalysis, match: Match) -> GoalStatus:
        call, change = match.node, self.change
        if not isinstance(call, ast.Call):
            return GoalStatus.MET
        if isinstance(change, RemoveArgument):
            there = change.name < len(call.args) if isinstance(change.name, int) else _keyword(call, change.name)
            return GoalStatus.MISSING if there else GoalStatus.MET
        new = change.argument
        if isinstance(new, ast.keyword):
            found = _keyword(call, new.arg)
            if found is None:
                return GoalStatus.MISSING
            return GoalStatus.MET if analysis.matcher.matches(new.value, found.value, match.env) else GoalStatus.INEXACT
        given = [*call.args]
        there = bool(given) and analysis.matcher.matches(new, given[-1], match.env)
        return GoalStatus.MET if there and len(given) > _positional(self.anchor) else GoalStatus.MISSING


def _keyword(call: ast.Call, name: str | None) -> ast.keyword | None:
    return next((keyword for keyword in call.keywords if keyword.arg == name), None)


def _positional(anchor: str) -> int:
    call = template(anchor).expression
    return sum(1 for a in call.args if not isinstance(a, ast.Starred)) if isinstance(call, ast.Call) else 0


def _with_argument(anchor: str, code: str) -> str:
    """A template of a call with one more positional argument."""
    call = cast(ast.Call, ast.parse(anchor, mode="eval").body)
    call.args.append(ast.parse(code, mode="eval").body)
    return ast.unparse(call)


@dataclass(frozen=True)
class DecoratorEdit:
    """A decorator that is added to the scope; the goal is that it is there."""

    change: AddDecorator
    anchor: ClassVar[str] = ""
    code: ClassVar[str] = ""
    replaces: ClassVar[bool] = False

    @property
    def result(self) -> str:
        """What is true afterwards, for reports."""
        return f"decorated with {self.change.code}"

    def sites(self, analysis: ScopeAnalysis, env: Bindings) -> list[Match]:
        """Find the scope, where it has no such decorator."""
        return scope_match(analysis, env) if self.search(analysis, env, env) is MISSING else []

    def replacement(self, analysis: ScopeAnalysis, match: Match) -> InPlace | str:  # noqa: ARG002 -- as Edit's
        """Return what to change, or why it must not be changed."""
        return InPlace(match.block, match.statement, match.statement, self.change, match.env)

    def search(self, analysis: ScopeAnalysis, env: Bindings, values: Bindings) -> SearchResult:  # noqa: ARG002 -- as Goal's
        """Search the scope for the decorator."""
        wanted = template(self.change.code).expression
        decorators: Sequence[ast.expr] = getattr(analysis.scope.node, "decorator_list", ())
        for decorator in decorators:
            if analysis.matcher.matches(wanted, decorator, env):
                return SearchResult(GoalStatus.MET, decorator.lineno)
        return MISSING

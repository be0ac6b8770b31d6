"""Edits that add definitions or fields to a module or class. Each brings its own goal: they are there, as stated."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from patchtool.semantic.language.scopes import DEFINITIONS
from patchtool.semantic.language.source import bound_names
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.match import Match
from patchtool.semantic.matching.template import template
from patchtool.semantic.matching.unify import Bindings
from patchtool.semantic.vocabulary.edits import Replacement
from patchtool.semantic.vocabulary.goals import MISSING, GoalStatus, SearchResult


@dataclass(frozen=True)
class Definition:
    """Functions, classes, fields or constants to be added to a module or class.

    Args:
        code: The new statements; each binds a name.
        behind: A name that the scope binds; the code goes behind its last binding.
        before: A name that the scope binds; the code goes before its first binding. With neither, definitions go to
            the end of the scope, fields behind the last field.
    """

    code: str
    behind: str = ""
    before: str = ""
    anchor: ClassVar[str] = ""
    replaces: ClassVar[bool] = False

    @property
    def names(self) -> list[str]:
        """The names that the code binds."""
        return list(dict.fromkeys(name for statement in template(self.code).body for name in bound_names(statement)))

    @property
    def result(self) -> str:
        """What is true afterwards, for reports."""
        return f"{', '.join(self.names)} is there"

    def sites(self, analysis: ScopeAnalysis, env: Bindings) -> list[Match]:
        """Find the statement next to which the code goes."""
        block = analysis.blocks[0]
        if not block.statements:
            return []
        named = self.behind or self.before
        if named:
            found = [i for i, statement in enumerate(block.statements) if named in bound_names(statement)]
            index = (found[-1] if self.behind else found[0]) if found else None
        else:
            index = _end(block.statements, fields=not isinstance(template(self.code).body[0], DEFINITIONS))
        return [] if index is None else [Match(block, index, index + 1, block.statements[index], env)]

    def replacement(self, analysis: ScopeAnalysis, match: Match) -> Replacement | str:
        """Return what to write at a site, or why it must not be edited."""
        if analysis.scope.function is not None:
            return f"{analysis.scope.symbol} is a function"
        code, behind = template(self.code), not self.before
        if isinstance(analysis.scope.node, ast.ClassDef):
            lines = (analysis.source.reassigned_at(analysis.scope.node.name, name) for name in self.names)
            line = next((line for line in lines if line), None)
            if line:
                return f"one of {', '.join(self.names)} is reassigned outside its class on line {line}"
            problem = _field_order(analysis.scope.node, code.body, match.start + behind)
            if problem:
                return problem
        at = match.stop if behind else match.start
        return Replacement(match.block, at, at, code, match.env, match.statement, behind)

    def search(self, analysis: ScopeAnalysis, env: Bindings, values: Bindings) -> SearchResult:  # noqa: ARG002 -- as Goal's
        """Search the scope for the code, each name bound as often as stated and no more."""
        body, line = analysis.scope.node.body, 0
        bindings = {name: [s for s in body if name in bound_names(s)] for name in self.names}
        if not any(bindings.values()):
            return MISSING
        for name, found in bindings.items():
            wanted = [s for s in template(self.code).body if name in bound_names(s)]
            if not found:
                return SearchResult(GoalStatus.INEXACT, 0, f"there is no {name}, but the others are there")
            line = line or found[0].lineno
            if len(found) != len(wanted):
                return SearchResult(GoalStatus.INEXACT, found[0].lineno, f"{name} is bound {len(found)} times")
            pairs = zip(map(_plain, wanted), map(_plain, found))
            if not all(analysis.matcher.matches(one, other, env) for one, other in pairs):
                return SearchResult(GoalStatus.INEXACT, found[0].lineno, f"{name} is there with other code")
        return SearchResult(GoalStatus.MET, line)


def _plain(statement: ast.stmt) -> ast.stmt:
    """A statement without the annotations of parameters, which do nothing."""
    if not any(isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) for node in ast.walk(statement)):
        return statement
    plain = copy.deepcopy(statement)
    for node in ast.walk(plain):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.returns = None
    return plain


def _end(statements: Sequence[ast.stmt], *, fields: bool) -> int | None:
    """The statement behind which new definitions, or fields, go."""
    if fields:
        assigned = [i for i, s in enumerate(statements) if isinstance(s, (ast.Assign, ast.AnnAssign))]
        defined = next((i for i, s in enumerate(statements) if isinstance(s, DEFINITIONS)), len(statements))
        return max([i for i in assigned if i < defined] or list(range(defined)) or [0])
    last = len(statements) - 1
    while last and _is_main_guard(statements[last]):
        last -= 1
    return last


def _is_main_guard(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test)


def _field_order(owner: ast.ClassDef, new: Sequence[ast.stmt], at: int) -> str | None:
    """Why a dataclass could not be made: a field without a default behind one that has one."""
    if not any("dataclass" in ast.unparse(decorator) for decorator in owner.decorator_list):
        return None
    fields = [*owner.body[:at], *new, *owner.body[at:]]
    seen: str | None = None
    for statement in fields:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            if statement.value is None and seen and "ClassVar" not in ast.unparse(statement.annotation):
                return f"{statement.target.id} would follow {seen}, which has a default"
            seen = statement.target.id if statement.value is not None else seen
        elif isinstance(statement, ast.Expr) and "KW_ONLY" in ast.unparse(statement):
            return None
    return None

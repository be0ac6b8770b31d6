"""Edits that remove statements or definitions. Each brings its own goal: what it removes is gone."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import ClassVar

from patchtool.semantic.language.source import bound_names
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.match import Match
from patchtool.semantic.matching.template import Template, template
from patchtool.semantic.matching.unify import Bindings
from patchtool.semantic.vocabulary.constraints import Constraint
from patchtool.semantic.vocabulary.edits import Edit, Replacement
from patchtool.semantic.vocabulary.goals import MISSING, GoalStatus, SearchResult
from patchtool.semantic.vocabulary.guards import Guard, Unconditional, execution_problem

_NOTHING = Template("", ())


@dataclass(frozen=True)
class Removal:
    """Statements to be removed.

    Args:
        anchor: A template of the statements.
        where: Constraints on its holes.
        within: Which conditions may enclose them.
    """

    anchor: str
    where: dict[str, Constraint] = field(default_factory=dict)
    within: Guard = field(default_factory=Unconditional)
    code: ClassVar[str] = ""
    replaces: ClassVar[bool] = True

    @property
    def result(self) -> str:
        """What is true afterwards, for reports."""
        return f"{template(self.anchor).text.splitlines()[0]} is gone"

    @property
    def _edit(self) -> Edit:
        return Edit(self.anchor, "pass", "replace", self.where, self.within)

    def sites(self, analysis: ScopeAnalysis, env: Bindings) -> list[Match]:
        """Find every match of the anchor."""
        return self._edit.sites(analysis, env)

    def replacement(self, analysis: ScopeAnalysis, match: Match) -> Replacement | str:
        """Return what to remove, or why it must not be removed."""
        violation = execution_problem(analysis, match) or self.within.violation(analysis, match)
        if violation:
            return f"the site {violation}"
        return Replacement(match.block, match.start, match.stop, _NOTHING, match.env, match.statement)

    def search(self, analysis: ScopeAnalysis, env: Bindings, values: Bindings) -> SearchResult:  # noqa: ARG002 -- as Goal's
        """Search the scope: the statements are gone, and no other spelling of them is there."""
        if self.sites(analysis, env):
            return MISSING
        near = _similar(analysis, template(self.anchor).body)
        if near is not None:
            return SearchResult(GoalStatus.INEXACT, near.lineno, "is there in another spelling")
        return SearchResult(GoalStatus.MET, 0, "not found")


def _similar(analysis: ScopeAnalysis, wanted: tuple[ast.stmt, ...]) -> ast.stmt | None:
    """A statement that does the same with other arguments or another value, or None."""
    shapes = [shape for statement in wanted for shape in [_shape(statement)] if shape]
    for block in analysis.blocks:
        for statement in block.statements:
            if _shape(statement) in shapes:
                return statement
    return None


def _shape(statement: ast.stmt) -> str | None:
    """What a statement calls with the same text of its first argument, assigns or defines; None for others."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return f"def {statement.name}"
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return ast.unparse(statement.value.func)
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return " = ".join(ast.unparse(target) for target in targets)
    return None


@dataclass(frozen=True)
class DefinitionRemoval:
    """A definition or field to be removed, with all overloads of it.

    Args:
        name: Its name.
    """

    name: str
    anchor: ClassVar[str] = ""
    code: ClassVar[str] = ""
    replaces: ClassVar[bool] = True

    @property
    def result(self) -> str:
        """What is true afterwards, for reports."""
        return f"{self.name} is gone"

    def sites(self, analysis: ScopeAnalysis, env: Bindings) -> list[Match]:
        """Find the definition; several in a row, such as overloads, are one site."""
        block = analysis.blocks[0]
        found = [i for i, s in enumerate(block.statements) if self._defines(s)]
        if not found or found != list(range(found[0], found[-1] + 1)):
            return [Match(block, i, i + 1, block.statements[i], env) for i in found]
        return [Match(block, found[0], found[-1] + 1, block.statements[found[0]], env)]

    def replacement(self, analysis: ScopeAnalysis, match: Match) -> Replacement | str:
        """Return what to remove, or why it must not be removed."""
        if analysis.scope.function is not None:
            return f"{analysis.scope.symbol} is a function"
        return Replacement(match.block, match.start, match.stop, _NOTHING, match.env, match.statement)

    def search(self, analysis: ScopeAnalysis, env: Bindings, values: Bindings) -> SearchResult:  # noqa: ARG002 -- as Goal's
        """Search the scope for the name."""
        bound = [s for s in analysis.scope.node.body if self.name in bound_names(s)]
        if not bound:
            return SearchResult(GoalStatus.MET, 0, f"there is no {self.name}")
        if self.sites(analysis, env):
            return MISSING
        how = "is bound conditionally or with others"
        if isinstance(bound[0], (ast.Import, ast.ImportFrom)):
            how = f"moved, and is imported by {ast.unparse(bound[0])!r}"
        return SearchResult(GoalStatus.INEXACT, bound[0].lineno, f"{self.name} {how}")

    def _defines(self, statement: ast.stmt) -> bool:
        imports = isinstance(statement, (ast.Import, ast.ImportFrom))
        return set(bound_names(statement)) == {self.name} and not imports

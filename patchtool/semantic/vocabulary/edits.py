"""Edits: where new statements go and which ones they replace. Judging plans an edit; writing it is a later step."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from patchtool.semantic.language.scopes import Block
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.conditions import is_transparent
from patchtool.semantic.matching.match import Match
from patchtool.semantic.matching.runs import carried_runs
from patchtool.semantic.matching.template import Template, TemplateError, template
from patchtool.semantic.matching.unify import Bindings
from patchtool.semantic.vocabulary.constraints import Constraint, filter_matches
from patchtool.semantic.vocabulary.guards import Guard, Unconditional, execution_problem, exit_problem
from patchtool.semantic.vocabulary.sites import sites_by_effect


class Replacement(NamedTuple):
    """Statements to be put into one block; an insertion replaces none.

    Args:
        block: The block.
        start: Index of the first statement replaced, or before which the code is inserted.
        stop: Index after the last statement replaced; equal to start for an insertion.
        code: The new statements.
        env: The hole bindings.
        at: The statement at which the bindings were found.
        behind: Whether an insertion belongs to the statement before it, not to the one after it.
    """

    block: Block
    start: int
    stop: int
    code: Template
    env: Bindings
    at: ast.stmt
    behind: bool = False

    @property
    def replaced(self) -> list[ast.stmt]:
        """The statements that are removed."""
        return self.block.statements[self.start : self.stop]

    @property
    def near(self) -> ast.stmt:
        """The statement that an insertion belongs to, or the first one replaced."""
        return self.block.statements[self.start - 1 if self.behind else self.start]


@dataclass(frozen=True)
class Edit:
    """A replacement of statements, or an insertion next to them.

    Args:
        anchor: A template of the existing statements.
        code: The new statements.
        how: ``replace``, ``wrap``, ``before`` or ``after``.
        where: Constraints on the anchor's holes.
        within: Which conditions may enclose the anchor; an insertion goes outside of them.
    """

    anchor: str
    code: str
    how: str
    where: dict[str, Constraint] = field(default_factory=dict)
    within: Guard = field(default_factory=Unconditional)

    problem: str = field(default="", init=False)
    """Why the templates do not fit together."""

    def __post_init__(self) -> None:
        """Name the ``...`` of both templates, so that the new code carries what the old one has there."""
        if self.replaces:
            try:
                anchor, code = carried_runs(self.anchor, self.code)
            except TemplateError as error:
                object.__setattr__(self, "problem", str(error))
            else:
                object.__setattr__(self, "anchor", anchor)
                object.__setattr__(self, "code", code)

    @property
    def replaces(self) -> bool:
        """Whether the anchor is removed, so that it is the defect."""
        return self.how in ("replace", "wrap")

    def sites(self, analysis: ScopeAnalysis, env: Bindings) -> list[Match]:
        """Find every match of the anchor."""
        anchor = template(self.anchor)
        matches = analysis.find(anchor, env)
        if not matches and analysis.mentions(anchor.body):
            matches = analysis.find(anchor, env, unfold=True)
            matches = matches or list(sites_by_effect(analysis, anchor, env) if self.replaces else ())
        if self.replaces:  # whole statements go, so an expression must be all of its statement
            matches = [m for m in matches if not isinstance(m.node, ast.expr) or _is_statement(m)]
        return filter_matches(analysis, matches, self.where)

    def replacement(self, analysis: ScopeAnalysis, match: Match) -> Replacement | str:
        """Return what to write at a site, or why it must not be edited."""
        violation = self.problem or execution_problem(analysis, match) or self.within.violation(analysis, match)
        violation = violation or exit_problem(analysis, match, self.within)
        if violation:
            return f"the site {violation}"
        code = template(self.code)
        if self.replaces:
            return Replacement(match.block, match.start, match.stop, code, match.env, match.statement)
        block, index = _outermost(match)
        behind = self.how == "after"
        if behind and analysis.flow is not None and not analysis.flow.reachable(block.statements[index], after=True):
            return "the code behind the site is unreachable"
        at = index + 1 if behind else index
        return Replacement(block, at, at, code, match.env, match.statement, behind)


def _outermost(match: Match) -> tuple[Block, int]:
    """The place of a match outside of its conditions, but inside of ``with`` blocks around all of them."""
    places = [*match.block.ancestors, (match.block, match.start)]
    inner = next(
        i for i, (block, _) in enumerate(places) if i + 1 == len(places) or not is_transparent(places[i + 1][0])
    )
    return places[inner]


def _is_statement(match: Match) -> bool:
    return isinstance(match.statement, ast.Expr) and match.statement.value is match.node


@dataclass(frozen=True)
class MethodEdit:
    """A method to be added to a class, behind an existing one.

    Args:
        behind: Name of the existing method.
        code: The new ``def``.
    """

    behind: str
    code: str
    anchor: ClassVar[str] = ""
    replaces: ClassVar[bool] = False

    def sites(self, analysis: ScopeAnalysis, env: Bindings) -> list[Match]:
        """Find the existing method."""
        block = analysis.blocks[0]
        return [
            Match(block, index, index + 1, statement, env)
            for index, statement in enumerate(block.statements)
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and statement.name == self.behind
        ]

    def replacement(self, analysis: ScopeAnalysis, match: Match) -> Replacement | str:
        """Return what to write at a site, or why it must not be edited."""
        code = template(self.code)
        name = getattr(code.body[0], "name", "")
        name = match.env.get(name, name)
        owner = getattr(analysis.scope.node, "name", "")
        line = analysis.source.reassigned_at(owner, name) if isinstance(name, str) else None
        if line:
            return f"{name} is reassigned outside its class on line {line}"
        return Replacement(match.block, match.stop, match.stop, code, match.env, match.statement, behind=True)

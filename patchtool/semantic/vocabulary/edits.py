"""Edits: where statements go and which ones they replace. An edit is found first and written later, or not at all."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import NamedTuple

from patchtool.semantic.language.scopes import Block
from patchtool.semantic.matching.analysis import Match, ScopeAnalysis
from patchtool.semantic.matching.template import Template, template
from patchtool.semantic.matching.unify import Bindings
from patchtool.semantic.vocabulary.goals import Constraint, constrained
from patchtool.semantic.vocabulary.guards import Directly, Guard, never_runs


class Replacement(NamedTuple):
    """Statements to be put into one block.

    Args:
        block: Where.
        start: Index of the first statement replaced, or before which the code goes.
        stop: Index after the last statement replaced; equal to start for an insertion.
        code: The new statements.
        env: What the holes stand for.
        at: The statement where the anchor's holes have that meaning.
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
        """The statements that go."""
        return self.block.statements[self.start : self.stop]

    @property
    def near(self) -> ast.stmt:
        """The statement that the code goes behind, or before, or whose place it takes first."""
        return self.block.statements[self.start - 1 if self.behind else self.start]


@dataclass(frozen=True)
class Edit:
    """A template of the code before, and what becomes of it.

    Args:
        anchor: The template.
        code: The new statements.
        how: ``replace``, ``before`` or ``after``.
        where: Demands on the anchor's holes.
        within: Which conditions the anchor may stand under; an insertion goes outside of them.
    """

    anchor: str
    code: str
    how: str
    where: dict[str, Constraint] = field(default_factory=dict)
    within: Guard = field(default_factory=Directly)

    def sites(self, analysis: ScopeAnalysis, env: Bindings) -> list[Match]:
        """Every place where the anchor stands."""
        return constrained(analysis, analysis.find(template(self.anchor), env), self.where)

    def replacement(self, analysis: ScopeAnalysis, match: Match) -> Replacement | str:
        """Say what to write at a site, or why it must not be written."""
        objection = never_runs(analysis, match)
        if objection:
            return objection
        objection = self.within.objection(analysis, match)
        if objection:
            return f"the site {objection}"
        code = template(self.code)
        if self.how == "replace":
            return Replacement(match.block, match.start, match.stop, code, match.env, match.statement)
        block, index = _outermost(match)
        behind = self.how == "after"
        if behind and analysis.flow is not None and not analysis.flow.reachable(block.statements[index], after=True):
            return "control never comes to what stands behind the site"
        at = index + 1 if behind else index
        return Replacement(block, at, at, code, match.env, match.statement, behind)


class MethodEdit(NamedTuple):
    """A method to be put into a class behind another one.

    Args:
        behind: Name of the method that is there.
        code: The new ``def``.
    """

    behind: str
    code: str

    def sites(self, analysis: ScopeAnalysis, env: Bindings) -> list[Match]:
        """The method that is there."""
        body = analysis.scope.node.body
        block = analysis.blocks[0]
        return [
            Match(block, index, index + 1, statement, env)
            for index, statement in enumerate(body)
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and statement.name == self.behind
        ]

    def replacement(self, analysis: ScopeAnalysis, match: Match) -> Replacement | str:
        """Say what to write at a site."""
        new = template(self.code).body[0]
        name = match.env.get(getattr(new, "name", ""), getattr(new, "name", ""))
        line = (
            analysis.source.set_from_outside(getattr(analysis.scope.node, "name", ""), name)
            if isinstance(name, str)
            else None
        )
        if line:
            return f"{name} is set from outside of its class on line {line}"
        return Replacement(
            match.block, match.stop, match.stop, template(self.code), match.env, match.statement, behind=True
        )


AnyEdit = Edit | MethodEdit


def _outermost(match: Match) -> tuple[Block, int]:
    """The scope's own block and the index of its statement that holds the match."""
    return match.block.above[0] if match.block.above else (match.block, match.start)

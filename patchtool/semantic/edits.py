"""Edits: where statements go and which ones they replace. An edit is found first and written later, or not at all."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import NamedTuple

from patchtool.semantic.evidence import Constraint, constrained
from patchtool.semantic.guards import Directly, Guard, never_runs
from patchtool.semantic.match import Bindings
from patchtool.semantic.place import Hit, Place
from patchtool.semantic.scopes import Block
from patchtool.semantic.template import Template, template


class Splice(NamedTuple):
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

    def sites(self, place: Place, env: Bindings) -> list[Hit]:
        """Every place where the anchor stands."""
        return constrained(place, place.find(template(self.anchor), env), self.where)

    def splice(self, place: Place, hit: Hit) -> Splice | str:
        """Say what to write at a site, or why it must not be written."""
        objection = never_runs(place, hit)
        if objection:
            return objection
        objection = self.within.objection(place, hit)
        if objection:
            return f"the site {objection}"
        code = template(self.code)
        if self.how == "replace":
            return Splice(hit.block, hit.start, hit.stop, code, hit.env, hit.statement)
        block, index = _outermost(hit)
        behind = self.how == "after"
        if behind and place.flow is not None and not place.flow.reachable(block.statements[index], after=True):
            return "control never comes to what stands behind the site"
        at = index + 1 if behind else index
        return Splice(block, at, at, code, hit.env, hit.statement, behind)


class MethodEdit(NamedTuple):
    """A method to be put into a class behind another one.

    Args:
        behind: Name of the method that is there.
        code: The new ``def``.
    """

    behind: str
    code: str

    def sites(self, place: Place, env: Bindings) -> list[Hit]:
        """The method that is there."""
        body = place.scope.node.body
        block = place.blocks[0]
        return [
            Hit(block, index, index + 1, statement, env)
            for index, statement in enumerate(body)
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and statement.name == self.behind
        ]

    def splice(self, place: Place, hit: Hit) -> Splice | str:
        """Say what to write at a site."""
        new = template(self.code).body[0]
        name = hit.env.get(getattr(new, "name", ""), getattr(new, "name", ""))
        line = (
            place.source.set_from_outside(getattr(place.scope.node, "name", ""), name)
            if isinstance(name, str)
            else None
        )
        if line:
            return f"{name} is set from outside of its class on line {line}"
        return Splice(hit.block, hit.stop, hit.stop, template(self.code), hit.env, hit.statement, behind=True)


AnyEdit = Edit | MethodEdit


def _outermost(hit: Hit) -> tuple[Block, int]:
    """The scope's own block and the index of its statement that holds the hit."""
    return hit.block.above[0] if hit.block.above else (hit.block, hit.start)

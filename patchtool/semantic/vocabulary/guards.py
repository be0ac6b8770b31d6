"""Consent: under which conditions a site or a goal may stand. Loops, ``try`` and ``with`` are never consented to."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.scopes import Block
from patchtool.semantic.matching.analysis import Match, ScopeAnalysis, bound_nodes
from patchtool.semantic.matching.template import template
from patchtool.semantic.matching.unify import Bindings

PRESENCE = (
    "THAT_ is not None",
    "THAT_.numel() > 0",
    "THAT_.numel() != 0",
    "THAT_.numel()",
    "THAT_.shape[0] > 0",
    "THAT_.size(0) > 0",
    "len(THAT_) > 0",
    "THAT_.any()",
)
"""Conditions that only ask whether there is something."""


class Guard(Protocol):
    """Says whether the blocks around a match are as a patch expects them."""

    def objection(self, analysis: ScopeAnalysis, match: Match) -> str | None:
        """Why the surroundings are not consented to, or None."""


class Directly:
    """The scope's own body, under no condition."""

    def objection(self, analysis: ScopeAnalysis, match: Match) -> str | None:  # noqa: ARG002 -- the Protocol's shape
        """Why the surroundings are not consented to, or None."""
        around = match.block.enclosing
        return _about(around[0]) if around else None


class Branch(NamedTuple):
    """Exactly the branch of this condition, be it ``if`` or ``elif``; ``not X`` means the ``else`` of ``X``."""

    condition: str

    def objection(self, analysis: ScopeAnalysis, match: Match) -> str | None:
        """Why the surroundings are not consented to, or None."""
        around = match.block.enclosing
        if not around:
            return f"stands under no condition, expected {self.condition!r}"
        if not _is_branch(analysis, around[0], self.condition, match):
            return _about(around[0])
        return next((_about(block) for block in around[1:] if not _is_else(block)), None)


class Guarded(NamedTuple):
    """Any nesting of ``if`` whose conditions are among these; none at all is fine too.

    Args:
        conditions: Templates.
        present: Holes; a condition that only asks whether there is something of them is fine as well.
        always: Whether the function must not be able to return before.
    """

    conditions: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    always: bool = False

    def objection(self, analysis: ScopeAnalysis, match: Match) -> str | None:
        """Why the surroundings are not consented to, or None."""
        if self.always and analysis.flow is not None and analysis.flow.may_have_returned(match.statement):
            return "stands behind a return that comes first under some condition"
        return next((_about(block) for block in match.block.enclosing if not self._fine(analysis, block, match)), None)

    def _fine(self, analysis: ScopeAnalysis, block: Block, match: Match) -> bool:
        if any(_is_branch(analysis, block, condition, match) for condition in self.conditions):
            return True
        if not self.present or not isinstance(block.owner, ast.If) or block.field != "body":
            return False
        about = [node for h, v in _meant(analysis, match).items() if h in self.present for node in bound_nodes(v)]
        names = {name for node in about for name in _names(node)}
        test = block.owner.test
        parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
        return all(_asks_presence(analysis, analysis.meaning(part, block.owner), names) for part in parts)


class AnyBranch:
    """Any nesting of ``if``: for a change that is right under every condition."""

    def objection(self, analysis: ScopeAnalysis, match: Match) -> str | None:  # noqa: ARG002 -- the Protocol's shape
        """Why the surroundings are not consented to, or None."""
        return next((_about(b) for b in match.block.enclosing if not isinstance(b.owner, ast.If)), None)


def never_runs(analysis: ScopeAnalysis, match: Match) -> str | None:
    """Why a match may not run when control comes its way, apart from the blocks around it; or None."""
    if analysis.flow is not None and not analysis.flow.reachable(match.statement):
        return "control never comes to it"
    return f"it stands {match.unsure}" if match.unsure else None


def _asks_presence(analysis: ScopeAnalysis, condition: ast.AST, names: set[str]) -> bool:
    for text in PRESENCE:
        for env in analysis.matcher.expression(template(text).expression, condition, {}):
            asked = {name for node in bound_nodes(env["THAT_"]) for name in _names(node)}
            return bool(asked) and asked <= names
    return False


def _names(node: ast.AST) -> Iterator[str]:
    return (n.id for n in walk(node) if isinstance(n, ast.Name))


def _meant(analysis: ScopeAnalysis, match: Match) -> Bindings:
    """The match's holes as meanings."""
    return match.env if match.meant else analysis.meanings(match.env, match.statement)


def _is_branch(analysis: ScopeAnalysis, block: Block, condition: str, match: Match) -> bool:
    if not isinstance(block.owner, ast.If):
        return False
    wanted = template(condition).expression
    negated = wanted.operand if isinstance(wanted, ast.UnaryOp) and isinstance(wanted.op, ast.Not) else None
    pattern = wanted if block.field == "body" else negated
    if pattern is None:
        return False
    if not match.meant and _fits(analysis, pattern, block.owner.test, match.env):
        return True
    return _fits(analysis, pattern, analysis.meaning(block.owner.test, block.owner), _meant(analysis, match))


def _fits(analysis: ScopeAnalysis, pattern: ast.expr, node: ast.AST, env: Bindings) -> bool:
    return next(iter(analysis.matcher.expression(pattern, node, env)), None) is not None


def _is_else(block: Block) -> bool:
    """Whether a block only says that earlier conditions of an ``elif`` chain did not hold."""
    chained = len(block.statements) == 1 and isinstance(block.statements[0], ast.If)
    return isinstance(block.owner, ast.If) and block.field == "orelse" and chained


def _about(block: Block) -> str:
    owner = block.owner
    line = getattr(owner, "lineno", 0)
    if isinstance(owner, ast.If):
        word = "if" if block.field == "body" else "the else of if"
        return f"stands under {word} {ast.unparse(owner.test)!r} on line {line}"
    return f"stands inside a {type(owner).__name__.lower()} on line {line}"

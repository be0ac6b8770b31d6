"""Guards: which conditions may enclose a site or a goal. No guard accepts loops, ``try`` or ``with``."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from patchtool.semantic.language.nodes import walk
from patchtool.semantic.language.scopes import Block
from patchtool.semantic.matching.analysis import Match, ScopeAnalysis, bound_nodes
from patchtool.semantic.matching.template import template
from patchtool.semantic.matching.unify import Bindings

_PRESENCE_TESTS = (
    "THAT_ is not None",
    "THAT_.numel() > 0",
    "THAT_.numel() != 0",
    "THAT_.numel()",
    "THAT_.shape[0] > 0",
    "THAT_.size(0) > 0",
    "len(THAT_) > 0",
    "THAT_.any()",
)
"""Conditions that only test whether something is present and not empty."""


class Guard(Protocol):
    """Accepts or rejects the blocks around a match."""

    def violation(self, analysis: ScopeAnalysis, match: Match) -> str | None:
        """Return why the surrounding blocks are rejected, or None."""


class Unconditional:
    """Accepts the scope's own body only."""

    def violation(self, analysis: ScopeAnalysis, match: Match) -> str | None:  # noqa: ARG002 -- a Guard's signature
        """Return why the surrounding blocks are rejected, or None."""
        return _first_described(match.block.enclosing)


class Branch(NamedTuple):
    """Accepts exactly the branch of this condition, ``if`` or ``elif``; ``not X`` is the ``else`` of ``X``."""

    condition: str

    def violation(self, analysis: ScopeAnalysis, match: Match) -> str | None:
        """Return why the surrounding blocks are rejected, or None."""
        enclosing = match.block.enclosing
        if not enclosing:
            return f"is unconditional, expected to be under {self.condition!r}"
        if not _is_branch(analysis, enclosing[0], self.condition, match):
            return _first_described(enclosing)
        return _first_described(block for block in enclosing[1:] if not _is_elif(block))


class Guarded(NamedTuple):
    """Accepts any nesting of ``if`` with these conditions, or no condition at all.

    Args:
        conditions: Templates.
        present: Holes; a condition that only tests their presence is accepted as well.
        always: Reject a match that an earlier return may skip.
    """

    conditions: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    always: bool = False

    def violation(self, analysis: ScopeAnalysis, match: Match) -> str | None:
        """Return why the surrounding blocks are rejected, or None."""
        if self.always and analysis.flow is not None and analysis.flow.may_have_returned(match.statement):
            return "may be skipped by an earlier conditional return"
        return _first_described(block for block in match.block.enclosing if not self._accepts(analysis, block, match))

    def _accepts(self, analysis: ScopeAnalysis, block: Block, match: Match) -> bool:
        if any(_is_branch(analysis, block, condition, match) for condition in self.conditions):
            return True
        if not self.present or not isinstance(block.owner, ast.If) or block.field != "body":
            return False
        values = _hole_values(analysis, match)
        present = _names(node for hole, value in values.items() if hole in self.present for node in bound_nodes(value))
        test = block.owner.test
        parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
        return all(_tests_presence(analysis, analysis.value(part, block.owner), present) for part in parts)


class AnyBranch:
    """Accepts any nesting of ``if``: for a change that is right under every condition."""

    def violation(self, analysis: ScopeAnalysis, match: Match) -> str | None:  # noqa: ARG002 -- a Guard's signature
        """Return why the surrounding blocks are rejected, or None."""
        return _first_described(block for block in match.block.enclosing if not isinstance(block.owner, ast.If))


def execution_problem(analysis: ScopeAnalysis, match: Match) -> str | None:
    """Return why a match may not run exactly once when its block runs, or None."""
    if analysis.flow is not None and not analysis.flow.reachable(match.statement):
        return "is unreachable"
    return f"is {match.conditional}" if match.conditional else None


def _tests_presence(analysis: ScopeAnalysis, condition: ast.AST, names: set[str]) -> bool:
    for text in _PRESENCE_TESTS:
        for env in analysis.matcher.expression(template(text).expression, condition, {}):
            tested = _names(bound_nodes(env["THAT_"]))
            return bool(tested) and tested <= names
    return False


def _names(roots: Iterable[ast.AST]) -> set[str]:
    return {node.id for root in roots for node in walk(root) if isinstance(node, ast.Name)}


def _hole_values(analysis: ScopeAnalysis, match: Match) -> Bindings:
    return match.env if match.by_value else analysis.values(match.env, match.statement)


def _is_branch(analysis: ScopeAnalysis, block: Block, condition: str, match: Match) -> bool:
    if not isinstance(block.owner, ast.If):
        return False
    wanted = template(condition).expression
    negated = wanted.operand if isinstance(wanted, ast.UnaryOp) and isinstance(wanted.op, ast.Not) else None
    pattern = wanted if block.field == "body" else negated
    if pattern is None:
        return False
    test, matches = block.owner.test, analysis.matcher.matches
    if not match.by_value and matches(pattern, test, match.env):
        return True
    return matches(pattern, analysis.value(test, block.owner), _hole_values(analysis, match))


def _is_elif(block: Block) -> bool:
    """Whether a block is the ``else`` that holds the rest of an ``elif`` chain."""
    chained = len(block.statements) == 1 and isinstance(block.statements[0], ast.If)
    return isinstance(block.owner, ast.If) and block.field == "orelse" and chained


def _first_described(blocks: Iterable[Block]) -> str | None:
    """Describe the first block for a message, or None."""
    block = next(iter(blocks), None)
    if block is None:
        return None
    owner = block.owner
    line = getattr(owner, "lineno", 0)
    if isinstance(owner, ast.If):
        keyword = "if" if block.field == "body" else "the else of if"
        return f"is under {keyword} {ast.unparse(owner.test)!r} on line {line}"
    return f"is inside a {type(owner).__name__.lower()} on line {line}"

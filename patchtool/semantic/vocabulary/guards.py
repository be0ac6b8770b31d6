"""Guards: which conditions may enclose a site or a goal. Only ``Anywhere`` accepts loops, ``try`` or ``with``."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple, Protocol

from patchtool.semantic.language.scopes import Block
from patchtool.semantic.matching.analysis import Match, ScopeAnalysis, bound_nodes
from patchtool.semantic.matching.template import template
from patchtool.semantic.matching.unify import Bindings, same
from patchtool.semantic.vocabulary.exits import early_exit, is_excluded

_COUNTS = ("THAT_.numel()", "THAT_.shape[0]", "THAT_.size(0)", "len(THAT_)")
"""What a tensor that is present has more than zero of."""
_PRESENT = ("THAT_ > 0", "THAT_ != 0", "THAT_ >= 1", "0 < THAT_", "THAT_")
"""How a number is compared where there is something, and how where there is nothing."""
_ABSENT = ("THAT_ == 0", "THAT_ < 1", "THAT_ <= 0", "0 == THAT_")


class Guard(Protocol):
    """Accepts or rejects the blocks around a match."""

    def violation(self, analysis: ScopeAnalysis, match: Match) -> str | None:
        """Return why the surrounding blocks are rejected, or None."""


class Unconditional:
    """Accepts the scope's own body only."""

    def violation(self, analysis: ScopeAnalysis, match: Match) -> str | None:
        """Return why the surrounding blocks are rejected, or None."""
        return _first_described(analysis.enclosing(match))


class Branch(NamedTuple):
    """Accepts exactly the branch of this condition, ``if`` or ``elif``; ``not X`` is the ``else`` of ``X``.

    Args:
        condition: A template.
        apart: Templates of conditions that are never true together with it: only they may take an earlier arm of an
            ``elif`` chain, or leave the function earlier.
        present: Holes that are 0 or empty where there is nothing to do; leaving the function earlier is harmless then.
    """

    condition: str
    apart: tuple[str, ...] = ()
    present: tuple[str, ...] = ()

    def violation(self, analysis: ScopeAnalysis, match: Match) -> str | None:
        """Return why the surrounding blocks are rejected, or None."""
        enclosing = analysis.enclosing(match)
        if not enclosing:
            return f"is unconditional, expected to be under {self.condition!r}"
        if not _is_branch(analysis, enclosing[0], self.condition, match):
            return _first_described(enclosing)
        values = _hole_values(analysis, match)
        for block in enclosing[1:]:
            owner = block.owner
            if not _is_elif(block) or not isinstance(owner, ast.If):
                return _first_described([block])
            if not is_excluded(analysis.value(owner.test, owner), True, partial(self.excludes, analysis, values)):
                return f"is skipped where {ast.unparse(owner.test)!r} on line {owner.lineno} holds"
        return None

    def excludes(self, analysis: ScopeAnalysis, values: Bindings, condition: ast.AST, truth: bool) -> bool:
        """Whether the branch does not run, or has nothing to do, where a condition is true or false."""
        wanted = template(self.condition).expression
        negated = isinstance(wanted, ast.UnaryOp) and isinstance(wanted.op, ast.Not)
        if isinstance(wanted, ast.UnaryOp) and negated:
            wanted = wanted.operand
        others = [template(text).expression for text in self.apart] if truth else []
        others += [wanted] if truth is negated else []
        matched = any(analysis.matcher.matches(pattern, condition, values) for pattern in others)
        return matched or _is_absence(analysis, condition, truth, values, self.present)


class Guarded(NamedTuple):
    """Accepts any nesting of ``if`` with these conditions, or no condition at all.

    Args:
        conditions: Templates.
        present: Holes; a condition that only tests their presence is accepted as well, and leaving the function earlier
            is harmless where they are absent.
        always: Reject a match that any earlier return may skip, harmless or not.
    """

    conditions: tuple[str, ...] = ()
    present: tuple[str, ...] = ()
    always: bool = False

    def violation(self, analysis: ScopeAnalysis, match: Match) -> str | None:
        """Return why the surrounding blocks are rejected, or None."""
        if self.always and analysis.flow is not None and analysis.flow.may_have_returned(match.statement):
            return "may be skipped by an earlier conditional return"
        return _first_described(
            block for block in analysis.enclosing(match) if not self._accepts(analysis, block, match)
        )

    def excludes(self, analysis: ScopeAnalysis, values: Bindings, condition: ast.AST, truth: bool) -> bool:
        """Whether there is nothing to do where a condition is true or false."""
        patterns = [] if truth else [template(text).expression for text in self.conditions]
        matched = any(analysis.matcher.matches(pattern, condition, values) for pattern in patterns)
        return matched or _is_absence(analysis, condition, truth, values, self.present)

    def _accepts(self, analysis: ScopeAnalysis, block: Block, match: Match) -> bool:
        if any(_is_branch(analysis, block, condition, match) for condition in self.conditions):
            return True
        if not self.present or not isinstance(block.owner, ast.If) or block.field != "body":
            return False
        skipped = partial(self.excludes, analysis, _hole_values(analysis, match))
        return is_excluded(analysis.value(block.owner.test, block.owner), False, skipped)


class AnyBranch:
    """Accepts any nesting of ``if``: for a change that is right under every condition."""

    def violation(self, analysis: ScopeAnalysis, match: Match) -> str | None:
        """Return why the surrounding blocks are rejected, or None."""
        return _first_described(block for block in analysis.enclosing(match) if not isinstance(block.owner, ast.If))


class Anywhere:
    """Accepts any nesting, also in loops, ``try`` and ``with``: for a change of what is done, not of when."""

    def violation(self, analysis: ScopeAnalysis, match: Match) -> str | None:  # noqa: ARG002 -- a Guard's signature
        """Return why the surrounding blocks are rejected, or None."""
        return None


def execution_problem(analysis: ScopeAnalysis, match: Match) -> str | None:
    """Return why a match may not run exactly once when its block runs, or None."""
    if analysis.flow is not None and not analysis.flow.reachable(match.statement):
        return "is unreachable"
    return f"is {match.conditional}" if match.conditional else None


def exit_problem(analysis: ScopeAnalysis, match: Match, guard: Guard, *, behind: int = 0) -> str | None:
    """Return which way out of the function may be taken ahead of a match where its guard expects it, or None.

    Args:
        analysis: The scope.
        match: The match.
        guard: Decides where the match is expected; one that makes no statement about conditions accepts every way out.
        behind: Ways out up to this line do not count.
    """
    if not isinstance(guard, (Branch, Guarded)):
        return None
    return early_exit(analysis, match, partial(guard.excludes, analysis, _hole_values(analysis, match)), behind=behind)


def _is_absence(
    analysis: ScopeAnalysis, condition: ast.AST, truth: bool, values: Bindings, holes: tuple[str, ...]
) -> bool:
    """Whether a condition, true or false, means that one of the holes is None, 0 or empty."""
    present = [node for hole in holes for node in bound_nodes(values.get(hole))]
    if any(_made_of(node, present) for node in _tested(analysis, condition, ("THAT_ is None",) * truth)):
        return True
    if any(_made_of(node, present) for node in _tested(analysis, condition, ("THAT_ is not None",) * (not truth))):
        return True
    numbers = list(_tested(analysis, condition, _ABSENT if truth else _PRESENT))
    counted = [node for number in numbers for node in _tested(analysis, number, _COUNTS)]
    return any(same(n, p) for n in numbers for p in present) or any(_made_of(node, present) for node in counted)


def _tested(analysis: ScopeAnalysis, condition: ast.AST, patterns: Iterable[str]) -> Iterator[ast.AST]:
    for text in patterns:
        for env in analysis.matcher.expression(template(text).expression, condition, {}):
            yield from bound_nodes(env["THAT_"])


def _made_of(node: ast.AST, parts: list[ast.AST]) -> bool:
    """Whether code is one of some values, or those of its rows where another one is not negative."""
    if any(same(node, part) for part in parts):
        return True
    mask = node.slice if isinstance(node, ast.Subscript) else None
    return (
        isinstance(node, ast.Subscript)
        and isinstance(mask, ast.Compare)
        and isinstance(mask.ops[0], ast.GtE)
        and isinstance(mask.comparators[0], ast.Constant)
        and (len(mask.ops), mask.comparators[0].value) == (1, 0)
        and _made_of(node.value, parts)
        and _made_of(mask.left, parts)
    )


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

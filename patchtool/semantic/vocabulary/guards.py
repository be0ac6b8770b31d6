"""Guards: which conditions may enclose a site or a goal. Only ``Anywhere`` accepts loops, ``try`` or ``with``."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple, Protocol

from patchtool.semantic.language.scopes import Block
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.certainty import dead_code
from patchtool.semantic.matching.conditions import Test, tests_of
from patchtool.semantic.matching.match import Match, bound_nodes
from patchtool.semantic.matching.template import template
from patchtool.semantic.matching.unify import Bindings, same
from patchtool.semantic.vocabulary.exits import early_exit, is_excluded

_COUNTS = ("THAT_.numel()", "THAT_.nelement()", "THAT_.shape[0]", "THAT_.size(0)", "THAT_.size(dim=0)", "len(THAT_)")
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
        return first_described(analysis.enclosing(match))


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
        tests = tests_of(enclosing[0]) or []
        values = self.known(analysis, match)
        if not tests or values is None:
            return first_described(enclosing)
        for block in enclosing[1:]:
            if not _is_elif(block):
                return first_described([block])
            tests += tests_of(block) or []
        for test in (test for test in tests if not test.truth):
            skips = is_excluded(analysis.value(test.condition, test.at), True, partial(self.excludes, analysis, values))
            if not skips and not self._is_met_by(analysis, test, match):
                return f"is skipped where {ast.unparse(test.condition)!r} on line {test.at.lineno} holds"
        return None

    def known(self, analysis: ScopeAnalysis, match: Match) -> Bindings | None:
        """Return the values of the holes, those of the condition too; None where the match is not in its branch."""
        values = _hole_values(analysis, match)
        for block in analysis.enclosing(match)[:1]:
            for test in (tests_of(block) or [])[-1:]:
                return self._bindings(analysis, test, match, values)
        return None

    def _is_met_by(self, analysis: ScopeAnalysis, test: Test, match: Match) -> bool:
        return self._bindings(analysis, test, match, _hole_values(analysis, match)) is not None

    def _bindings(self, analysis: ScopeAnalysis, test: Test, match: Match, values: Bindings) -> Bindings | None:
        pattern = _tested_pattern(self.condition, test.truth)
        if pattern is None:
            return None
        value = analysis.value(test.condition, test.at)
        by_value = next(analysis.matcher.expression(pattern, value, values), None)
        if by_value is None and not match.by_value and analysis.matcher.matches(pattern, test.condition, match.env):
            return values
        return by_value

    def excludes(self, analysis: ScopeAnalysis, values: Bindings, condition: ast.AST, truth: bool) -> bool:
        """Whether the branch does not run, or has nothing to do, where a condition is true or false."""
        wanted = template(self.condition).expression
        negated = isinstance(wanted, ast.UnaryOp) and isinstance(wanted.op, ast.Not)
        if isinstance(wanted, ast.UnaryOp) and negated:
            wanted = wanted.operand
        matches = analysis.matcher.matches
        if matches(wanted, condition, values):
            return truth is negated
        others = [template(text).expression for text in self.apart] if truth else []
        return any(matches(pattern, condition, values) for pattern in others) or _is_absence(
            analysis, condition, truth, values, self.present
        )


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
        return first_described(
            block for block in analysis.enclosing(match) if not self._accepts(analysis, block, match)
        )

    def excludes(self, analysis: ScopeAnalysis, values: Bindings, condition: ast.AST, truth: bool) -> bool:
        """Whether there is nothing to do where a condition is true or false."""
        patterns = [] if truth else [template(text).expression for text in self.conditions]
        matched = any(analysis.matcher.matches(pattern, condition, values) for pattern in patterns)
        return matched or _is_absence(analysis, condition, truth, values, self.present)

    def _accepts(self, analysis: ScopeAnalysis, block: Block, match: Match) -> bool:
        tests = tests_of(block)
        if tests is None:
            return False
        skipped = partial(self.excludes, analysis, _hole_values(analysis, match))
        other_arm = isinstance(block.owner, ast.If) and block.field != "body"
        return all(
            any(_is_test(analysis, test, condition, match) for condition in self.conditions)
            or (not other_arm and is_excluded(analysis.value(test.condition, test.at), not test.truth, skipped))
            for test in tests
        )


class AnyBranch:
    """Accepts any nesting of ``if``: for a change that is right under every condition."""

    def violation(self, analysis: ScopeAnalysis, match: Match) -> str | None:
        """Return why the surrounding blocks are rejected, or None."""
        return first_described(block for block in analysis.enclosing(match) if tests_of(block) is None)


class Anywhere:
    """Accepts any nesting, also in loops, ``try`` and ``with``: for a change of what is done, not of when."""

    def violation(self, analysis: ScopeAnalysis, match: Match) -> str | None:  # noqa: ARG002 -- a Guard's signature
        """Return why the surrounding blocks are rejected, or None."""
        return None


def execution_problem(analysis: ScopeAnalysis, match: Match) -> str | None:
    """Return why a match may not run exactly once when its block runs, or None."""
    if analysis.flow is not None and not analysis.flow.reachable(match.statement):
        return "is unreachable"
    return f"is {match.conditional}" if match.conditional else dead_code(analysis, match)


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
    values = guard.known(analysis, match) if isinstance(guard, Branch) else None
    values = _hole_values(analysis, match) if values is None else values
    return early_exit(analysis, match, partial(guard.excludes, analysis, values), behind=behind)


def _is_absence(
    analysis: ScopeAnalysis, condition: ast.AST, truth: bool, values: Bindings, holes: tuple[str, ...]
) -> bool:
    """Whether a condition, true or false, means that one of the holes is None, 0 or empty."""
    present = [node for hole in holes for node in bound_nodes(values.get(hole))]
    if any(_made_of(analysis, node, present) for node in _tested(analysis, condition, ("THAT_ is None",) * truth)):
        return True
    if any(
        _made_of(analysis, node, present) for node in _tested(analysis, condition, ("THAT_ is not None",) * (not truth))
    ):
        return True
    if any(_is_mask(analysis, node, present) for node in _tested(analysis, condition, ("THAT_.any()",) * (not truth))):
        return True
    numbers = list(_tested(analysis, condition, _ABSENT if truth else _PRESENT))
    counted = [node for number in numbers for node in _tested(analysis, number, _COUNTS)]
    return any(same(n, p) for n in numbers for p in present) or any(
        _made_of(analysis, node, present) for node in counted
    )


def _tested(analysis: ScopeAnalysis, condition: ast.AST, patterns: Iterable[str]) -> Iterator[ast.AST]:
    for text in patterns:
        for env in analysis.matcher.expression(template(text).expression, condition, {}):
            yield from bound_nodes(env["THAT_"])


def _made_of(analysis: ScopeAnalysis, node: ast.AST, parts: list[ast.AST]) -> bool:
    """Whether code is one of some values, or those of its rows where another one is not negative."""
    if any(same(node, part) for part in parts):
        return True
    selected = analysis.matcher.expression(template("ROWS_[STEPS_ >= 0]").expression, node, {})
    return any(
        all(_made_of(analysis, bound_nodes(env[hole])[0], parts) for hole in ("ROWS_", "STEPS_")) for env in selected
    )


def _is_mask(analysis: ScopeAnalysis, node: ast.AST, parts: list[ast.AST]) -> bool:
    """Whether code says where one of some values is not negative."""
    found = analysis.matcher.expression(template("STEPS_ >= 0").expression, node, {})
    return any(_made_of(analysis, bound_nodes(env["STEPS_"])[0], parts) for env in found)


def _hole_values(analysis: ScopeAnalysis, match: Match) -> Bindings:
    return match.env if match.by_value else analysis.values(match.env, match.statement)


def _tested_pattern(condition: str, truth: bool) -> ast.expr | None:
    """The pattern of a test that must be true, or false, for a condition to hold."""
    wanted = template(condition).expression
    if truth:
        return wanted
    return wanted.operand if isinstance(wanted, ast.UnaryOp) and isinstance(wanted.op, ast.Not) else None


def _is_test(analysis: ScopeAnalysis, test: Test, condition: str, match: Match) -> bool:
    pattern, matches = _tested_pattern(condition, test.truth), analysis.matcher.matches
    if pattern is None:
        return False
    if not match.by_value and matches(pattern, test.condition, match.env):
        return True
    return matches(pattern, analysis.value(test.condition, test.at), _hole_values(analysis, match))


def _is_elif(block: Block) -> bool:
    """Whether a block is the ``else`` that holds the rest of an ``elif`` chain."""
    chained = len(block.statements) == 1 and isinstance(block.statements[0], ast.If)
    return isinstance(block.owner, ast.If) and block.field == "orelse" and chained


def first_described(blocks: Iterable[Block]) -> str | None:
    """Describe the first of some blocks for a message, or None."""
    block = next(iter(blocks), None)
    if block is None:
        return None
    owner = block.owner
    line = getattr(owner, "lineno", 0)
    if isinstance(owner, ast.If):
        keyword = "if" if block.field == "body" else "the else of if"
        return f"is under {keyword} {ast.unparse(owner.test)!r} on line {line}"
    if isinstance(owner, ast.match_case):
        line = block.statements[0].lineno
        return f"is under case {ast.unparse(owner.pattern)!r} before line {line}"
    return f"is inside a {type(owner).__name__.lower()} on line {line}"

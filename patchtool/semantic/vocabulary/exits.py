"""Early ways out: code ahead of a match after which the match does not run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

from patchtool.semantic.language.nodes import children
from patchtool.semantic.language.scopes import DEFINITIONS
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.conditions import Test, case_tests
from patchtool.semantic.matching.match import Match

Excludes = Callable[[ast.AST, bool], bool]
"""Whether the value of a condition, true or false, keeps the function from needing the match."""

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


class Exit(NamedTuple):
    """A way out of the function.

    Args:
        statement: A ``return``, or a ``raise`` outside of exception handlers.
        tests: What must hold for it to be reached.
    """

    statement: ast.stmt
    tests: tuple[Test, ...]


def early_exit(analysis: ScopeAnalysis, match: Match, excludes: Excludes, *, behind: int = 0) -> str | None:
    """Describe the first way out ahead of a match that may be taken where the match is needed, or None.

    Args:
        analysis: The scope.
        match: The match.
        excludes: Decides which conditions make a way out harmless.
        behind: Ways out up to this line do not count.
    """
    flow = analysis.flow
    if flow is None:
        return None
    for block, index in (*match.block.ancestors, (match.block, match.start)):
        for out in (out for statement in block.statements[:index] for out in _exits(statement, ())):
            counts = out.statement.lineno > behind and flow.reachable(out.statement)
            if counts and not any(
                is_excluded(analysis.value(test, at), truth, excludes) for test, truth, at in out.tests
            ):
                word = "return" if isinstance(out.statement, ast.Return) else "raise"
                return f"may be skipped by the {word} on line {out.statement.lineno}"
    return None


def _exits(node: ast.AST, tests: tuple[Test, ...]) -> Iterator[Exit]:
    """Every way out of the function in a statement; ``break`` and ``continue`` only leave a loop."""
    if isinstance(node, (ast.Return, ast.Raise)):
        yield Exit(node, tests)
    elif isinstance(node, ast.If):
        while isinstance(node, ast.If):  # an ``elif`` chain is nested once for each arm
            for statement in node.body:
                yield from _exits(statement, (*tests, Test(node.test, True, node)))
            tests = (*tests, Test(node.test, False, node))
            chained = len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)
            if not chained:
                for statement in node.orelse:
                    yield from _exits(statement, tests)
                return
            node = node.orelse[0]
    elif isinstance(node, ast.Match):
        for case in node.cases:
            inner = (*tests, *case_tests(node, case))
            yield from (out for statement in case.body for out in _exits(statement, inner))
    elif isinstance(node, ast.ExceptHandler):
        yield from (out for child in node.body for out in _exits(child, tests) if isinstance(out.statement, ast.Return))
    elif isinstance(node, ast.stmt) and not isinstance(node, DEFINITIONS):
        for child in children(node):
            yield from _exits(child, tests)


def is_excluded(value: ast.AST, truth: bool, excludes: Excludes) -> bool:
    """Whether a condition is harmless: any part of a conjunction, or all parts of a disjunction."""
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not):
        return is_excluded(value.operand, not truth, excludes)
    if isinstance(value, ast.BoolOp):
        parts = [is_excluded(part, truth, excludes) for part in value.values]
        return any(parts) if isinstance(value.op, ast.And) is truth else all(parts)
    return excludes(value, truth)

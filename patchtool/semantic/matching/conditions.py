"""What must hold for code to run: the tests of its blocks, and its part of an expression."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from patchtool.semantic.language.nodes import COMPREHENSIONS, children
from patchtool.semantic.language.scopes import Block

_HARMLESS_CONTEXTS = frozenset(
    {"no_grad", "inference_mode", "enable_grad", "set_grad_enabled", "record_function", "nullcontext", "nvtx_range"}
    | {"annotate", "profile", "timer", "trace_span", "lock", "_lock"}
)
"""Contexts that change neither whether the code in them runs nor what it computes, by the last word of their name."""


class Test(NamedTuple):
    """A condition of a block.

    Args:
        condition: An expression.
        truth: Whether it must be true.
        at: The statement that evaluates it.
    """

    condition: ast.expr
    truth: bool
    at: ast.stmt


def tests_of(block: Block) -> list[Test] | None:
    """Return what must hold for a block to run where the statement that has it runs, in the order of evaluation.

    Args:
        block: A block of an ``if`` or a ``case``.

    Returns:
        The tests; None where the block depends on something else, such as a loop or an exception.
    """
    if isinstance(block.owner, ast.If):
        return [Test(block.owner.test, block.field == "body", block.owner)]
    if isinstance(block.owner, ast.match_case) and block.ancestors:
        parent, index = block.ancestors[-1]
        statement = parent.statements[index]
        if isinstance(statement, ast.Match):
            return list(case_tests(statement, block.owner))
    return None


def case_tests(statement: ast.Match, case: ast.match_case) -> Iterator[Test]:
    """Yield what must hold for a case: no earlier one applies, and its own pattern and guard do."""
    for other in statement.cases:
        own = other is case
        condition = _pattern_test(statement.subject, other.pattern)
        parts = [part for part in (condition, other.guard) if part is not None]
        if parts:
            test = parts[0] if len(parts) == 1 else ast.BoolOp(ast.And(), parts)
            yield Test(test, own, statement)
        if own:
            return


def _pattern_test(subject: ast.expr, pattern: ast.pattern) -> ast.expr | None:
    """A pattern as a comparison; None where it always applies."""
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
        return None
    if isinstance(pattern, ast.MatchValue):
        return ast.Compare(subject, [ast.Eq()], [pattern.value])
    if isinstance(pattern, ast.MatchSingleton):
        return ast.Compare(subject, [ast.Is()], [ast.Constant(pattern.value)])
    if isinstance(pattern, ast.MatchOr):
        parts = [_pattern_test(subject, part) for part in pattern.patterns]
        return ast.BoolOp(ast.Or(), [part for part in parts if part is not None])
    return ast.Name("\0pattern", ast.Load())  # equals no condition


def is_transparent(block: Block) -> bool:
    """Whether a block runs exactly as if its statements stood where the ``with`` stands."""
    if not isinstance(block.owner, (ast.With, ast.AsyncWith)):
        return False
    return all(item.optional_vars is None and _is_harmless(item.context_expr) for item in block.owner.items)


def _is_harmless(context: ast.expr) -> bool:
    callee = context.func if isinstance(context, ast.Call) else context
    name = callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", "")
    return name in _HARMLESS_CONTEXTS or name.endswith("_lock")


_SEPARATE = (ast.stmt, ast.ExceptHandler, ast.match_case, ast.Lambda)


def own_expressions(statement: ast.stmt) -> Iterator[tuple[ast.expr, str]]:
    """Yield a statement's expressions, without those of statements inside it and of nested functions.

    Yields:
        The expression, and why it may not run exactly once when the statement does, or empty.
    """
    first = {ast.While: "in the condition of a loop", ast.Assert: "in an assertion"}.get(type(statement), "")
    stack: list[tuple[ast.AST, str]] = [(statement, first)]
    while stack:
        node, conditional = stack.pop()
        if isinstance(node, ast.expr):
            yield node, conditional
        inner = [child for child in children(node) if not isinstance(child, _SEPARATE)]
        stack.extend((child, conditional or _conditional_part(node, child)) for child in inner)


def _conditional_part(node: ast.AST, child: ast.AST) -> str:
    if isinstance(node, ast.BoolOp) and child is not node.values[0]:
        return "behind and/or"
    if isinstance(node, ast.IfExp) and child is not node.test:
        return "in a conditional expression"
    if isinstance(node, COMPREHENSIONS):
        return "in a comprehension"
    return "in an annotation" if isinstance(node, ast.AnnAssign) and child is node.annotation else ""

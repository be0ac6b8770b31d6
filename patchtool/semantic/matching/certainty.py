"""Conditions that are always true or always false because of code that has run before: dead code is no fix.

Behind ``batch.mode``, ``batch is None`` is false: the code under it never runs, nor does what follows
``if batch is not None: return``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from patchtool.semantic.language.nodes import walk
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.conditions import own_expressions, tests_of
from patchtool.semantic.matching.flow import constant_truth
from patchtool.semantic.matching.match import Match
from patchtool.semantic.matching.unify import same

_OF_TENSORS = frozenset(
    {
        "shape",
        "dtype",
        "device",
        "ndim",
        "T",
        "mT",
        "H",
        "mH",
        "data",
        "grad",
        "real",
        "imag",
        "size",
        "layout",
        "names",
    }
    | {"requires_grad", "is_cuda", "is_cpu", "is_npu", "is_leaf", "itemsize", "nbytes", "strides", "flat", "base"}
    | {"numerator", "denominator"}
)
"""What numbers, tensors and arrays have beside methods: a value with another attribute is an object, which is true."""


def dead_code(analysis: ScopeAnalysis, match: Match) -> str | None:
    """Return why a match never runs although the data flow reaches it, or None."""
    for block, index in (*match.block.ancestors, (match.block, match.start)):
        for test in tests_of(block) or ():
            if _truth(analysis, test.condition, test.at, match) is (not test.truth):
                return f"never runs, because {ast.unparse(test.condition)!r} on line {test.at.lineno} is known"
        for statement in block.statements[:index]:
            if _always_leaves(analysis, [statement], match):
                return f"never runs, because of the way out on line {statement.lineno}"
    return None


def _always_leaves(analysis: ScopeAnalysis, statements: Sequence[ast.stmt], match: Match) -> bool:
    for statement in statements:
        if isinstance(statement, (ast.Return, ast.Raise)):
            return True
        if isinstance(statement, (ast.With, ast.AsyncWith)) and _always_leaves(analysis, statement.body, match):
            return True
        if isinstance(statement, ast.If):
            ways = [_always_leaves(analysis, block, match) for block in (statement.orelse, statement.body)]
            truth = _truth(analysis, statement.test, statement, match) if any(ways) else None  # which costs more
            if truth is not None and ways[truth]:
                return True
    return False


def _truth(analysis: ScopeAnalysis, test: ast.expr, at: ast.stmt, match: Match) -> bool | None:
    """The truth of a condition that is constant or asks whether an object is there; None where unknown."""
    constant = constant_truth(test)
    if constant is not None:
        return constant
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _truth(analysis, test.operand, at, match)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        parts, decisive = [_truth(analysis, part, at, match) for part in test.values], isinstance(test.op, ast.Or)
        return decisive if decisive in parts else None if None in parts else not decisive
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.comparators[0], ast.Constant):
        differs = isinstance(test.ops[0], (ast.IsNot, ast.NotEq))
        if not differs and not isinstance(test.ops[0], (ast.Is, ast.Eq)):
            return None
        none = test.comparators[0].value is None
        return differs if _is_there(analysis, test.left, at, match, only_objects=not none) else None
    return True if _is_there(analysis, test, at, match, only_objects=True) else None


def _is_there(analysis: ScopeAnalysis, name: ast.expr, at: ast.stmt, match: Match, *, only_objects: bool) -> bool:
    """Whether a name is not None: a part of it was read before, or the match reads one and fails otherwise.

    Args:
        analysis: The function.
        name: The code; anything but a name is not known.
        at: The statement with the condition.
        match: The code that depends on the condition.
        only_objects: Whether it must be an object that no number, tensor or container can be.
    """
    if not isinstance(name, ast.Name) or analysis.flow is None:
        return False
    if name.id == "__debug__":
        return True
    called = {id(node.func) for node in analysis.nodes if isinstance(node, ast.Call)}

    def tells(node: ast.AST) -> bool:
        if not isinstance(node, (ast.Attribute, ast.Subscript)) or not same(node.value, name):
            return False
        own = isinstance(node, ast.Attribute) and node.attr not in _OF_TENSORS and id(node) not in called
        return own or not only_objects

    value = analysis.value(name, at)
    parts = (node for statement in match.statements for node in walk(statement))
    if any(tells(node) for node in parts) and same(analysis.value(name, match.statement), value):
        return True
    for statement, expressions in _before(analysis, at):
        read = any(tells(node) for node, doubt in expressions if not doubt)
        if read and same(analysis.value(name, statement), value):
            return True
    return False


def _before(analysis: ScopeAnalysis, at: ast.stmt) -> Iterator[tuple[ast.stmt, list[tuple[ast.expr, str]]]]:
    """Yield each statement that has certainly run before another one, with its own expressions."""
    places = ((block, i) for block in analysis.blocks for i, s in enumerate(block.statements) if s is at)
    for place in places:
        for block, index in (*place[0].ancestors, place):
            around = block.statements[index : index + 1] if block.statements[index] is not at else []
            yield from ((s, list(own_expressions(s))) for s in (*block.statements[:index], *around))

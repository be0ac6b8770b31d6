"""What a template of several statements does: its effects, each under conditions, with its local names replaced.

``if a: x = f(b); c[x] = 1`` means: where ``a``, ``c[f(b)] = 1``. Code with the same effects may use other local names,
or none, leave early instead of nesting, and spell each part in its own way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from patchtool.semantic.matching.flow import DataFlow
from patchtool.semantic.matching.spellings import canonical
from patchtool.semantic.matching.template import is_hole

Condition = tuple[ast.expr, bool]
"""An expression, and whether it must be true."""


class Effect(NamedTuple):
    """What one statement of a template does.

    Args:
        pattern: The statement, or its expression, with the values of local names, in the general spelling.
        written: The same in the template's own spelling.
        conditions: Under which conditions.
    """

    pattern: ast.AST
    written: ast.AST
    conditions: tuple[Condition, ...]


@lru_cache(maxsize=256)
def effects_of(body: tuple[ast.stmt, ...]) -> tuple[Effect, ...] | None:
    """Return the effects of a template's statements; None where they cannot be stated one by one.

    Args:
        body: Assignments and expressions, also under ``if``; anything else is not understood.
    """
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    flow = DataFlow(ast.FunctionDef("_", nothing, list(body), [], lineno=1))
    try:
        return tuple(_effects(flow, body, ()))
    except _NotUnderstood:
        return None


class _NotUnderstood(Exception):
    """A statement whose effect depends on more than conditions."""


def _effects(flow: DataFlow, body: Sequence[ast.stmt], conditions: tuple[Condition, ...]) -> Iterator[Effect]:
    for statement in body:
        if isinstance(statement, ast.If) and not statement.orelse:
            test = flow.value(statement.test, statement)
            if not isinstance(test, ast.expr):
                raise _NotUnderstood
            yield from _effects(flow, statement.body, (*conditions, *conjuncts(test, truth=True)))
        elif isinstance(statement, ast.Assign) and all(isinstance(t, ast.Name) for t in statement.targets):
            continue
        elif isinstance(statement, (ast.Assign, ast.Expr)):
            value = flow.node_values(statement)[id(statement)]
            spelled = canonical(value)
            yield Effect(_expression(spelled), _expression(value), conditions)
        else:
            raise _NotUnderstood


def _expression(statement: ast.AST) -> ast.AST:
    return statement.value if isinstance(statement, ast.Expr) else statement


def named_holes(body: tuple[ast.stmt, ...]) -> Iterator[tuple[str, str]]:
    """Yield the holes of ``NAME_ = VALUE_``: a name that is given to the value of another hole."""
    for statement in body:
        targets = statement.targets if isinstance(statement, ast.Assign) else ()
        value = statement.value if isinstance(statement, ast.Assign) else None
        if len(targets) == 1 and isinstance(targets[0], ast.Name) and isinstance(value, ast.Name) and is_hole(value.id):
            yield targets[0].id, value.id
        yield from named_holes(tuple(getattr(statement, "body", ())))


def conjuncts(test: ast.expr, *, truth: bool) -> Iterator[Condition]:
    """Yield conditions that all hold exactly where a test is true, or false."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from conjuncts(test.operand, truth=not truth)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) is truth:
        for part in test.values:
            yield from conjuncts(part, truth=truth)
    else:
        yield test, truth

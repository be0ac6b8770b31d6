"""Searching a function for the effects of a template, instead of for its statements."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.matching.conditions import is_transparent, tests_of
from patchtool.semantic.matching.match import Match
from patchtool.semantic.matching.meaning import Condition, Effect, conjuncts
from patchtool.semantic.matching.observation import is_pure, only_looks
from patchtool.semantic.matching.unify import Bindings
from patchtool.semantic.vocabulary.constraints import Constraint, filter_matches
from patchtool.semantic.vocabulary.exits import early_exit
from patchtool.semantic.vocabulary.guards import execution_problem, first_described

Found = tuple[Effect, Match]


def find_effects(
    analysis: ScopeAnalysis, effects: Sequence[Effect], values: Bindings, where: Mapping[str, Constraint]
) -> list[list[Found]]:
    """Find every way in which code has all effects of a template, with the same bindings.

    Args:
        analysis: The function.
        effects: The effects.
        values: Known hole bindings, as values.
        where: Constraints by hole.
    """
    ways: list[tuple[list[Found], Bindings]] = [([], values)]
    for number, effect in enumerate(effects, start=1):
        last = number == len(effects)
        ways = [
            ([*found, (effect, match)], match.env)
            for found, env in ways
            for match in filter_matches(analysis, analysis.find_pattern(effect.pattern, env), where if last else {})
        ]
    return [found for found, _ in ways]


def effect_problem(analysis: ScopeAnalysis, effect: Effect, match: Match, *, alone: bool) -> str | None:
    """Return why a match has not the effect where it should, or None.

    Args:
        analysis: The function.
        effect: The effect.
        match: The code.
        alone: Whether no other conditions may enclose it; otherwise they may, outside of its own.
    """
    problem = execution_problem(analysis, match)
    if problem:
        return problem
    known: list[Condition] = []
    inside = alone
    for block, index in (*match.block.ancestors, (match.block, match.start)):
        tests = [] if block.owner is analysis.scope.node or is_transparent(block) else tests_of(block)
        if tests is None:
            return first_described([block])
        holds = [c for test in tests for c in _holding(analysis, test.condition, test.at, truth=test.truth)]
        left = list(_left_behind(analysis, block.statements[:index]))
        inside = inside or any(_is_wanted(analysis, match, effect, condition) for condition in holds)
        if inside and not all(_is_wanted(analysis, match, effect, condition) for condition in holds):
            return first_described([block])
        inside = inside or any(_is_wanted(analysis, match, effect, condition) for condition in left)
        known += [*holds, *left]
    for condition, truth in effect.conditions:
        if not any(has is truth and analysis.matcher.matches(condition, own, match.env) for own, has in known):
            return f"is not under {'' if truth else 'not '}{ast.unparse(condition)}"
    return early_exit(analysis, match, partial(_is_unwanted, analysis, match, effect))


def _holding(analysis: ScopeAnalysis, test: ast.expr, at: ast.stmt, *, truth: bool) -> Iterator[Condition]:
    value = analysis.value(test, at)
    yield from conjuncts(value, truth=truth) if isinstance(value, ast.expr) else ()


def _left_behind(analysis: ScopeAnalysis, before: Sequence[ast.stmt]) -> Iterator[Condition]:
    """What holds behind statements because the function has ended where it does not: ``if not a: return``."""
    for statement in before:
        if isinstance(statement, ast.If) and not statement.orelse and isinstance(statement.body[-1], ast.Return):
            yield from _holding(analysis, statement.test, statement, truth=False)


def _is_wanted(analysis: ScopeAnalysis, match: Match, effect: Effect, condition: Condition) -> bool:
    own, has = condition
    return any(has is truth and analysis.matcher.matches(c, own, match.env) for c, truth in effect.conditions)


def _is_unwanted(analysis: ScopeAnalysis, match: Match, effect: Effect, condition: ast.AST, truth: bool) -> bool:
    """Whether the effect is not wanted where a condition is true, or false."""
    return any(truth is not has and analysis.matcher.matches(c, condition, match.env) for c, has in effect.conditions)


def other_effect(body: Sequence[ast.stmt], known: Sequence[ast.stmt]) -> ast.stmt | None:
    """Return a statement that does something beside what is known, or None."""
    for statement in body:
        if any(statement is other for other in known) or only_looks(statement):
            continue
        if isinstance(statement, ast.If) and is_pure(_without_walrus(statement.test)):
            inner = other_effect([*statement.body, *statement.orelse], known)
            if inner is not None:
                return inner
        elif not (_ends(statement) or _names_something(statement)):
            return statement
    return None


def _ends(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Return) else ast.Constant(value=True)
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def _names_something(statement: ast.stmt) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
    return value is not None and all(isinstance(target, ast.Name) for target in targets) and is_pure(value)


def _without_walrus(test: ast.expr) -> ast.expr:
    while isinstance(test, ast.Attribute) and isinstance(test.value, ast.NamedExpr):
        test = test.value.value
    return test.value if isinstance(test, ast.NamedExpr) else test

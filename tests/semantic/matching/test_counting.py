"""Code is counted where it computes something: what passes its value on, and another alternative, add nothing."""

from __future__ import annotations

import pytest

from patchtool.semantic import goal
from patchtool.semantic.language.scopes import Scope, find_scope
from patchtool.semantic.language.source import parse_unedited
from patchtool.semantic.matching.analysis import ScopeAnalysis
from patchtool.semantic.vocabulary.goals import GoalStatus

BOUND = "max(0, PRECISION_ - EXPONENT_ % 3 - 1)"
CODE = "max(0, precision - exponent % 3 - 1)"
ONCE = {
    "plain": f"return format(value, {CODE})",
    "f-string": f"return f'{{value:.{{{CODE}}}f}}'",
    "cast-in-f-string": f"return format(value, f'.{{int({CODE})}}f')",
    "cast": f"return format(value, int({CODE}))",
    "cast-of-name": f"digits = {CODE}\nreturn format(value, int(digits))",
    "two-casts-of-name": f"digits = {CODE}\nreturn format(int(digits), int(digits))",
    "tensor-cast": f"return {CODE}.long().contiguous()",
    "assignment-expression": f"return format(value, (digits := {CODE}))",
    "name-of-name": f"digits = int({CODE})\nother = int(digits)\nreturn other",
}
TWICE = {
    "two-calls": f"return format({CODE}, {CODE})",
    "two-casts": f"return format(int({CODE}), int({CODE}))",
    "in-two-statements": f"a = {CODE}\nb = int({CODE})\nreturn a, b",
}


def found(body: str, *patterns: str, times: int = 1) -> GoalStatus:
    text = "def metric(value, precision, exponent):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    source = parse_unedited("number.py", text.encode())
    scope = find_scope(source, "metric")
    assert isinstance(scope, Scope)
    return goal("decimals", *patterns, times=times).search(ScopeAnalysis(source, scope), {}, {}).status


@pytest.mark.parametrize("name", ONCE)
def test_what_passes_a_value_on_is_not_counted(name: str) -> None:
    assert found(ONCE[name], BOUND) is GoalStatus.MET


@pytest.mark.parametrize("name", ["plain", "cast", "cast-in-f-string"])
@pytest.mark.parametrize("patterns", [(BOUND, f"int({BOUND})"), (f"int({BOUND})", BOUND)], ids=["in", "out"])
def test_alternatives_that_match_the_same_code_are_counted_once(name: str, patterns: tuple[str, ...]) -> None:
    assert found(ONCE[name], *patterns) is GoalStatus.MET


@pytest.mark.parametrize("name", TWICE)
def test_what_is_computed_again_is_counted(name: str) -> None:
    assert found(TWICE[name], BOUND) is GoalStatus.INEXACT
    assert found(TWICE[name], BOUND, times=2) is GoalStatus.MET


def test_call_of_itself_with_another_argument_is_two_calls() -> None:
    assert found("return g(g(value))", "g(X_)") is GoalStatus.INEXACT
    assert found("return g(g(value))", "g(X_)", times=2) is GoalStatus.MET

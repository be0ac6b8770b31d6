"""Code that a patch puts under a guard: the code without the guard is the site, not half of the fix."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    Judge = Callable[..., Any]

MODULE = "from kernels import a, b, flag, old, new\n\n\ndef f(x, y):\n"

GUARDS = {
    "if": ("old(1)", "if flag:\n    old(1)"),
    "not": ("old(1)", "if not flag:\n    old(1)"),
    "comparison": ("old(1)", "if x is not None:\n    old(1)"),
    "two conditions": ("old(1)", "if x and y:\n    old(1)"),
    "nested": ("old(1)", "if x:\n    if y:\n        old(1)"),
    "several statements": ("old(1)\nold(2)", "if flag:\n    old(1)\n    old(2)"),
    "assignment": ("x.field = old(1)", "if flag:\n    x.field = old(1)"),
    "else": ("old(1)", "if flag:\n    new(1)\nelse:\n    old(1)"),
    "call of an attribute": ("x.old(y)", "if y:\n    x.old(y)"),
    "hole": ("old(A_)", "if A_:\n    old(A_)"),
    "with": ("old(1)", "with a:\n    old(1)"),
    "try": ("old(1)", "try:\n    old(1)\nfinally:\n    new(1)"),
}


def codemod(before: str, after: str) -> str:
    return (
        "from patchtool.semantic import SemanticPatch, goal, replace\n\n\nclass Guarded(SemanticPatch):\n"
        f"    scope = 'f'\n    edit = replace({before!r}, {after!r})\n    goals = (goal('guarded', {after!r}),)\n"
    )


def source(*statements: str) -> str:
    return MODULE + textwrap.indent("\n".join(statements), "    ") + "\n"


@pytest.mark.parametrize(("before", "after"), GUARDS.values(), ids=GUARDS)
@pytest.mark.parametrize("around", ["a(x)\n{}\nb(y)", "{}", "return_ = a(x)\n{}\nreturn b(return_)"], ids=range(3))
def test_code_without_the_guard_is_the_site(judge_codemod: Judge, before: str, after: str, around: str) -> None:
    here, there = (each.replace("A_", "x.value") for each in (before, after))
    unguarded, guarded = (source(around.format(each)) for each in (here, there))
    judgement = judge_codemod(codemod(before, after), unguarded)
    assert (judgement.state.value, judgement.detail) == ("applied", "")
    assert judgement.contents["m.py"].decode() == guarded
    assert judge_codemod(codemod(before, after), guarded).state.value == "landed"


OTHERWISE = {
    "under another condition": ("old(1)", "if flag:\n    old(1)", "if y:\n    old(1)"),
    "under the opposite one": ("old(1)", "if flag:\n    old(1)", "if not flag:\n    old(1)"),
    "guarded and unguarded": ("old(1)", "if flag:\n    old(1)", "if flag:\n    old(1)\nold(1)"),
    "one of two is guarded": ("old(1)\nold(2)", "if flag:\n    old(1)\n    old(2)", "if flag:\n    old(1)\nold(2)"),
}


@pytest.mark.parametrize(("before", "after", "found"), OTHERWISE.values(), ids=OTHERWISE)
def test_code_with_another_guard_is_neither_landed_nor_lost(
    judge_codemod: Judge, before: str, after: str, found: str
) -> None:
    judgement = judge_codemod(codemod(before, after), source(found))
    assert judgement.state.value != "landed"
    if judgement.state.value == "applied":
        written = judgement.contents["m.py"].decode()
        assert judge_codemod(codemod(before, after), written).state.value == "landed"

"""A drafted codemod produces the change that it was drafted from."""

# ruff: noqa: E501
# mypy: allow-untyped-defs, allow-incomplete-defs, disable-error-code="call-overload,index"

from __future__ import annotations

import ast

import pytest

from patchtool.domain.patch import PatchInfo
from patchtool.semantic.draft import draft
from patchtool.semantic.judge import judge_file
from patchtool.semantic.load import load_draft

HEAD = "import os\n\n\nclass C:\n    def f(self, a, b):\n"
CHANGES = [
    ("replace", HEAD + "        c = g(a)\n        return c\n", HEAD + "        c = h(a, b=1)\n        return c\n"),
    ("replace-nested", HEAD + "        if a:\n            c = g(a)\n        return b\n",
     HEAD + "        if a:\n            c = h(a)\n        return b\n"),
    ("replace-two-by-one", HEAD + "        x(a)\n        y(b)\n        z()\n", HEAD + "        xy(a, b)\n        z()\n"),
    ("insert-first", HEAD + "        x(a)\n", HEAD + "        check(a)\n        x(a)\n"),
    ("insert-last", HEAD + "        x(a)\n", HEAD + "        x(a)\n        check(a)\n"),
    ("insert-block", HEAD + "        x(a)\n        y(b)\n", HEAD + "        x(a)\n        if b:\n            # so\n            check(a)\n        y(b)\n"),
    ("insert-nested", HEAD + "        if a:\n            x(a)\n", HEAD + "        if a:\n            x(a)\n            check(b)\n"),
    ("method", HEAD + "        x(a)\n\n    def z(self): ...\n", HEAD + "        x(a)\n\n    def g(self):\n        return 1\n\n    def z(self): ...\n"),
    ("condition", HEAD + "        if a > b:\n            x(a)\n", HEAD + "        if a >= b:\n            x(a)\n"),
    ("strings", HEAD + "        x('a\\n', \"b\")\n", HEAD + "        x('c\\n', \"b\")\n"),
    ("two-functions", HEAD + "        x(a)\n\n    def g(self):\n        x(1)\n", HEAD + "        y(a)\n\n    def g(self):\n        y(1)\n"),
    ("function", "def f(a):\n    return x(a)\n", "def f(a):\n    return y(a)\n"),
]  # fmt: skip
PRELUDE = "g = h = x = y = z = xy = check = 0\n"


@pytest.mark.parametrize(("before", "after"), [pytest.param(PRELUDE + b, PRELUDE + a, id=i) for i, b, a in CHANGES])
def test_draft_produces_the_file_after_the_change(before, after):
    text = draft(before, after, "m.py")
    assert not text.startswith("# TODO: this draft"), text
    judgement = judge_file(PatchInfo("p", "", "", "", ("m.py",)), load_draft(text), before.encode())
    assert ast.dump(ast.parse(judgement.contents["m.py"])) == ast.dump(ast.parse(after))


def test_draft_replaces_locals_by_holes():
    _, before, after = CHANGES[0]
    text = draft(PRELUDE + before, PRELUDE + after, "m.py")
    assert "C_ = g(A_)" in text


UNDRAFTABLE = [("x = 1\n", "x = 2\n"), ("for i in x:\n    y(i)\n", "for i in x:\n    z(i)\n"), ("x = 1\n", "x = 1\n")]


@pytest.mark.parametrize(("before", "after"), UNDRAFTABLE)
def test_draft_is_valid_python_even_when_incomplete(before, after):
    compile(draft(before, after, "m.py"), "draft", "exec")

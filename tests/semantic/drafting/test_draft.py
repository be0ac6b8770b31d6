"""A drafted codemod produces the change that it was drafted from."""

# ruff: noqa: E501
# mypy: allow-untyped-defs, allow-incomplete-defs, disable-error-code="call-overload,index"

from __future__ import annotations

import pytest

from patchtool.domain.draft import FileChange, UnstatedHunk
from patchtool.domain.patch import PatchInfo
from patchtool.semantic.drafting.draft import draft
from patchtool.semantic.judge import judge_file
from patchtool.semantic.load import load_draft
from tests.semantic.trees import MemoryTree

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


def drafted(before: str, after: str) -> tuple[str, tuple[UnstatedHunk, ...]]:
    files = draft([FileChange("m.py", before.encode(), after.encode())], MemoryTree({"m.py": before.encode()}))
    return files.files["codemod.py"].decode(), files.unstated


@pytest.mark.parametrize(("before", "after"), [pytest.param(PRELUDE + b, PRELUDE + a, id=i) for i, b, a in CHANGES])
def test_draft_produces_the_file_after_the_change(before, after):
    text, unstated = drafted(before, after)
    assert not unstated, text
    judgement = judge_file(PatchInfo("p", "", "", "", ("m.py",)), load_draft(text), before.encode())
    assert judgement.contents["m.py"] == after.encode()


def test_draft_replaces_locals_by_holes():
    _, before, after = CHANGES[0]
    assert "C_ = g(A_)" in drafted(PRELUDE + before, PRELUDE + after)[0]


@pytest.mark.parametrize(
    ("before", "after"), [("x = 1  # a\n", "x = 1  # b\n"), ("x = 1\n", "x = (\n"), ("x = (\n", "x = 1\n")]
)
def test_draft_lists_what_it_does_not_state(before, after):
    text, unstated = drafted(before, after)
    compile(text, "draft", "exec")
    assert [hunk.line for hunk in unstated] == [1]
    assert unstated[0].reason

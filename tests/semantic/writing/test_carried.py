"""What a template's holes and ``...`` stand for is carried into and out of every block, and never lost."""

# ruff: noqa: E501
# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

import textwrap

import pytest

from patchtool.domain.patch import PatchInfo
from patchtool.semantic.lint import lint

HEAD = "from patchtool.semantic import *\nfrom patchtool.semantic import SemanticPatch\n"
NAMES = "from kernels import a, b, guard, old, new\n\n\n"


def codemod(before: str, after: str, scope: str = "f", goal: str = "new(9)") -> str:
    before, after = textwrap.dedent(before).strip("\n"), textwrap.dedent(after).strip("\n")
    lines = [
        "class P(SemanticPatch):",
        f"    scope = {scope!r}",
        f"    edit = replace({before!r}, {after!r})",
        f"    goals = (goal('there', {goal!r}, within=anywhere()),)",
    ]
    return HEAD + "\n".join(lines) + "\n"


def body(text: str) -> str:
    return NAMES + "def f(x):\n" + textwrap.indent(textwrap.dedent(text).strip("\n"), "    ") + "\n"


RUN = "old(1)\n*BODY_\nold(2)"
CARRIED = "a(1)  # one\n\n# two\nb(\n    2,\n)"
INTO = {
    "if": "if guard:\n    *BODY_\nnew(9)",
    "else": "if guard:\n    new(9)\nelse:\n    *BODY_",
    "elif": "if guard:\n    new(9)\nelif old:\n    *BODY_",
    "for": "for i in x:\n    *BODY_\nnew(9)",
    "for-else": "for i in x:\n    new(9)\nelse:\n    *BODY_",
    "while": "while guard:\n    *BODY_\nnew(9)",
    "with": "with guard:\n    *BODY_\nnew(9)",
    "with-as": "with guard as g:\n    *BODY_\n    new(g)\nnew(9)",
    "try": "try:\n    *BODY_\nfinally:\n    new(9)",
    "except": "try:\n    new(9)\nexcept ValueError:\n    *BODY_",
    "except-as": "try:\n    *BODY_\nexcept ValueError as error:\n    new(error)\nnew(9)",
    "try-else": "try:\n    new(9)\nexcept ValueError:\n    raise\nelse:\n    *BODY_",
    "finally": "try:\n    new(9)\nfinally:\n    *BODY_",
    "match": "match x:\n    case 1:\n        *BODY_\n    case _:\n        new(9)",
    "def": "def inner():\n    *BODY_\nnew(9)\ninner()",
    "class": "class Inner:\n    *BODY_\nnew(9)\nInner()",
    "two-levels": "if guard:\n    with guard:\n        *BODY_\n    new(9)",
}


@pytest.mark.parametrize("new", INTO.values(), ids=INTO)
def test_run_is_carried_into_a_block(judge_codemod, new):
    judgement = judge_codemod(codemod(RUN, new), body(f"old(1)\n{CARRIED}\nold(2)"))
    assert judgement.state.value == "applied", (judgement.reason, judgement.detail, judgement.trace)
    levels = new[: new.index("*BODY_")].rsplit("\n", 1)[-1]
    wanted = textwrap.indent(CARRIED, "    " + levels)
    expected = body(new.replace("*BODY_", "BODY_")).replace(f"    {levels}BODY_", wanted)
    assert judgement.contents["m.py"].decode() == expected


@pytest.mark.parametrize("old", INTO.values(), ids=INTO)
def test_run_is_carried_out_of_a_block(judge_codemod, old):
    old = old.replace("new(9)", "old(9)").replace("new(g)", "old(g)").replace("new(error)", "old(error)")
    carried = textwrap.indent(CARRIED, old[: old.index("*BODY_")].rsplit("\n", 1)[-1]).lstrip()
    judgement = judge_codemod(codemod(old, "new(9)\n*BODY_"), body(old.replace("*BODY_", carried)))
    assert judgement.state.value == "applied", (judgement.reason, judgement.detail, judgement.trace)
    assert judgement.contents["m.py"].decode() == body(f"new(9)\n{CARRIED}")


@pytest.mark.parametrize("old", INTO.values(), ids=INTO)
def test_header_changes_and_the_blocks_stay(judge_codemod, old):
    before, after = (text.replace("*BODY_", "...") for text in (old.replace("new(9)", "old(9)"), old))
    carried = textwrap.indent(CARRIED, old[: old.index("*BODY_")].rsplit("\n", 1)[-1]).lstrip()
    source = body(before.replace("...", carried))
    judgement = judge_codemod(codemod(before, after), source)
    assert judgement.state.value == "applied", (judgement.reason, judgement.detail, judgement.trace)
    assert judgement.contents["m.py"].decode() == source.replace("old(9)", "new(9)")


def test_one_statement_of_any_kind_is_carried(judge_codemod):
    source = body("with guard:\n    # why\n    if x:\n        a(1)  # so\n    old(2)")
    judgement = judge_codemod(codemod("with guard:\n    ONE_\n    old(2)", "with guard:\n    ONE_\n    new(9)"), source)
    assert judgement.contents["m.py"].decode() == source.replace("old(2)", "new(9)")


def test_elif_stays_an_elif(judge_codemod):
    source = body("if a:\n    old(1)\n# or\nelif b:\n    old(2)  # two\nelse:\n    old(3)")
    edit = codemod(
        "if a:\n    *A_\nelse:\n    *B_",
        "if a and guard:\n    *A_\nelse:\n    *B_",
        goal="if a and guard:\n    ...\nelse:\n    ...",
    )
    judgement = judge_codemod(edit, source)
    assert judgement.contents["m.py"].decode() == source.replace("if a:", "if a and guard:")


def test_docstring_and_comments_at_the_end_of_a_body_are_carried(judge_codemod):
    source = (
        NAMES
        + 'class C:\n    def f(self):\n        """Doc."""\n        a(1)\n        # the end\n\n    def g(self): ...\n'
    )
    edit = codemod("def f(self):\n    ...", "def f(self, most=None):\n    ...", "C", "def f(self, most=None):\n    ...")
    judgement = judge_codemod(edit, source)
    assert judgement.contents["m.py"].decode() == source.replace("f(self)", "f(self, most=None)")


def test_body_on_the_header_s_line_in_the_template(judge_codemod):
    source = NAMES + "def f(x):\n    a(x)\n    return x\n"
    judgement = judge_codemod(codemod("def f(x): ...", "def f(x, y=1): ...", "", "def f(x, y=1): ..."), source)
    assert judgement.contents["m.py"].decode() == source.replace("f(x)", "f(x, y=1)")


LOST = {
    "a-body": ("def f(x):\n    return old(x)", "def f(x):\n    ..."),
    "one-of-two-runs": ("old(1)\n...\nold(2)\n...", "new(9)\n..."),
    "one-of-two": ("if a:\n    ...\nelse:\n    ...", "if a:\n    ..."),
    "nothing-before": ("old(1)", "...\nnew(9)"),
    "a-class": ("class C:\n    x = 1", "class C:\n    ..."),
}


@pytest.mark.parametrize("texts", LOST.values(), ids=LOST)
def test_ellipsis_that_would_lose_statements_is_refused(judge_codemod, tmp_path, texts):
    source = (
        NAMES
        + "old(1)\nold(2)\nif a:\n    old(3)\nelse:\n    old(4)\n\n\ndef f(x):\n    return old(x)\n\n\nclass C:\n    x = 1\n"
    )
    text = codemod(texts[0], texts[1], "")
    judgement = judge_codemod(text, source)
    assert judgement.state.value == "conflict"
    assert not judgement.contents
    file = tmp_path / "codemod.py"
    file.write_text(text)
    problems = lint(PatchInfo("p", "", "", "", ("m.py",), source_file=str(file)))
    assert [problem.code for problem in problems] == ["template-unfit"]
    assert "statements would be lost" in problems[0].message


STUBS = {
    "protocol": ("a(1)", "class Sized(Protocol):\n    def size(self): ...\nnew(9)"),
    "overload": (
        "def f(x):\n    *BODY_",
        "@overload\ndef f(x: int): ...\n@overload\ndef f(x: str): ...\ndef f(x):\n    *BODY_\nnew(9)",
    ),
    "new-function": ("a(1)", "def later(): ...\nnew(9)"),
}


@pytest.mark.parametrize("texts", STUBS.values(), ids=STUBS)
def test_ellipsis_that_is_the_body_of_a_stub_is_written(judge_codemod, texts):
    source = "from typing import Protocol, overload\n" + NAMES + "a(1)\n\n\ndef f(x):\n    return old(x)\n"
    judgement = judge_codemod(codemod(texts[0], texts[1], ""), source)
    assert judgement.state.value == "applied", (judgement.reason, judgement.detail, judgement.trace)
    assert judgement.contents["m.py"].decode().count(": ...") == texts[1].count(": ...")


def test_comment_that_is_not_carried_is_told(judge_codemod):
    judgement = judge_codemod(codemod("x = old(1)", "x = new(9)"), body("# stays\nx = old(1)  # gone\nreturn x"))
    assert judgement.notes == ("m.py:6: the edit drops a comment: # gone",)


def test_docstring_that_is_not_carried_is_told(judge_codemod):
    source = NAMES + 'def f(x):\n    """Doc."""\n    return old(x)\n'
    judgement = judge_codemod(
        codemod("def f(x):\n    return old(x)", "def f(x):\n    return new(9)", "", "def f(x):\n    return new(9)"),
        source,
    )
    assert judgement.notes == ("m.py: the edit drops the docstring of f",)


def test_guarded_site_is_no_site(judge_codemod):
    edit = codemod("old(1)", "if guard:\n    old(1)", goal="if guard:\n    old(1)")
    judgement = judge_codemod(edit, body("old(1)\nreturn x"))
    assert judgement.contents["m.py"].decode() == body("if guard:\n    old(1)\nreturn x")
    assert judge_codemod(edit, judgement.contents["m.py"]).state.value == "landed"
    assert judge_codemod(edit, body("if guard:\n    old(1)\nold(1)")).state.value == "ambiguous"

"""What an author can state, on small sources: templates, transformers, independent rules, moved files."""

# ruff: noqa: E501
# mypy: allow-untyped-defs, allow-incomplete-defs, disable-error-code="call-overload,index"

from __future__ import annotations

from pathlib import Path

import pytest

from patchtool.domain.patch import PatchInfo
from patchtool.domain.release import Release
from patchtool.semantic.kind import SemanticKind

HEAD = "from patchtool.semantic import *\nfrom patchtool.semantic import SemanticPatch\n"
REPLACE = HEAD + (
    "class P(SemanticPatch):\n"
    "    scope = 'C.f'\n"
    "    edit = replace({old!r}, {new!r})\n"
    "    goals = (goal('done', {goal!r}),)\n"
)


def replacing(old: str, new: str, goal: str) -> str:
    return REPLACE.format(old=old, new=new, goal=goal)


TRANSFORM = (
    HEAD
    + """
import libcst as cst

class Change(cst.CSTTransformer):
    def leave_Integer(self, original_node, updated_node):
        return updated_node.with_changes(value="2") if original_node.value == "1" else updated_node

class P(SemanticPatch):
    scope = "C.f"
    edit = transform(lambda module: module.visit(Change()), anchor="return 1")
    goals = (goal("two", "return 2"),)
"""
)


def test_transformer_is_judged_like_a_template(judge_codemod):
    judgement = judge_codemod(TRANSFORM, "class C:\n    def f(self):\n        return 1  # so\n")
    assert judgement.contents == {"m.py": b"class C:\n    def f(self):\n        return 2  # so\n"}


def test_transformer_outside_its_scope_is_a_conflict(judge_codemod):
    judgement = judge_codemod(TRANSFORM, "class C:\n    def f(self):\n        return 1\n\n\nX = 1\n")
    assert (judgement.state.value, judgement.contents) == ("conflict", {})


INDEPENDENT = (
    HEAD
    + """
class P(SemanticPatch):
    independent = True
    rules = tuple(
        Rule(n, scope=f"C.{n}", edit=replace("return 1", "return 2"), goals=(goal(n + " is two", "return 2"),))
        for n in "fg"
    )
"""
)


@pytest.mark.parametrize(
    ("f", "g", "state"),
    [(1, 1, "applied"), (2, 1, "partial"), (2, 2, "landed"), (3, 1, "conflict")],
)
def test_independent_rules_can_be_partial(judge_codemod, f, g, state):
    source = f"class C:\n    def f(self):\n        return {f}\n\n    def g(self):\n        return {g}\n"
    judgement = judge_codemod(INDEPENDENT, source)
    assert judgement.state.value == state
    expected = source.replace("return 1", "return 2").encode() if state in ("applied", "partial") else None
    assert judgement.contents.get("m.py") == expected
    dependent = judge_codemod(INDEPENDENT.replace("independent = True", "independent = False"), source)
    assert dependent.state.value == ("conflict" if state == "partial" else state)


WRITTEN = [
    ("comments-of-equal-statements-survive",
     replacing("A_ = x()\nB_ = y()\nuse(A_, B_)", "A_ = x()\nuse(A_)", "use(A_)"),
     "class C:\n    def f(self):\n        # why\n        a = x()  # noqa\n        b = y()\n        use(a, b)\n",
     "class C:\n    def f(self):\n        # why\n        a = x()  # noqa\n        use(a)\n"),
    ("carried-run",
     replacing("if old():\n    *BODY_", "if new():\n    *BODY_", "new()"),
     "class C:\n    def f(self):\n        if old():\n            # a\n            g( 1 )\n\n            h('''\n  x''')\n",
     "class C:\n    def f(self):\n        if new():\n            # a\n            g( 1 )\n\n            h('''\n  x''')\n"),
    ("parentheses-where-needed",
     replacing("use(A_, 1)", "use(A_ * 2)", "use(A_ * 2)"),
     "class C:\n    def f(self, a, b):\n        use(a + b, 1)\n",
     "class C:\n    def f(self, a, b):\n        use((a + b) * 2)\n"),
    ("rest-of-arguments",
     replacing("use(A_, *R_)", "use2(A_, *R_)", "use2(A_, *R_)"),
     "def use2(*a): ...\nclass C:\n    def f(self, a, b):\n        use(a, b, *a, k=b)\n",
     "def use2(*a): ...\nclass C:\n    def f(self, a, b):\n        use2(a, b, *a, k=b)\n"),
    ("form-feed-and-no-newline",
     replacing("use(1)", "use(2)", "use(2)"),
     "\f\nclass C:\n\f\n    def f(self):\n\f\n        use(1)",
     "\f\nclass C:\n\f\n    def f(self):\n\f\n        use(2)"),
    ("two-spaces",
     replacing("use(1)", "if use(3):\n    use(2)", "use(2)"),
     "class C:\n  def f(self):\n    use(1)\n",
     "class C:\n  def f(self):\n    if use(3):\n      use(2)\n"),
]  # fmt: skip


@pytest.mark.parametrize(("codemod", "before", "after"), [pytest.param(*w[1:], id=w[0]) for w in WRITTEN])
def test_written_text(judge_codemod, codemod, before, after):
    prelude = "" if before.startswith(("def", "\f")) else "x = y = use = old = new = 0\n"
    if before.startswith("\f"):
        codemod, before, after = (t.replace("use(", "print(") for t in (codemod, before, after))
    judgement = judge_codemod(codemod, prelude + before)
    assert judgement.contents.get("m.py", b"").decode() == prelude + after, judgement


REFUSED = [
    ("shares-a-line", "use(1); go()"),
    ("one-line-suite", "if x: use(1)"),
    ("in-loop", "for _ in x:\n            use(1)"),
    ("in-try", "try:\n            use(1)\n        except E:\n            pass"),
    ("in-with", "with x:\n            use(1)"),
    ("in-match", "match x:\n            case 1:\n                use(1)"),
    ("under-if", "if x:\n            use(1)"),
    ("under-else", "if x:\n            pass\n        else:\n            use(1)"),
    ("after-exit", "while True:\n            go()\n        use(1)"),
    ("twice", "use(1)\n        use(1)"),
    ("nested", "def g():\n            use(1)"),
]


@pytest.mark.parametrize("body", [pytest.param(b, id=i) for i, b in REFUSED])
def test_site_under_an_unexpected_condition_is_not_replaced(judge_codemod, body):
    codemod = replacing("use(1)", "use(2)", "use(2)")
    judgement = judge_codemod(codemod, f"use = go = 0\nclass C:\n    def f(self, x):\n        {body}\n")
    assert judgement.state.value in ("conflict", "ambiguous")
    assert not judgement.contents


def test_unavailable_name_is_a_conflict(judge_codemod):
    judgement = judge_codemod(
        replacing("use(1)", "other(2)", "other(2)"), "class C:\n    def f(self):\n        use(1)\n"
    )
    assert judgement.reason == "name-unavailable"


def test_moved_file_is_found_by_its_symbol(tree_of, lookalike):
    name = "kv_copy_override"
    codemod = str(Path(__file__).parents[2] / "patches" / name / "codemod.py")
    info = PatchInfo(name, "", "", "", ("python/sglang/old.py",), source_file=codemod)
    one = tree_of({"python/sglang/new.py": lookalike(name)})
    judgement = SemanticKind().judge(info, one, None)
    assert (judgement.state.value, judgement.reason) == ("drifted", "target-moved")
    assert list(judgement.contents) == ["python/sglang/new.py"]
    two = tree_of({"python/sglang/new.py": lookalike(name), "python/sglang/too.py": lookalike(name)})
    assert SemanticKind().judge(info, two, None).state.value == "conflict"
    since = PatchInfo(name, "", "", "", ("python/sglang/old.py",), since="0.5.11", source_file=codemod)
    assert SemanticKind().judge(since, tree_of({}), Release("0.5.10")).state.value == "absent"
    assert SemanticKind().judge(since, tree_of({}), Release("0.5.12")).state.value == "conflict"


BAD_FILES = [
    ("syntax", b"class ("),
    ("encoding", b"# \xff\xfe\n"),
    ("unknown-cookie", b"# coding: no-such\n"),
    ("null", b"x = 1\0"),
    ("too-deep", b"x = " + b"(" * 3000 + b")" * 3000),
    ("empty", b""),
]


@pytest.mark.parametrize("data", [pytest.param(d, id=i) for i, d in BAD_FILES])
def test_broken_file_is_a_conflict(judge, data):
    assert judge("kv_copy_override", data).state.value == "conflict"


def test_raising_codemod_is_crashed(judge_codemod):
    judgement = judge_codemod("raise OSError('x')", "")
    assert (judgement.state.value, judgement.reason) == ("crashed", "codemod-raised")
    assert judge_codemod("x = 1", "").state.value == "crashed"


def test_missing_anchor_reports_the_nearest_code(judge, lookalike):
    text = lookalike("ssm_index_layout").replace("] = 0", "] = 1")
    near = judge("ssm_index_layout", text).candidates
    assert near[0].similarity > 0.4
    assert "arange" in near[0].code
    renamed = lookalike("kv_copy_override").replace("NPUMHATokenToKVPool", "AscendMHATokenToKVPool")
    assert judge("kv_copy_override", renamed).candidates[0].symbol == "AscendMHATokenToKVPool"


def test_judging_a_landed_patch_does_not_load_libcst(lookalike, tmp_path):
    import subprocess
    import sys

    source = tmp_path / "m.py"
    source.write_text(lookalike("mtp_tracking", "landed"))
    code = (
        "import sys; from tests.semantic.trees import judge_bytes; from pathlib import Path;"
        f"j = judge_bytes('mtp_tracking', Path({str(source)!r}).read_bytes());"
        "print(j.state.value, 'libcst' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    assert done.stdout.split() == ["landed", "False"]

"""Diagnostics on codemods and their cases, with file and line."""

# ruff: noqa: E501
# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

from pathlib import Path

import pytest

from patchtool.domain.patch import PatchInfo
from patchtool.semantic.lint import lint
from tests.semantic.trees import INFOS

PATCHES = Path(__file__).parents[2] / "patches"
GOOD = """
from patchtool.semantic import *
from patchtool.semantic import SemanticPatch

class P(SemanticPatch):
    scope = "f"
    edit = replace("use(A_)", "use(A_, 2)")
    goals = (goal("two", "use(A_, 2)"),)
"""
DIAGNOSTICS = [
    ("syntax", "class P(SemanticPatch):", "class P(", "codemod-unusable", 5),
    ("no-patch", "class P(SemanticPatch):", "class P:", "codemod-unusable", 1),
    ("raises", "class P(SemanticPatch):", "1 / 0\nclass P(SemanticPatch):", "codemod-raised", 5),
    ("no-rule", '    edit = replace("use(A_)", "use(A_, 2)")\n', "", "no-rule", 5),
    ("template", '"use(A_, 2)"),)', '"use(A_, 2"),)', "template-invalid", 8),
    ("guard-template", '"use(A_, 2)")\n', '"use(A_, 2)", within=branch("if x"))\n', "template-invalid", 7),
    ("hole-unbound", '"use(A_)", "use(A_, 2)"', '"use(A_)", "use(B_, 2)"', "hole-unbound", 7),
    ("hole-unused", '    scope = "f"', '    scope = "f"\n    roles = {"X_": param("x")}', "hole-unused", 7),
    ("hole-unknown", '"use(A_, 2)")\n', '"use(A_, 2)", Z_=holds("x"))\n', "hole-unknown", 7),
    ("not-a-hole", '    scope = "f"', '    scope = "f"\n    roles = {"x": param("x")}', "not-a-hole", 7),
    ("no-goal", 'goals = (goal("two", "use(A_, 2)"),)', "goals = ()", "no-goal", 5),
    ("no-defect", 'replace("use(A_)", "use(A_, 2)")', 'insert_before("use(A_)", "use(A_, 2)")', "no-defect", 5),
    ("name", 'replace("use(A_)", "use(A_, 2)")', 'rename("use", "a b")', "not-a-name", 7),
    ("fact", '    scope = "f"', '    facts = (Fact("n.py", "", "x", "y"),)\n    scope = "f"', "fact-not-read", 6),
    ("target", "    edit = replace", '    edit = None\n    rules = (Rule("r", "f", replace("a()", "b()"), (goal("g", "b()"),), target="n.py"),)\n    unused = replace', "target-unknown", 8),
]  # fmt: skip


def info(folder: Path, text: str) -> PatchInfo:
    (folder / "codemod.py").write_text(text)
    return PatchInfo("p", "", "", "", ("m.py",), source_file=str(folder / "codemod.py"))


@pytest.mark.parametrize(("old", "new", "code", "line"), [pytest.param(*c[1:], id=c[0]) for c in DIAGNOSTICS])
def test_invalid_codemod_is_reported_with_its_line(tmp_path, old, new, code, line):
    assert old in GOOD
    diagnostics = lint(info(tmp_path, GOOD.replace(old, new)))
    assert [(d.code, d.line) for d in diagnostics][:1] == [(code, line)], diagnostics


CASES = [
    ("none", {}, "no-case"),
    ("good", {"a/before.py": "use = 1\ndef f(x):\n    use(x)\n", "a/after.py": "use = 1\ndef f(x):\n    use(x, 2)\n"}, None),
    ("no-after", {"a/before.py": "use = 1\ndef f(x):\n    use(x)\n"}, "case-failed"),
    ("other-after", {"a/before.py": "use = 1\ndef f(x):\n    use(x)\n", "a/after.py": "use = 1\n"}, "case-failed"),
    ("does-not-apply", {"a/before.py": "def f(x):\n    pass\n", "a/after.py": ""}, "case-failed"),
    ("not-landed", {"b/landed.py": "def f(x):\n    pass\n"}, "no-case"),
    ("no-conflict", {"b/conflict.py": "use = 1\ndef f(x):\n    use(x)\n"}, "no-case"),
    ("strange-file", {"b/other.py": ""}, "no-case"),
]  # fmt: skip


@pytest.mark.parametrize(("files", "code"), [pytest.param(f, c, id=i) for i, f, c in CASES])
def test_failing_case_is_reported(tmp_path, files, code):
    for name, text in files.items():
        path = tmp_path / "cases" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    diagnostics = lint(info(tmp_path, GOOD))
    assert [d.code for d in diagnostics[:1]] == ([code] if code else [])
    assert len(diagnostics) == len({d.path for d in diagnostics})


@pytest.mark.parametrize("name", ["ssm_index_layout", "mtp_tracking", "kv_copy_override", "track_index_precompute"])
def test_shipped_patches_have_no_problems(name):
    assert lint(INFOS[name]) == []

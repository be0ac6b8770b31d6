"""A removal lands where the code is gone; where upstream renamed or moved it, it has not, or the verdict says so."""

# ruff: noqa: E501
# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls

from __future__ import annotations

import pytest

from patchtool.domain.patch import PatchInfo
from patchtool.semantic.judge import judge_patch
from patchtool.semantic.load import load_draft
from tests.semantic.trees import MemoryTree
from tests.semantic.writing.test_edits import codemod

BEFORE = '''import os
from a.kernels import scan_rows


class Base:
    def close(self):
        self.free = []


class Rows(Base):
    def used(self):
        """How many are used."""
        return self.size - len(self.free)

    def take(self, count, strict=False):
        scan_rows(self.free, checked=self.size, fast=count)
        self.free.sort()
        return self.helper(count, strict)

    def helper(self, count, strict):
        return count if strict else 0


def load(path):
    return open(path).read()
'''
USED = '    def used(self):\n        """How many are used."""\n        return self.size - len(self.free)\n\n'
LOAD = "\n\ndef load(path):\n    return open(path).read()\n"
SORT = "        self.free.sort()\n"
TAKE = "def take(self, count, strict=False):"
METHOD = "scope = 'Rows'", "edit = remove_definition('used')"
FUNCTION = ("edit = remove_definition('load')",)
STATEMENT = "scope = 'Rows.take'", "edit = remove('self.free.sort()')"
PARAMETER = "scope = 'Rows.helper'", "edit = remove_parameter('strict')"
ARGUMENT = "scope = 'Rows.take'", "edit = remove_argument('scan_rows(*REST_)', 'fast')"
IMPORT = ("edit = remove_import('import os')",)
RENAME = "scope = 'Rows'", "edit = rename('used', 'taken')"
UPSTREAM = [
    ("method-gone", METHOD, BEFORE.replace(USED, ""), "landed", ""),
    ("method-renamed", METHOD, BEFORE.replace("def used", "def taken"), "conflict", "Rows.taken"),
    ("method-renamed-with-another-docstring", METHOD, BEFORE.replace("def used", "def taken").replace("How many", "The number"), "conflict", "Rows.taken"),
    ("method-pulled-up", METHOD, BEFORE.replace(USED, "").replace("class Base:\n", "class Base:\n" + USED), "conflict", "Base.used"),
    ("method-made-a-function", METHOD, BEFORE.replace(USED, "") + "\n\n" + USED.replace("\n    ", "\n").strip() + "\n", "landed", "used"),
    ("class-gone", METHOD, BEFORE[: BEFORE.index("class Rows")], "conflict", "Rows"),
    ("function-gone", FUNCTION, BEFORE.replace(LOAD, ""), "landed", ""),
    ("function-renamed", FUNCTION, BEFORE.replace("def load", "def read"), "conflict", "read"),
    ("function-imported-from-elsewhere", FUNCTION, BEFORE.replace(LOAD, "").replace("import os\n", "import os\nfrom a.files import load\n"), "conflict", "moved"),
    ("statement-gone", STATEMENT, BEFORE.replace(SORT, ""), "landed", ""),
    ("statement-with-an-argument", STATEMENT, BEFORE.replace("free.sort()", "free.sort(key=len)"), "conflict", "another spelling"),
    ("statement-moved-to-a-helper", STATEMENT, BEFORE.replace(SORT, "        self.order()\n") + "", "landed", ""),
    ("statement-moved-to-a-called-helper", STATEMENT, BEFORE.replace(SORT, "        self.order()\n").replace("    def helper", "    def order(self):\n" + SORT + "\n    def helper"), "conflict", "Rows.order"),
    ("statement-moved-to-another-method", STATEMENT, BEFORE.replace(SORT, "").replace("    def helper", "    def order(self):\n" + SORT + "\n    def helper"), "landed", "Rows.order"),
    ("parameter-gone", PARAMETER, BEFORE.replace("count, strict):", "count):").replace("if strict", "if count"), "landed", ""),
    ("parameter-renamed", PARAMETER, BEFORE.replace("count, strict):", "count, exact):").replace("if strict", "if exact"), "conflict", "exact"),
    ("parameter-gone-and-another-added", PARAMETER, BEFORE.replace("count, strict):", "count, limit):").replace("if strict else 0", "+ limit"), "landed", "limit"),
    ("argument-gone", ARGUMENT, BEFORE.replace(", fast=count", ""), "landed", ""),
    ("argument-renamed", ARGUMENT, BEFORE.replace("fast=count", "quick=count"), "conflict", "quick=count"),
    ("import-gone", IMPORT, BEFORE.replace("import os\n", ""), "landed", ""),
    ("import-under-another-name", IMPORT, BEFORE.replace("import os\n", "import os as system\n"), "conflict", "system"),
    ("name-of-an-import-under-another-name", ("edit = remove_import('from a.kernels import scan_rows')",), BEFORE.replace("scan_rows(", "scan_all(").replace("import scan_rows", "import scan_rows as scan_all"), "conflict", "scan_all"),
    ("renamed", RENAME, BEFORE.replace("def used", "def taken"), "landed", ""),
    ("new-name-for-other-code", RENAME, BEFORE.replace(USED, "    def taken(self):\n        raise NotImplementedError(self.size)\n\n"), "landed", "other code"),
]  # fmt: skip


def judged(tmp_path, lines, source, *, case=BEFORE, others=()):
    (tmp_path / "cases/plain").mkdir(parents=True, exist_ok=True)
    if case:
        (tmp_path / "cases/plain/before.py").write_text(case)
    info = PatchInfo("p", "", "", "", ("m.py",), source_file=str(tmp_path / "codemod.py"))
    tree = MemoryTree({"m.py": source.encode(), **dict(others)})
    return judge_patch(info, load_draft(codemod(*lines)), tree, None)


@pytest.mark.parametrize(("lines", "source", "state", "told"), [pytest.param(*row[1:], id=row[0]) for row in UPSTREAM])
def test_absence_is_landed_only_where_the_code_is_gone(tmp_path, lines, source, state, told):
    judgement = judged(tmp_path, lines, source)
    assert judgement.state.value == state, judgement
    notes = " ".join(judgement.notes)
    assert told in (judgement.detail if state == "conflict" else notes)
    assert bool(notes) == (state == "landed" and bool(told)), notes


@pytest.mark.parametrize(
    "lines", [METHOD, FUNCTION, PARAMETER, RENAME], ids=["method", "function", "parameter", "rename"]
)
def test_verdict_says_that_no_case_shows_what_was_removed(tmp_path, lines):
    source = BEFORE.replace("def used", "def taken").replace("def load", "def read").replace("strict", "exact")
    judgement = judged(tmp_path, lines, source, case="")
    assert judgement.state.value == "landed"
    assert any("no case shows" in note for note in judgement.notes)


def test_same_code_in_another_file_is_told(tmp_path):
    others = {"n.py": b"class Other:\n    def used(self):\n        return self.size - len(self.free)\n"}
    judgement = judged(tmp_path, METHOD, BEFORE.replace(USED, ""), others=others)
    assert judgement.state.value == "landed"
    assert any("Other.used in n.py" in note for note in judgement.notes)


def test_code_that_was_there_beside_the_removed_one_is_no_doubt(tmp_path):
    case = BEFORE.replace("    def helper", USED.replace("used(", "taken(") + "    def helper")
    judgement = judged(tmp_path, METHOD, case.replace(USED, ""), case=case)
    assert (judgement.state.value, judgement.notes) == ("landed", ())


def test_goals_of_the_author_are_not_doubted(tmp_path):
    lines = (*METHOD, "goals = (method('taken', 'def taken(self):\\n    return self.size - len(self.free)'),)")
    judgement = judged(tmp_path, lines, BEFORE.replace("def used", "def taken"))
    assert (judgement.state.value, judgement.notes) == ("landed", ())


OWN = [
    ("definition", "Rule('out', scope='Rows', edit=remove_definition('used')), Rule('in', scope='Rows', edit=add_function('def taken(self):\\n    return self.size - len(self.free)'))"),
    ("statement", "Rule('out', scope='Rows.take', edit=remove('self.free.sort()')), Rule('in', scope='Rows', edit=add_function('def order(self):\\n    self.free.sort()'))"),
    ("parameter", "Rule('out', scope='Rows.helper', edit=remove_parameter('strict')), Rule('in', scope='Rows.helper', edit=add_parameter('exact=0')), Rule('use', scope='Rows.helper', edit=replace('return COUNT_ if strict else 0', 'return COUNT_ if exact else 0'), goals=(goal('used', 'return COUNT_ if exact else 0'),))"),
    ("argument", "Rule('out', scope='Rows.take', edit=remove_argument('scan_rows(*REST_)', 'fast')), Rule('in', scope='Rows.take', edit=add_argument('scan_rows(*REST_)', 'quick=count'))"),
]  # fmt: skip


@pytest.mark.parametrize("rules", [pytest.param(text, id=name) for name, text in OWN])
def test_code_that_the_patch_itself_moves_or_renames_has_landed(tmp_path, rules):
    lines = (f"rules = ({rules},)",)
    applied = judged(tmp_path, lines, BEFORE)
    assert applied.state.value == "applied", (applied.reason, applied.detail)
    landed = judged(tmp_path, lines, applied.contents["m.py"].decode())
    assert (landed.state.value, landed.notes) == ("landed", ())

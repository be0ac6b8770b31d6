"""A patch that removes a name which other files of the tree still read is refused, or tells it."""

# ruff: noqa: E501
# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

import pytest

from patchtool.domain.patch import PatchInfo
from patchtool.semantic.judge import judge_patch
from patchtool.semantic.load import load_draft
from tests.semantic.trees import MemoryTree
from tests.semantic.writing.test_edits import codemod

ROWS, USER = "python/sglang/rows.py", "python/sglang/user.py"
SOURCE = """import os
from sglang.kernels import scan

LIMIT = 3


class Rows(list):
    size: int = 0

    def take(self, count, strict=False):
        return count

    def close(self):
        return 1


def make(size=1, dense=False):
    return Rows()
"""
REMOVALS = {
    "function": ("edit = remove_definition('make')",),
    "function-by-its-code": ("edit = remove('def make(size=1, dense=False):\\n    return Rows()')",),
    "class": ("edit = remove_definition('Rows')",),
    "constant": ("edit = remove_definition('LIMIT')",),
    "import": ("edit = remove_import('from sglang.kernels import scan')",),
    "method": ("scope = 'Rows'", "edit = remove_definition('take')"),
    "field": ("scope = 'Rows'", "edit = remove_definition('size')"),
    "parameter": ("scope = 'make'", "edit = remove_parameter('dense')"),
    "parameter-of-a-method": ("scope = 'Rows.take'", "edit = remove_parameter('strict')"),
    "parameter-by-the-code": ("edit = replace('def make(size=1, dense=False):\\n    return Rows()', 'def make(size=1):\\n    return Rows()')", "goals = (goal('one', 'def make(size=1):\\n    return Rows()'),)"),
}  # fmt: skip
REFUSED = [
    ("function", "from sglang.rows import make\n"),
    ("function", "from .rows import make as build\n"),
    ("function", "from sglang import rows\n\nrows.make()\n"),
    ("function-by-its-code", "import sglang.rows as r\n\nr.make(2)\n"),
    ("class", "from sglang.rows import *\n\nRows()\n"),
    ("constant", "def f():\n    from sglang.rows import LIMIT\n    return LIMIT\n"),
    ("import", "from sglang.rows import scan\n"),
    ("import", "import sglang.rows\n\nsglang.rows.scan()\n"),
]  # fmt: skip
NOTED = [
    ("method", "take", "def f(rows):\n    return rows.take(1)\n"),
    ("method", "take", "from sglang.rows import Rows\n\n\nclass Paged(Rows):\n    def f(self):\n        return self.take(2)\n"),
    ("method", "take", "def f(rows):\n    return getattr(rows, 'take')\n"),
    ("field", "size", "def f(rows):\n    return rows.size\n"),
    ("parameter", "dense", "from sglang.rows import make\n\nmake(dense=True)\n"),
    ("parameter", "dense", "from functools import partial\nfrom sglang.rows import make\n\npartial(make, dense=True)\n"),
    ("parameter-by-the-code", "dense", "from sglang import rows\n\nrows.make(dense=True)\n"),
    ("parameter-of-a-method", "strict", "def f(rows):\n    return rows.take(1, strict=True)\n"),
]  # fmt: skip
UNRELATED = [
    ("function", "from sglang.kernels import make\n\nmake()\n"),
    ("function", "def make():\n    return 1\n"),
    ("constant", "LIMIT = 4\n"),
    ("import", "from sglang.kernels import scan\n\nscan()\n"),
    ("method", "class Other:\n    def take(self):\n        return self.take()\n"),
    ("method", "import torch\n\ntorch.take(1)\n"),
    ("field", "def f(size):\n    return size\n"),
    ("parameter", "other(dense=True)\n"),
    ("parameter", "from sglang.rows import make\n\nmake(size=2)\n"),
]  # fmt: skip


class CountingTree(MemoryTree):
    """A tree that counts the searches for a word."""

    searched = 0

    def containing(self, word: str) -> list[str]:
        self.searched += 1
        return super().containing(word)


def judged(removal: str, user: str):
    kernels = "def scan():\n    return 1\n\n\ndef make():\n    return 1\n"
    files = {"python/sglang/__init__.py": "", ROWS: SOURCE, USER: user, "python/sglang/kernels.py": kernels}
    if removal in ("class", "import"):  # the file itself must not read it
        files[ROWS] = SOURCE.replace("return Rows()", "return list()")
    tree = CountingTree({path: text.encode() for path, text in files.items()})
    return judge_patch(PatchInfo("p", "", "", "", (ROWS,)), load_draft(codemod(*REMOVALS[removal])), tree, None)


@pytest.mark.parametrize(("removal", "user"), REFUSED)
def test_name_of_a_module_that_another_file_reads_is_not_removed(removal, user):
    judgement = judged(removal, user)
    assert (judgement.state.value, judgement.reason) == ("conflict", "removed-name-read"), judgement
    assert USER in judgement.detail


@pytest.mark.parametrize(("removal", "name", "user"), NOTED)
def test_member_or_parameter_that_another_file_may_read_is_noted(removal, name, user):
    judgement = judged(removal, user)
    assert judgement.state.value == "applied", (judgement.reason, judgement.detail)
    assert any(f"no {name} any more" in note and f"{USER}:" in note for note in judgement.notes), judgement.notes


@pytest.mark.parametrize(("removal", "user"), UNRELATED)
def test_other_things_of_the_same_name_are_not_readers(removal, user):
    judgement = judged(removal, user)
    assert judgement.state.value == "applied", (judgement.reason, judgement.detail)
    assert not [note for note in judgement.notes if "any more" in note]


def test_readers_that_are_changed_too_do_not_count():
    rules = codemod(
        "rules = (",
        f"    Rule('gone', scope='Rows', target={ROWS!r}, edit=remove_definition('take')),",
        f"    Rule('use', scope='f', target={USER!r}, edit=replace('return rows.take(1)', 'return rows.pop()'), goals=(goal('p', 'rows.pop()'),)),",
        ")",
    )
    files = {"python/sglang/__init__.py": "", ROWS: SOURCE, USER: "def f(rows):\n    return rows.take(1)\n"}
    tree = MemoryTree({path: text.encode() for path, text in files.items()})
    judgement = judge_patch(PatchInfo("p", "", "", "", (ROWS, USER)), load_draft(rules), tree, None)
    assert judgement.state.value == "applied", (judgement.reason, judgement.detail)
    assert not [note for note in judgement.notes if "any more" in note]


def test_patch_that_removes_nothing_searches_nothing():
    tree = CountingTree({ROWS: SOURCE.encode(), USER: b"from sglang.rows import make\n"})
    rules = codemod(
        "scope = 'make'",
        "edit = replace('return Rows()', 'return Rows([size])')",
        "goals = (goal('s', 'Rows([size])'),)",
    )
    judgement = judge_patch(PatchInfo("p", "", "", "", (ROWS,)), load_draft(rules), tree, None)
    assert judgement.state.value == "applied", (judgement.reason, judgement.detail)
    assert tree.searched == 0

"""Edits that bring their own goals: each is written with the layout around it, applies once, and refuses a clash."""

# ruff: noqa: E501
# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

import difflib

import pytest

HEAD = "from patchtool.semantic import *\nfrom patchtool.semantic import SemanticPatch\n"
SOURCE = '''"""Doc."""
import sys

from a import (
    b,
    d,
)
from kernels import new, old

LIMIT = 3


class Rows:
    """Rows."""

    size: int = 0

    def limit(self, rows, *args):
        kept = [row for row in rows if row]
        # the cache relies on this order
        kept.sort()
        old(1)
        return len(kept)

    def other(
        self,
        rows,  # the rows
    ):
        return self.limit(
            rows,
        )


def free(x):
    return old(x, k=1)
'''


def codemod(*lines: str) -> str:
    return HEAD + "class P(SemanticPatch):\n" + "".join(f"    {line}\n" for line in lines)


def changed_lines(before: str, after: str) -> list[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


APPLIED = [
    ("import-behind-the-last", ["edit = add_import('import math')"], ["+import math"]),
    ("import-into-a-list", ["edit = add_import('from a import c')"], ["+    c,"]),
    ("import-at-the-end-of-a-list", ["edit = add_import('from a import e')"], ["+    e,"]),
    ("import-into-a-line", ["edit = add_import('from kernels import newer')"], ["-from kernels import new, old", "+from kernels import new, newer, old"]),
    ("import-at-a-place", ["edit = add_import('import math', before='import sys')"], ["+import math"]),
    ("import-under-another-name", ["edit = add_import('import sys as system')"], ["+import sys as system"]),
    ("remove-import", ["edit = remove_import('import sys')"], ["-import sys"]),
    ("remove-name-of-an-import", ["edit = remove_import('from a import d')"], ["-    d,"]),
    ("function-before", ["edit = add_function('def twice(n):\\n    return n + n', before='free')"], ["+def twice(n):", "+    return n + n", "+", "+"]),
    ("function-at-the-end", ["edit = add_function('def twice(n):\\n    return n + n')"], ["+", "+", "+def twice(n):", "+    return n + n"]),
    ("coroutine", ["edit = add_function('async def twice(n):\\n    return n', before='free')"], ["+async def twice(n):", "+    return n", "+", "+"]),
    ("property", ["scope = 'Rows'", "edit = add_function('@property\\ndef twice(self):\\n    return 2', behind='limit')"], ["+    @property", "+    def twice(self):", "+        return 2", "+"]),
    ("class", ["edit = add_class('class More(Rows):\\n    pass', behind='Rows')"], ["+class More(Rows):", "+    pass", "+", "+"]),
    ("field", ["scope = 'Rows'", "edit = add_field('most: int = 0')"], ["+    most: int = 0"]),
    ("constant", ["edit = add_field('MOST = 1')"], ["+MOST = 1"]),
    ("parameter-behind", ["scope = 'Rows.limit'", "edit = add_parameter('most=None', behind='rows')"], ["-    def limit(self, rows, *args):", "+    def limit(self, rows, most=None, *args):"]),
    ("keyword-parameter", ["scope = 'Rows.limit'", "edit = add_parameter('*, most: int = 3')"], ["-    def limit(self, rows, *args):", "+    def limit(self, rows, *args, most: int = 3):"]),
    ("keyword-parameter-with-a-star", ["scope = 'free'", "edit = add_parameter('*, most')"], ["-def free(x):", "+def free(x, *, most):"]),
    ("parameter-on-its-own-line", ["scope = 'Rows.other'", "edit = add_parameter('most=None')"], ["+        most=None,"]),
    ("parameters-of-any-name", ["scope = 'free'", "edit = add_parameter('**more')"], ["-def free(x):", "+def free(x, **more):"]),
    ("remove-parameter", ["scope = 'Rows.limit'", "edit = remove_parameter('args')"], ["-    def limit(self, rows, *args):", "+    def limit(self, rows):"]),
    ("keyword-argument", ["scope = 'Rows.other'", "edit = add_argument('self.limit(*REST_)', 'most=1')"], ["+            most=1,"]),
    ("argument-with-a-hole", ["scope = 'Rows.other'", "edit = add_argument('self.limit(ROWS_)', 'len(ROWS_)')"], ["+            len(rows),"]),
    ("argument-behind-a-keyword", ["scope = 'free'", "edit = add_argument('old(X_, *REST_)', 'j=X_', behind='k')"], ["-    return old(x, k=1)", "+    return old(x, k=1, j=x)"]),
    ("remove-argument", ["scope = 'free'", "edit = remove_argument('old(X_, *REST_)', 'k')"], ["-    return old(x, k=1)", "+    return old(x)"]),
    ("decorator", ["scope = 'free'", "edit = add_decorator('new(1)')"], ["+@new(1)"]),
    ("remove-statement-with-its-comment", ["scope = 'Rows.limit'", "edit = remove('kept.sort()')"], ["-        # the cache relies on this order", "-        kept.sort()"]),
    ("remove-function", ["edit = remove_definition('free')"], ["-", "-", "-def free(x):", "-    return old(x, k=1)"]),
    ("wrap-in-if", ["scope = 'Rows.limit'", "edit = wrap('old(1)', 'if kept:')"], ["-        old(1)", "+        if kept:", "+            old(1)"]),
    ("wrap-several-in-with", ["scope = 'Rows.limit'", "edit = wrap('kept.sort()\\nold(1)', 'with new(2):')"], ["-        kept.sort()", "-        old(1)", "+        with new(2):", "+            kept.sort()", "+            old(1)"]),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "diff"), [pytest.param(*row[1:], id=row[0]) for row in APPLIED])
def test_edit_changes_these_lines_and_has_landed_then(judge_codemod, lines, diff):
    judgement = judge_codemod(codemod(*lines), SOURCE)
    assert judgement.state.value == "applied", f"{judgement.reason}: {judgement.detail}{judgement.trace}"
    after = judgement.contents["m.py"].decode()
    assert changed_lines(SOURCE, after) == diff
    assert judge_codemod(codemod(*lines), after).state.value == "landed"


REFUSED = [
    ("import-of-a-name-that-is-bound", "goal-not-exact", ["edit = add_import('from k import sys')"]),
    ("function-with-another-body", "goal-not-exact", ["edit = add_function('def free(x):\\n    return 1')"]),
    ("field-with-another-default", "goal-not-exact", ["scope = 'Rows'", "edit = add_field('size: int = 1')"]),
    ("parameter-with-another-default", "goal-not-exact", ["scope = 'Rows.limit'", "edit = add_parameter('rows=1')"]),
    ("parameter-that-the-body-uses", "site-refused", ["scope = 'Rows.limit'", "edit = add_parameter('kept=1', behind='rows')"]),
    ("parameter-behind-a-missing-one", "site-refused", ["scope = 'Rows.limit'", "edit = add_parameter('most=1', behind='row')"]),
    ("parameter-with-a-default-before-one-without", "site-refused", ["scope = 'Rows.limit'", "edit = add_parameter('most=1', behind='self')"]),
    ("argument-with-another-value", "goal-not-exact", ["scope = 'free'", "edit = add_argument('old(*REST_)', 'k=2')"]),
    ("argument-of-a-call-that-is-not-there", "anchor-missing", ["scope = 'free'", "edit = add_argument('older(*REST_)', 'k=2')"]),
    ("place-that-is-not-there", "anchor-missing", ["edit = add_function('def twice(n):\\n    return n', behind='nothing')"]),
    ("removed-statement-in-another-spelling", "goal-not-exact", ["scope = 'Rows.limit'", "edit = remove('old(2)')"]),
    ("wrapped-expression", "anchor-missing", ["scope = 'free'", "edit = wrap('old(x, k=1)', 'if x:')"]),
    ("replaced-expression-inside-a-statement", "anchor-missing", ["scope = 'free'", "edit = replace('old(x, k=1)', 'new(x)')", "goals = (goal('new', 'new(x)'),)"]),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "lines"), [pytest.param(*row[1:], id=row[0]) for row in REFUSED])
def test_edit_is_refused_with_a_reason(judge_codemod, reason, lines):
    judgement = judge_codemod(codemod(*lines), SOURCE)
    assert (judgement.state.value, judgement.reason) == ("conflict", reason), judgement
    assert not judgement.contents


FORMS = ["import os as path", "from os import path", "import path", "import path.other", "from . import path", "from os import other as path", "import os.other as path", "from path import path"]  # fmt: skip
SAME = [("import path", "import path as path"), ("from os import path", "from os import path as path"), ("from os import path", "import os.path as path")]  # fmt: skip


@pytest.mark.parametrize("wanted", FORMS)
def test_import_of_another_thing_under_the_same_name_is_never_taken_for_the_wanted_one(judge_codemod, wanted):
    for found in FORMS:
        added = judge_codemod(codemod(f"edit = add_import({wanted!r})"), f"{found}\npath.x\n")
        removed = judge_codemod(codemod(f"edit = remove_import({wanted!r})"), f"{found}\n")
        same = found == wanted or {found, wanted} == {"from os import other as path", "import os.other as path"}
        assert (added.state.value == "landed") is same, (found, added)
        assert (removed.state.value == "applied") is same, (found, removed)


@pytest.mark.parametrize(("wanted", "found"), [*SAME, *(pair[::-1] for pair in SAME)])
def test_import_of_the_same_thing_in_another_form_has_landed(judge_codemod, wanted, found):
    assert judge_codemod(codemod(f"edit = add_import({wanted!r})"), f"{found}\npath.x\n").state.value == "landed"


def test_import_that_upstream_has_already_is_not_half_of_a_fix(judge_codemod):
    rules = codemod(
        "rules = (",
        "    Rule('import', edit=add_import('import sys')),",
        "    Rule('use', scope='free', edit=replace('return old(X_, k=1)', 'return sys.intern(X_)'), goals=(goal('used', 'return sys.intern(X_)'),)),",
        ")",
    )
    judgement = judge_codemod(rules, SOURCE)
    assert changed_lines(SOURCE, judgement.contents["m.py"].decode()) == [
        "-    return old(x, k=1)",
        "+    return sys.intern(x)",
    ]

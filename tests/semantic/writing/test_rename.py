"""A rename changes every reader of a name and nothing else; what it cannot follow, or would hide, is refused."""

# ruff: noqa: E501
# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

import pytest

from patchtool.domain.patch import PatchInfo
from patchtool.semantic.judge import judge_patch
from patchtool.semantic.load import load_draft
from tests.semantic.trees import MemoryTree
from tests.semantic.writing.test_edits import changed_lines, codemod

SOURCE = '''"""Doc."""
import torch
from dataclasses import dataclass
from a.kernels import launch, scan

LIMIT = 3


def spare(rows, most=LIMIT):
    """LIMIT is a word here."""
    text = f"{LIMIT!r} of {most + LIMIT}"
    inner = {"LIMIT": LIMIT, **{LIMIT: most}}
    return launch(rows, text, inner, most=most)


class Base:
    def close(self):
        self.limit = 0


class Rows(Base):
    """Rows."""

    size: int = 0

    def __init__(self, size):
        self.size = size
        self.free: list = []
        self.rows = torch.zeros(size)

    @property
    def used(self):
        return self.size - len(self.free)

    @used.setter
    def used(self, value):
        self.free = self.free[value:]

    def take(self, count, *, strict=False):
        def later():
            nonlocal count
            count = count + 1
            return self.take(count, strict=strict)

        match count:
            case {"count": _, **rest}:
                count = rest
        return later() if self.used > LIMIT else [self.take(count=n) for n in (lambda count: count)(self.free)]


class Paged(Rows):
    def used_pages(self):
        return super().take(self.used, strict=True)


@dataclass
class Config:
    size: int = 0

    def twice(self):
        return Config(size=2 * self.size)


def make(rows: "Rows" = None):
    global LIMIT
    LIMIT = spare(rows, most=LIMIT)
    return Paged(size=LIMIT), Rows(size=3), spare(*rows, most=scan(rows))
'''
FOLLOWED = [
    ("constant", "", "LIMIT", "MOST", 8),
    ("function", "", "spare", "spare_rows", 3),
    ("imported-name", "", "scan", "scan_rows", 2),
    ("class", "", "Config", "Settings", 2),
    ("method", "Rows", "take", "alloc", 4),
    ("property-with-setter", "Rows", "used", "taken", 5),
    ("field-of-the-instance", "Rows", "free", "unused", 4),
    ("field-of-the-class-without-the-parameter-of-its-constructor", "Rows", "size", "count", 3),
    ("field-of-a-dataclass-with-the-keyword-of-its-constructor", "Config", "size", "count", 2),
    ("parameter-with-the-keyword-of-its-calls", "spare", "most", "limit", 6),
    ("parameter-of-a-method", "Rows.take", "strict", "exact", 3),
    ("parameter-that-nested-code-changes-or-hides", "Rows.take", "count", "number", 7),
    ("local-variable", "spare", "text", "shown", 2),
]  # fmt: skip
REFUSED = [
    ("name-is-there", "goal-not-exact", "", "spare", "LIMIT", SOURCE),
    ("name-is-a-builtin", "site-refused", "", "spare", "len", SOURCE),
    ("name-is-local-to-a-reader", "site-refused", "", "LIMIT", "inner", SOURCE),
    ("name-is-a-method-of-a-base", "site-refused", "Rows", "take", "close", SOURCE),
    ("method-overrides-one-of-a-base", "site-refused", "Rows", "close", "shut", SOURCE.replace("    def used_pages", "    def close(self):\n        pass\n\n    def used_pages").replace("class Paged(Rows)", "class Paged(Base)").replace("class Rows(Base):", "class Rows(Base):\n    def close(self):\n        pass\n")),
    ("name-is-a-local-of-the-function", "goal-not-exact", "spare", "text", "inner", SOURCE),
    ("name-is-a-global-that-the-function-reads", "site-refused", "spare", "text", "launch", SOURCE),
    ("no-name", "site-refused", "spare", "text", "a.b", SOURCE),
    ("nothing-to-rename", "anchor-missing", "Rows", "nothing", "something", SOURCE),
    ("both-are-there", "goal-not-exact", "Rows", "free", "size", SOURCE),
    ("the-old-one-is-still-read", "goal-not-exact", "Rows", "free", "unused", SOURCE.replace("self.free: list", "self.unused: list").replace("self.free = ", "self.unused = ")),
    ("read-of-an-unknown-object", "reader-not-followed", "Rows", "free", "unused", SOURCE + "\n\ndef spy(rows):\n    return rows.free\n"),
    ("read-by-a-string", "reader-not-followed", "Rows", "free", "unused", SOURCE + "\n\ndef spy(rows):\n    return getattr(rows, 'free')\n"),
    ("listed-for-export", "reader-not-followed", "", "spare", "spare_rows", SOURCE + "\n__all__ = ['spare', 'Rows']\n"),
    ("annotation-in-a-string", "reader-not-followed", "", "Rows", "Table", SOURCE),
    ("keyword-of-an-unknown-call", "reader-not-followed", "Rows.take", "strict", "exact", SOURCE + "\n\ndef spy(rows):\n    return rows.take(1, strict=True)\n"),
]  # fmt: skip


def judged(rules: str, files: dict[str, str], *, targets: tuple[str, ...] = ("m.py",)):
    tree = MemoryTree({path: text.encode() for path, text in files.items()})
    return judge_patch(PatchInfo("p", "", "", "", targets), load_draft(rules), tree, None)


def rename(scope: str, old: str, new: str, more: str = "") -> str:
    return codemod(f"scope = {scope!r}", f"edit = rename({old!r}, {new!r}{more})")


@pytest.mark.parametrize(("scope", "old", "new", "count"), [pytest.param(*row[1:], id=row[0]) for row in FOLLOWED])
def test_rename_follows_every_reader_and_has_landed_then(scope, old, new, count):
    judgement = judged(rename(scope, old, new), {"m.py": SOURCE})
    assert judgement.state.value == "applied", f"{judgement.reason}: {judgement.detail}{judgement.trace}"
    after = judgement.contents["m.py"].decode()
    lines = changed_lines(SOURCE, after)
    assert len([line for line in lines if line.startswith("+")]) == count, lines
    compile(after, "m.py", "exec")
    assert judged(rename(scope, old, new), {"m.py": after}).state.value == "landed"


FORMS = [
    "x.n = n[n] = other(n=1)(n, *n, **n)",
    "(n for n in n if n), (n := 1), [i for i in n], {n: n}, {**{n: 1}}, lambda n=n: n",
    "f'{n} {{n}} {n!r:>{n}} {x.n}' 'n' f\"{n if n else (n, {n: n}[n])}\"",
    "n if n else -n, not n < n <= n, n[n : n : n], (yield n), n @ n",
]


@pytest.mark.parametrize("form", FORMS)
def test_variable_is_renamed_in_every_form_and_what_only_has_its_name_is_not(form):
    source = f"def f(n, x, other):\n    {form}\n    with x as n, n: n += 1\n    try: n.n()\n    except n as n: del n\n"
    judgement = judged(rename("f", "n", "number"), {"m.py": source})
    assert judgement.state.value == "applied", (judgement.reason, judgement.detail)
    after = (judgement.contents["m.py"] or b"").decode()
    function = next(code for code in compile(after, "m.py", "exec").co_consts if hasattr(code, "co_varnames"))
    names = function.co_varnames + function.co_cellvars
    assert "number" in names
    assert "n" not in names
    assert after.replace("number", "n") == source


@pytest.mark.parametrize(
    ("reason", "scope", "old", "new", "source"), [pytest.param(*row[1:], id=row[0]) for row in REFUSED]
)
def test_rename_is_refused_with_a_reason(reason, scope, old, new, source):
    judgement = judged(rename(scope, old, new), {"m.py": source})
    assert (judgement.state.value, judgement.reason) == ("conflict", reason), judgement
    assert not judgement.contents


PACKAGE = {
    "python/sglang/__init__.py": "",
    "python/sglang/rows.py": "class Rows:\n    def take(self, count):\n        return count\n\n\ndef make(size):\n    return Rows()\n",
}
ELSEWHERE = [
    ("imported", "", "make", "from sglang.rows import make\n"),
    ("imported-from-a-re-export", "", "make", "from sglang.front import make\n"),
    ("attribute-of-the-module", "", "make", "from sglang import rows\n\nrows.make(1)\n"),
    ("attribute-of-the-module-by-its-full-name", "", "make", "import sglang.rows\n\nsglang.rows.make(1)\n"),
    ("imported-with-a-star", "", "make", "from sglang.rows import *\n\nmake(1)\n"),
    ("named-by-a-string", "", "make", "patch('sglang.rows.make')\n"),
    ("method-of-an-unknown-object", "Rows", "take", "def f(rows):\n    return rows.take(1)\n"),
    ("method-by-a-string", "Rows", "take", "def f(rows):\n    return getattr(rows, 'take')\n"),
    ("method-that-a-subclass-overrides", "Rows", "take", "from sglang.rows import Rows\n\n\nclass Paged(Rows):\n    def take(self, count):\n        return 2\n"),
    ("method-that-a-subclass-calls", "Rows", "take", "import sglang.rows as r\n\n\nclass Paged(r.Rows):\n    def f(self):\n        return self.take(2)\n"),
    ("keyword", "make", "size", "from sglang.rows import make\n\nmake(size=1)\n"),
    ("keyword-of-a-method", "Rows.take", "count", "def f(rows):\n    return rows.take(count=1)\n"),
]  # fmt: skip
UNRELATED = [
    ("name-of-another-module", "", "make", "from sglang.other import make\n\nmake(1)\n"),
    ("method-of-another-class", "Rows", "take", "class Other:\n    def take(self):\n        return 1\n\n    def f(self):\n        return self.take()\n"),
    ("function-of-an-imported-module", "Rows", "take", "import torch\n\ntorch.take(1)\n"),
    ("keyword-of-another-function", "make", "size", "other(size=1)\n"),
    ("local-variable", "make", "size", "def f(size):\n    return size\n"),
]  # fmt: skip
FRONT = {"python/sglang/front.py": "from sglang.rows import make as make\n"}


@pytest.mark.parametrize(("scope", "old", "reader"), [pytest.param(*row[1:], id=row[0]) for row in ELSEWHERE])
def test_rename_is_refused_where_another_file_reads_the_old_name_and_applies_where_that_is_accounted_for(
    scope, old, reader
):
    front = FRONT if "front" in reader else {}
    files = {**PACKAGE, **front, "python/sglang/user.py": reader}
    target = ("python/sglang/rows.py",)
    judgement = judged(rename(scope, old, "fresh"), files, targets=target)
    assert (judgement.state.value, judgement.reason) == ("conflict", "reader-not-followed"), judgement
    assert "python/sglang/user.py:" in judgement.detail
    judgement = judged(rename(scope, old, "fresh", ", elsewhere='seen'"), files, targets=target)
    assert judgement.state.value == "applied", judgement
    assert any("user.py" in note and "seen" in note for note in judgement.notes)


@pytest.mark.parametrize(("scope", "old", "other"), [pytest.param(*row[1:], id=row[0]) for row in UNRELATED])
def test_rename_applies_where_another_file_has_the_name_for_something_else(scope, old, other):
    files = {**PACKAGE, "python/sglang/user.py": other, "python/sglang/other.py": "def make(size):\n    return 1\n"}
    judgement = judged(rename(scope, old, "fresh"), files, targets=("python/sglang/rows.py",))
    assert judgement.state.value == "applied", judgement


def test_readers_in_the_file_that_are_accounted_for_are_noted():
    source = SOURCE + "\n\ndef spy(rows):\n    return rows.free\n"
    judgement = judged(rename("Rows", "free", "unused", ", elsewhere='other rows'"), {"m.py": source})
    assert judgement.state.value == "applied"
    assert [note for note in judgement.notes if "other rows" in note and "return rows.free" in note]
    assert "return rows.free" in judgement.contents["m.py"].decode()


def test_rename_is_refused_where_a_base_in_another_file_has_the_method():
    files = {"python/sglang/base.py": "class Base:\n    def take(self):\n        return 1\n"}
    files["python/sglang/rows.py"] = "from sglang.base import Base\n\n\n" + PACKAGE["python/sglang/rows.py"].replace(
        "Rows:", "Rows(Base):"
    )
    judgement = judged(rename("Rows", "take", "fresh"), files, targets=("python/sglang/rows.py",))
    assert (judgement.state.value, judgement.reason) == ("conflict", "name-taken"), judgement
    assert "base.py" in judgement.detail


def test_bases_outside_of_the_tree_are_said_not_to_be_looked_at():
    files = {
        "python/sglang/rows.py": "import torch\n\n\n"
        + PACKAGE["python/sglang/rows.py"].replace("Rows:", "Rows(torch.nn.Module):")
    }
    judgement = judged(rename("Rows", "take", "fresh"), files, targets=("python/sglang/rows.py",))
    assert judgement.state.value == "applied"
    assert any("torch.nn.Module" in note for note in judgement.notes)


def test_other_rules_of_the_patch_can_follow_a_rename_in_their_files_and_inside_the_renamed_function():
    user = "from sglang.rows import make\n\n\ndef f(rows):\n    make(1)\n    return rows.take(rows)\n"
    files = {**PACKAGE, "python/sglang/user.py": user}
    rules = codemod(
        "rules = (",
        "    Rule('define', target='python/sglang/rows.py', edit=rename('make', 'build')),",
        "    Rule('import', target='python/sglang/user.py', edit=rename('make', 'build')),",
        "    Rule('method', scope='Rows', target='python/sglang/rows.py', edit=rename('take', 'alloc')),",
        "    Rule('call', scope='f', target='python/sglang/user.py', edit=replace('return ROWS_.take(N_)', 'return ROWS_.alloc(N_)'), goals=(goal('called', 'ROWS_.alloc(N_)'),)),",
        "    Rule('body', scope='make', target='python/sglang/rows.py', edit=replace('return Rows()', 'return build and Rows()'), goals=(goal('made', 'build and Rows()'),)),",
        ")",
    )
    targets = ("python/sglang/rows.py", "python/sglang/user.py")
    judgement = judged(rules, files, targets=targets)
    assert judgement.state.value == "applied", judgement
    after = {**files, **{path: data.decode() for path, data in judgement.contents.items()}}
    assert after["python/sglang/user.py"] == user.replace("make", "build").replace("take", "alloc")
    assert "def build(size):\n    return build and Rows()" in after["python/sglang/rows.py"]
    assert judged(rules, after, targets=targets).state.value == "landed"


def test_function_that_another_file_imports_is_not_removed():
    files = {**PACKAGE, "python/sglang/user.py": "from sglang.rows import make\n\nmake(1)\n"}
    targets = ("python/sglang/rows.py", "python/sglang/user.py")
    judgement = judged(codemod("edit = remove_definition('make')"), files, targets=targets[:1])
    assert (judgement.state.value, judgement.reason) == ("conflict", "removed-name-read"), judgement
    assert "python/sglang/user.py:1" in judgement.detail
    rules = codemod(
        "rules = (",
        "    Rule('function', target='python/sglang/rows.py', edit=remove_definition('make')),",
        "    Rule('use', target='python/sglang/user.py', edit=replace('make(1)', 'print(1)'), goals=(goal('p', 'print(1)', as_written=True),)),",
        "    Rule('import', target='python/sglang/user.py', edit=remove_import('from sglang.rows import make')),",
        ")",
    )
    judgement = judged(rules, files, targets=targets)
    assert judgement.state.value == "applied", (judgement.reason, judgement.detail)


def test_function_that_moves_to_another_file_and_is_imported_from_there_is_removed():
    rows = "from sglang.made import X\n\n\n" + PACKAGE["python/sglang/rows.py"]
    files = {**PACKAGE, "python/sglang/rows.py": rows, "python/sglang/made.py": "X = 1\n"}
    files["python/sglang/user.py"] = "from sglang.rows import make\n"
    rules = codemod(
        "rules = (",
        "    Rule('out', target='python/sglang/rows.py', edit=remove('def make(size):\\n    return Rows()')),",
        "    Rule('in', target='python/sglang/made.py', edit=add_function('def make(size):\\n    return size')),",
        "    Rule('import', target='python/sglang/rows.py', edit=replace('from sglang.made import X', 'from sglang.made import X, make'), goals=(goal('imported', 'from sglang.made import X, make'),)),",
        ")",
    )
    judgement = judged(rules, files, targets=("python/sglang/rows.py", "python/sglang/made.py"))
    assert judgement.state.value == "applied", (judgement.reason, judgement.detail)

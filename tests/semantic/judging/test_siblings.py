# ruff: noqa: E501
"""Code that looks like a defect: derived from what a patch replaces, misses or adds, and stated by its author."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from patchtool.domain.errors import InputError
from patchtool.domain.patch import PatchInfo
from patchtool.domain.sibling_sites import Siblings
from patchtool.semantic.lint import lint
from patchtool.semantic.siblings import siblings
from tests.semantic.trees import MemoryTree

HEAD = "from patchtool.semantic import *\nfrom patchtool.semantic import SemanticPatch\n\n\nclass P(SemanticPatch):\n"
REPLACING = f"""{HEAD}
    scope = "Own.fill"
    edit = replace("self.table[SIZE_:] = fetch(ROWS_, SIZE_)", "self.table[:] = fetch(ROWS_, SIZE_)")
    goals = (goal("all", "self.table[:] = fetch(ROWS_, SIZE_)"),)
"""
UNREAD = f"""{HEAD}
    scope = "Own.commit"
    roles = {{"TRACK_": param("tracked", "track_slots"), "STEPS_": param("steps")}}
    defect = unread("TRACK_", "STEPS_")
    edit = insert_before("rollback(STATE_)", "copy(STATE_, TRACK_, STEPS_)")
    goals = (goal("copied", "copy(STATE_, TRACK_, STEPS_)"),)
"""
OVERRIDE = f"""{HEAD}
    scope = "Own"
    extends = "Pool"
    defect = unmentioned("warm_up", "config")
    edit = add_method("def warm_up(self): self.config = None", behind="make")
    goals = (method("off", "def warm_up(self): self.config = None"),)
"""


NOWHERE = f"""{HEAD}
    scope = "nowhere"
    edit = replace("gone(X_)", "there(X_)")
    goals = (goal("there", "there(X_)"),)
"""


def search(
    folder: Path, codemod: str, files: dict[str, str], after: dict[str, str | None] | None = None, stated: str = ""
) -> Siblings:
    (folder / "codemod.py").write_text(codemod)
    (folder / "siblings.toml").write_text(
        f'[[siblings]]\nname = "looks wrong"\n{stated}\n' if stated else "siblings = []"
    )
    info = PatchInfo("p", "", "", "", ("own.py",), source_file=str(folder / "codemod.py"))
    contents = {path: None if text is None else text.encode() for path, text in (after or {}).items()}
    return siblings([info], MemoryTree({path: text.encode() for path, text in files.items()}), contents)


def places(found: Siblings) -> list[str]:
    return [f"{site.path}:{site.line} {site.symbol}".strip() for site in found.sites]


REPLACED = [
    ("same code in another file", "def other(self, batch, total):\n    self.table[total:] = fetch(batch, total)\n", ["a.py:2 other"]),
    ("another field", "class A:\n    def f(self, b, n):\n        self.rows[n:] = fetch(b, n)\n", ["a.py:3 A.f"]),
    ("another name of the import", "from m import fetch as get\ndef f(self, b, n):\n    self.t[n:] = get(b, n)\n", ["a.py:3 f"]),
    ("under a condition, twice", "def f(self, b, n):\n    if b:\n        self.t[n:] = fetch(b, n)\n    else:\n        self.t[n:] = fetch(b, n)\n", ["a.py:3 f", "a.py:5 f"]),
    ("in a nested function", "def f(self, b, n):\n    def g():\n        self.t[n:] = fetch(b, n)\n    return g\n", ["a.py:3 f.g"]),
    ("in the module", "self = n = b = 0\nself.t[n:] = fetch(b, n)\n", ["a.py:2"]),
    ("another operator", "def f(self, b, n):\n    self.t[:n] = fetch(b, n)\n", []),
    ("another call", "def f(self, b, n):\n    self.t[n:] = refetch(b, n)\n", []),
    ("two names for one hole", "def f(self, b, n, m):\n    self.t[n:] = fetch(b, m)\n", []),
    ("no field of self", "def f(t, b, n):\n    t.rows[n:] = fetch(b, n)\n", []),
]  # fmt: skip


@pytest.mark.parametrize(("code", "expected"), [pytest.param(*case[1:], id=case[0]) for case in REPLACED])
def test_replaced_code_is_found_with_other_names_and_fields(tmp_path: Path, code: str, expected: list[str]) -> None:
    assert places(search(tmp_path, REPLACING, {"a.py": code})) == expected


UNREAD_CASES = [
    ("ignored", "def f(state, tracked, steps):\n    rollback(state)\n", ["a.py:1 f"]),
    ("another spelling", "def f(state, track_slots, steps):\n    # tracked\n    rollback(state)\n", ["a.py:1 f"]),
    ("one is read", "def f(state, tracked, steps):\n    rollback(state, steps)\n", []),
    ("one is missing", "def f(state, tracked):\n    rollback(state)\n", []),
    ("abstract", "def f(state, tracked, steps):\n    'Commit.'\n    raise NotImplementedError\n", []),
    ("only logged", "def f(state, tracked, steps):\n    logger.debug(tracked)\n    rollback(state)\n", ["a.py:1 f"]),
]


@pytest.mark.parametrize(("code", "expected"), [pytest.param(*case[1:], id=case[0]) for case in UNREAD_CASES])
def test_functions_that_do_not_read_the_parameters_are_found(tmp_path: Path, code: str, expected: list[str]) -> None:
    assert places(search(tmp_path, UNREAD, {"a.py": code})) == expected


POOLS = {
    "pool.py": "class Pool:\n    def make(self): pass\n    def warm_up(self): self.config = 1\n",
    "a.py": "from pool import Pool as Base\nclass A(Base):\n    def make(self):\n        self.k = 1\n",
    "b.py": "import pool\nclass B(pool.Pool):\n    def read(self): pass\n",
    "c.py": "from b import B\nclass C(B):\n    def read(self): pass\n    def make(self): pass\n",
    "d.py": "from pool import Pool\nclass D(Pool):\n    def make(self): pass\n    def warm_up(self): pass\n",
    "e.py": "from d import D\nclass E(D):\n    def make(self): pass\n",
    "f.py": "class F(Other):\n    def make(self): return Pool\n",
}


def test_subclasses_without_the_override_are_found_across_files(tmp_path: Path) -> None:
    found = search(tmp_path, OVERRIDE, POOLS)
    assert places(found) == ["a.py:3 A", "c.py:4 C"]
    assert {site.likeness for site in found.sites} == {"overrides make of Pool and not warm_up"}


LAYER = """
class Layer:
    def forward(self, mask):
        self.track(mask)
        return rest(mask)

    def track(self, mask):
        return mask.any()

    def prepare(self, mask):
        return mask.any()

def rest(mask):
    return mask.any()
"""
EVERYWHERE = ["x/a.py:8 Layer.track", "x/a.py:11 Layer.prepare", "x/a.py:14 rest"]
STATED = [
    ("everywhere", 'patterns = ["MASK_.any()"]', EVERYWHERE),
    ("in functions and what they call", 'patterns = ["MASK_.any()"]\nscopes = ["*.forward"]', EVERYWHERE[::2]),
    ("in other files", 'patterns = ["MASK_.any()"]\nfiles = ["y/*"]', []),
    ("unless cured", 'patterns = ["self.track(MASK_)", "MASK_.any()"]\nunless = ["rest(MASK_)"]', EVERYWHERE),
    ("two forms, one line", 'patterns = ["MASK_.any()", "return VALUE_.any()"]\nscopes = ["rest"]', EVERYWHERE[2:]),
]


@pytest.mark.parametrize(("stated", "expected"), [pytest.param(*case[1:], id=case[0]) for case in STATED])
def test_stated_siblings_are_found(tmp_path: Path, stated: str, expected: list[str]) -> None:
    assert places(search(tmp_path, NOWHERE, {"x/a.py": LAYER}, stated=stated)) == expected


INVALID = [
    ('patterns = ["use(A_"]', 3, "not valid Python"),
    ('patterns = ["use(A_)"]\nunless = ["if x"]', 4, "not valid Python"),
    ("patterns = []", 3, "there is no template"),
    ('patterns = ["A_[B_:] = 0"]', 3, "no name in 'A_[B_:] = 0' tells which files to search"),
    ('patterns = ["use(A_)"]\nscope = "f"', 4, "unknown key 'scope'"),
    ("", 1, "patterns is missing"),
]


@pytest.mark.parametrize(("stated", "line", "problem"), INVALID)
def test_an_invalid_statement_is_refused_with_its_line(tmp_path: Path, stated: str, line: int, problem: str) -> None:
    with pytest.raises(InputError, match=f"siblings.toml:{line}: .*{re.escape(problem)}"):
        search(tmp_path, NOWHERE, {"a.py": "use(1)\n"}, stated=stated or "# nothing")
    info = PatchInfo("p", "", "", "", ("own.py",), source_file=str(tmp_path / "codemod.py"))
    (found,) = lint(info)
    assert (found.path, found.line, found.code) == (str(tmp_path / "siblings.toml"), line, "sibling-invalid")
    assert problem in found.message


def test_what_the_series_changes_is_told_apart_also_where_the_same_code_stays(tmp_path: Path) -> None:
    line = "    self.t[n:] = fetch(b, n)\n"
    before = {"own.py": f"def f(self, b, n):\n{line}{line}", "b.py": f"def f(self, b, n):\n{line}"}
    found = search(tmp_path, REPLACING, before, after={"own.py": f"def f(self, b, n):\n    pass\n{line}"})
    assert [(site.path, site.line, site.fixed) for site in found.sites] == [
        ("b.py", 2, False),
        ("own.py", 2, True),
        ("own.py", 3, False),
    ]


def test_a_file_that_the_series_deletes_has_no_candidates_left(tmp_path: Path) -> None:
    before = {"own.py": "def f(self, b, n):\n    self.t[n:] = fetch(b, n)\n"}
    assert [site.fixed for site in search(tmp_path, REPLACING, before, after={"own.py": None}).sites] == [True]


FIELDS_ONLY = REPLACING.replace("fetch(ROWS_, SIZE_)", "0")


def test_fields_stay_where_nothing_else_tells_the_files(tmp_path: Path) -> None:
    code = "def f(self, n):\n    self.rows[n:] = 0\n    self.table[n:] = 0\n"
    assert places(search(tmp_path, FIELDS_ONLY, {"a.py": code})) == ["a.py:3 f"]


def test_a_patch_that_shows_no_defect_is_named(tmp_path: Path) -> None:
    insertion = UNREAD.replace('unread("TRACK_", "STEPS_")', 'unmentioned("copy")')
    found = search(tmp_path, insertion, {"a.py": "def f(tracked, steps): rollback(1)\n"})
    assert found == ((), ("p was not looked for: it does not show what its defect looks like",))


def test_what_cannot_be_searched_is_named(tmp_path: Path) -> None:
    found = search(tmp_path, REPLACING, {"a.py": "fetch(:", "b.py": "def f(self, b, n): self.t[n:] = fetch(b, n)\n"})
    assert places(found) == ["b.py:1 f"]
    assert len(found.unsearched) == 1
    assert "a.py:1" in found.unsearched[0]


@pytest.mark.parametrize("codemod", ["1 / 0\n", "import sys\nsys.exit()\n", "nothing = 1\n"])
def test_a_codemod_that_cannot_be_read_is_named(tmp_path: Path, codemod: str) -> None:
    found = search(tmp_path, codemod, {"a.py": "fetch()\n"})
    assert not found.sites
    assert found.unsearched[0].startswith("p was not looked for: ")

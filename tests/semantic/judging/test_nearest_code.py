"""Where a rule has no site, the place that its code moved to is named first, whatever the size of the file."""

# ruff: noqa: E501
# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

from collections.abc import Mapping

import pytest

from patchtool.semantic import Rule, add_method, goal, insert_before, method, replace, unmentioned
from patchtool.semantic.judging.candidates import Nearest, nearest_code
from patchtool.semantic.judging.similarity import MAX_COMPARED
from patchtool.semantic.language.source import Source
from tests.semantic.trees import MemoryTree

PATH = "python/sglang/srt/pool.py"
OTHER = "python/sglang/srt/helpers.py"
IMPL = "python/sglang/srt/impl/pool_impl.py"

STATEMENT = "ROWS_ = compute_rows(batch, self.page_size)"
BODY = "        rows = compute_rows(batch, self.page_size)\n        return rows\n"
ELSE = "        return self.table\n"
FILLER = "import os\n\n\ndef unrelated(a, b):\n    return os.path.join(a, b)\n\n\n"
PADDING = "".join(f"    def step_{n}(self):\n        self.count_{n} = self.count_{n} + {n}\n\n" for n in range(30))

REPLACED = Rule("r", "Pool.prepare", replace(STATEMENT, "ROWS_ = other(batch)"), (goal("g", "other(batch)"),))
INSERTED = Rule(
    "r",
    "Pool.prepare",
    insert_before("return rows", "check(rows)"),
    (goal("g", "check(rows)"),),
    defect=unmentioned("c"),
)
SEVERAL = Rule(
    "r",
    "Pool.prepare",
    replace("A_ = self.open_table(batch)\nB_ = compute_rows(A_, self.page_size)\nself.close_table(A_)", "pass"),
    (goal("g", "x()"),),
)
BLOCK = (
    "        t = self.open_table(batch)\n        rows = compute_rows(t, self.page_size)\n        self.close_table(t)\n"
)
EXPRESSION = Rule(
    "r",
    "Pool.prepare",
    insert_before("rollback_state(CONV_, OWN_, LAST_)", "x()"),
    (goal("g", "x()"),),
    defect=unmentioned("x"),
)
WHOLE = Rule(
    "r",
    "Pool",
    replace("def prepare(self, batch):\n    rows = compute_rows(batch, self.page_size)\n    return old_rows", "pass"),
    (goal("g", "x()"),),
)
METHOD = Rule(
    "r", "Pool", add_method("def new(self):\n    pass", behind="create_buffers"), (method("m", "def new(self): pass"),)
)


def pool(prepare: str = ELSE, *, name: str = "prepare", owner: str = "Pool", rest: str = "") -> str:
    return f"{FILLER}class {owner}:\n{PADDING}    def {name}(self, batch):\n{prepare}\n{rest}"


SIBLING = "    def _rows_of(self, batch):\n" + BODY
CASES: list[tuple[str, Rule, dict[str, str], str, str]] = [
    ("changed in place", REPLACED, {PATH: pool(BODY.replace("page_size", "block_size"))}, PATH, "Pool.prepare"),
    ("an argument more", REPLACED, {PATH: pool(BODY.replace("batch,", "batch, 0,"))}, PATH, "Pool.prepare"),
    ("sibling method", REPLACED, {PATH: pool(rest=SIBLING)}, PATH, "Pool._rows_of"),
    ("sibling method above", REPLACED, {PATH: pool().replace(PADDING, SIBLING + "\n" + PADDING)}, PATH, "Pool._rows_of"),
    ("sibling, under a condition", REPLACED,
     {PATH: pool(rest="    def _rows_of(self, batch):\n        if batch:\n            r = compute_rows(batch, self.page_size)\n")},
     PATH, "Pool._rows_of"),
    ("sibling, something alike stays", REPLACED,
     {PATH: pool("        rows = compute_size(batch)\n        return rows\n", rest=SIBLING)}, PATH, "Pool._rows_of"),
    ("method renamed", REPLACED, {PATH: pool(BODY, name="prepare_batch")}, PATH, "Pool.prepare_batch"),
    ("class renamed", REPLACED, {PATH: pool(BODY, owner="PagedPool")}, PATH, "PagedPool.prepare"),
    ("other class in the file", REPLACED,
     {PATH: pool(rest="\nclass Rows:\n    def prepare(self, batch):\n" + BODY)}, PATH, "Rows.prepare"),
    ("function of the module", REPLACED,
     {PATH: pool(rest="\ndef rows_of(pool, batch):\n    rows = compute_rows(batch, pool.page_size)\n    return rows\n")},
     PATH, "rows_of"),
    ("nested function", REPLACED,
     {PATH: pool("        def inner():\n            rows = compute_rows(batch, self.page_size)\n        return inner\n")},
     PATH, "Pool.prepare.inner"),
    ("two classes have it, the method's name decides", REPLACED,
     {PATH: pool(rest="\nclass A:\n    def other(self, batch):\n" + BODY + "\nclass B:\n    def prepare(self, batch):\n" + BODY)},
     PATH, "B.prepare"),
    ("other file", REPLACED, {PATH: pool(), OTHER: FILLER + "class Helper:\n    def rows(self, batch):\n" + BODY}, OTHER, "Helper.rows"),
    ("other file, class and all", REPLACED, {PATH: FILLER, OTHER: pool(BODY)}, OTHER, "Pool.prepare"),
    ("other file, among many that mention a word of it", REPLACED,
     {PATH: pool(), OTHER: FILLER + "class Helper:\n    def rows(self, batch):\n" + BODY,
      **{f"python/sglang/srt/m{n}.py": "page_size = 1\n" for n in range(40)}}, OTHER, "Helper.rows"),
    ("target gone, class renamed", REPLACED, {OTHER: pool(BODY, owner="PagedPool")}, OTHER, "PagedPool.prepare"),
    ("re-export", REPLACED, {PATH: "from sglang.srt.impl.pool_impl import Pool\n", IMPL: pool(BODY)}, IMPL, "Pool.prepare"),
    ("relative re-export under another name", REPLACED,
     {PATH: "from .impl.pool_impl import PoolImpl as Pool\n", IMPL: pool(BODY, owner="PoolImpl")}, IMPL, "PoolImpl.prepare"),
    ("re-export of a re-export", REPLACED,
     {PATH: "from .impl import Pool\n", "python/sglang/srt/impl/__init__.py": "from .pool_impl import Pool\n", IMPL: pool(BODY)},
     IMPL, "Pool.prepare"),
    ("star re-export", REPLACED, {PATH: "from .impl.pool_impl import *\n", IMPL: pool(BODY)}, IMPL, "Pool.prepare"),
    ("insertion, sibling", INSERTED, {PATH: pool(rest=SIBLING)}, PATH, "Pool._rows_of"),
    ("several statements, sibling", SEVERAL, {PATH: pool(rest="    def _rows(self, batch):\n" + BLOCK)}, PATH, "Pool._rows"),
    ("several statements, one more between", SEVERAL,
     {PATH: pool(BLOCK.replace("        self.close", "        log(t)\n        self.close"))}, PATH, "Pool.prepare"),
    ("expression, sibling", EXPRESSION,
     {PATH: pool(rest="    def undo(self, c, o, s):\n        kept = rollback_state(c, o, s)\n")}, PATH, "Pool.undo"),
    ("whole definition, changed", WHOLE, {PATH: pool(BODY)}, PATH, "Pool"),
    ("whole definition, other class", WHOLE,
     {PATH: pool("        pass\n", name="zzz", rest="\nclass Rows:\n    def prepare(self, batch):\n" + BODY)}, PATH, "Rows"),
    ("method to add behind, other class", METHOD,
     {PATH: pool(rest="\nclass Base:\n    def create_buffers(self):\n        pass\n")}, PATH, "Base.create_buffers"),
    ("method to add behind, renamed", METHOD,
     {PATH: pool(rest="    def _create_buffer(self):\n        pass\n")}, PATH, "Pool._create_buffer"),
]  # fmt: skip


def nearest(rule: Rule, files: Mapping[str, str]) -> Nearest:
    tree = MemoryTree({path: text.encode() for path, text in files.items()})
    source = Source.parse(PATH, tree.files[PATH]) if PATH in tree.files else None
    return nearest_code(rule, PATH, source, tree)


@pytest.mark.parametrize(("rule", "files", "path", "symbol"), [pytest.param(*case[1:], id=case[0]) for case in CASES])
def test_the_place_that_code_moved_to_is_named_first(rule, files, path, symbol):
    found = nearest(rule, files).candidates
    assert found, "nothing was found"
    assert (found[0].path, found[0].symbol) == (path, symbol), found


def test_nothing_is_named_where_nothing_is_alike():
    assert nearest(REPLACED, {PATH: "import os\n\n\nclass Zebra:\n    x = 1\n"}).candidates == ()


def long_class(size: int) -> tuple[Rule, str]:
    lines = ["class Runner:"]
    for number in range(size):
        lines.append(f"    def run_{number}(self, batch, size):")
        lines += [f"        self.kept_{number}_{row} = step(batch, {number}, level={row})" for row in range(size)]
        lines += ["        return size", ""]
    whole = "\n".join(line[4:] for line in lines if "run_3(" in line or "kept_3_" in line)
    edit = replace(f"{whole}\n    return gone", f"{whole}\n    return kept")
    return Rule("r", "Runner", edit, (goal("g", "kept"),)), "\n".join(lines)


@pytest.mark.parametrize("size", [10, 45])
def test_number_of_comparisons_does_not_grow_with_the_file(size):
    rule, text = long_class(size)
    found = nearest(rule, {PATH: text})
    assert found.compared <= 2 * MAX_COMPARED
    assert found.candidates[0].code == "def run_3(self, batch, size):"


def test_statement_in_a_long_file_takes_few_comparisons():
    _, text = long_class(45)
    rule = Rule("r", "Runner.run_3", replace("self.kept_3_9 = step(batch, 4, level=9)", "pass"), (goal("g", "x"),))
    found = nearest(rule, {PATH: text})
    assert found.compared <= MAX_COMPARED
    assert found.candidates[0].code == "self.kept_3_9 = step(batch, 3, level=9)"


def test_deep_code_is_searched_without_recursion():
    deep = "x = " + "a + (" * 80 + "a" + ")" * 80 + "\n"
    chain = "if a == 0:\n    pass\n" + "".join(f"elif a == {n}:\n    pass\n" for n in range(150))
    assert nearest(REPLACED, {PATH: deep + chain + pool(rest=SIBLING)}).candidates[0].symbol == "Pool._rows_of"

"""One file's change on another version of the file: what is carried, and what is a conflict."""

from textwrap import dedent
from typing import NamedTuple

import pytest

from patchtool.domain.text_patch import CarriedFile, CarryOutcome, FileChange
from patchtool.textual.carry import carry_file

CLASS = """\
import os


class A:
    def f(self, x):
        y = os.path.join(x, 'a')
        return y

    def g(self):
        return 1
"""
CALL = "def f(a, b):\n    return g(a, b)\n"
STEPS = "def f(a):\n    x = one(a)\n    check(x)\n    y = two(a)\n    return y\n"
TWINS = (
    "class A:\n    def set(self, k):\n        self.k = k\n        self.n = 1\n\n\n"
    "class B:\n    def set(self, k):\n        self.k = k\n        self.n = 1\n"
)
TYPED = (
    "from __future__ import annotations\n\nimport os\nimport typing as t\n\n\n"
    "def f(x: int) -> t.List:\n    return os.listdir(x)\n\n\ndef g():\n    return 1\n"
)
HIP = (
    "from m import is_hip, other\n\n\ndef f():\n    return other()\n\n\ndef g():\n    a = 1\n    b = 2\n    return a\n"
)


def carry(base: str, patched: str, target: str, path: str = "m.py") -> CarriedFile:
    sides = [dedent(text).encode() for text in (base, patched, target)]
    return carry_file(FileChange(path, sides[0], sides[1]), sides[2])


class Case(NamedTuple):
    base: str
    patched: str
    target: str
    outcome: CarryOutcome
    reason: str = ""
    result: str | None = None


METHOD = "\n    def h(self):\n        return os.sep\n"
JOINED = CLASS.replace("'a')\n", "'a')\n        y = normalise(y, 'b', strict=True)\n")
CASES = {
    "on its own base it is byte for byte the patched file": Case(
        CLASS,
        CLASS.replace("return 1", "return 2  # two"),
        CLASS,
        CarryOutcome.EXACT,
        "",
        CLASS.replace("1", "2  # two"),
    ),
    "another spelling of an annotation is landed where the text is equal": Case(
        TYPED,
        TYPED.replace("x: int", "x: 'int'"),
        TYPED.replace("x: int", "x: 'int'").replace("(x)", "(x) or []"),
        CarryOutcome.LANDED,
    ),
    "another spelling of an annotation is not landed where upstream has a third": Case(
        TYPED,
        TYPED.replace("x: int", "x: 'int'"),
        TYPED.replace("x: int", 'x: "int"').replace("(x)", "(x) or []"),
        CarryOutcome.CONFLICT,
        "no-effect",
    ),
    "landed in another layout": Case(
        CLASS,
        JOINED,
        JOINED.replace(
            "(y, 'b', strict=True)", '(\n            y,\n            "b",\n            strict=True,\n        )'
        ),
        CarryOutcome.LANDED,
    ),
    "landed as another way to format a string": Case(
        CALL,
        CALL.replace("g(a, b)", "g('%s: %s' % (a, b))"),
        CALL.replace("g(a, b)", 'g(f"{a}: {b}")'),
        CarryOutcome.LANDED,
    ),
    "the same method elsewhere in the class is landed": Case(
        CLASS, CLASS + METHOD, CLASS.replace("class A:\n", "class A:" + METHOD + "\n"), CarryOutcome.LANDED
    ),
    "the same method with annotations is landed": Case(
        CLASS,
        CLASS + METHOD,
        CLASS + METHOD.replace("h(self)", "h(self) -> str") + "\n    def i(self):\n        pass\n",
        CarryOutcome.LANDED,
    ),
    "the same method whose annotations are spelled in another way is landed": Case(
        CLASS,
        CLASS + "\n    def h(self, k: t.Optional['t.List[int]'] = None) -> Union[str, None]:\n        return k\n",
        CLASS + "\n    def h(self, k: list[int] | None = None) -> str | None:\n        return k\n\n    x = 1\n",
        CarryOutcome.LANDED,
    ),
    "the same method with other annotations is a conflict": Case(
        CLASS,
        CLASS + METHOD.replace("h(self)", "h(self) -> str"),
        CLASS + METHOD.replace("h(self)", "h(self) -> bytes"),
        CarryOutcome.CONFLICT,
        "defined-differently",
    ),
    "the same method without the patch's annotations is a conflict": Case(
        CLASS,
        CLASS + METHOD.replace("h(self)", "h(self) -> str"),
        CLASS + METHOD,
        CarryOutcome.CONFLICT,
        "defined-differently",
    ),
    "an annotated method with another default is a conflict": Case(
        CLASS,
        CLASS + METHOD.replace("h(self)", "h(self, a=1)"),
        CLASS + METHOD.replace("h(self)", "h(self, a: int = 2)"),
        CarryOutcome.CONFLICT,
        "defined-differently",
    ),
    "the same assignment with an annotation is landed": Case(
        STEPS,
        STEPS.replace("    check(x)", "    limit = table_of(x)\n    check(x)"),
        STEPS.replace("    check(x)", "    limit: int = table_of(x)\n    check(x)"),
        CarryOutcome.LANDED,
    ),
    "a method of that name with another body is a conflict": Case(
        CLASS,
        CLASS + METHOD,
        CLASS.replace("class A:\n", "class A:\n    def h(self, deep):\n        yield deep\n\n"),
        CarryOutcome.CONFLICT,
        "defined-differently",
    ),
    "edits of neighbouring lines are both kept": Case(
        CLASS,
        CLASS.replace("'a')", "'b')"),
        CLASS.replace("return y", "return str(y)"),
        CarryOutcome.STRUCTURAL,
        "",
        CLASS.replace("'a')", "'b')").replace("return y", "return str(y)"),
    ),
    "parameters with names commute": Case(
        CALL,
        CALL.replace("b):", "b, c=1):"),
        CALL.replace("b):", "b, d=2):"),
        CarryOutcome.STRUCTURAL,
        "",
        CALL.replace("b):", "b, d=2, c=1):"),
    ),
    "positional arguments do not": Case(
        CALL, CALL.replace("b)\n", "b, c)\n"), CALL.replace("b)\n", "b, d)\n"), CarryOutcome.CONFLICT, "both-changed"
    ),
    "calls with unknown effects do not": Case(
        CALL,
        CALL.replace("    r", "    log(a)\n    r"),
        CALL.replace("    r", "    check(b)\n    r"),
        CarryOutcome.CONFLICT,
        "both-inserted",
    ),
    "upstream nested the code": Case(
        CLASS,
        CLASS.replace("        return y", "        y += os.sep\n        return y"),
        CLASS.replace(
            "        y = os.path.join(x, 'a')\n        return y",
            "        with lock:\n            y = os.path.join(x, 'a')\n            return y",
        ),
        CarryOutcome.STRUCTURAL,
        "",
        CLASS.replace(
            "        y = os.path.join(x, 'a')\n        return y",
            "        with lock:\n            y = os.path.join(x, 'a')\n            y += os.sep\n            return y",
        ),
    ),
    "the patch nests what upstream changed": Case(
        CLASS,
        CLASS.replace("        return 1", "        if self:\n            return 1"),
        CLASS.replace("return 1", "return h(1)"),
        CarryOutcome.CONFLICT,
        "both-inserted",
    ),
    "the lines merge but a name that they use is gone": Case(
        HIP,
        HIP.replace("    return a", "    if is_hip():\n        a = 3\n    return a"),
        HIP.replace("is_hip, ", ""),
        CarryOutcome.CONFLICT,
        "name-gone",
    ),
    "an import that upstream came to need in an annotation is not taken out": Case(
        TYPED,
        TYPED.replace("import typing as t\n", "").replace("t.List", "list"),
        TYPED.replace("t.List", "list").replace("x: int", "x: t.Any"),
        CarryOutcome.CONFLICT,
        "name-gone",
    ),
    "nor one in an annotation that is a string": Case(
        TYPED,
        TYPED.replace("import typing as t\n", "").replace("t.List", "list"),
        TYPED.replace("t.List", "list").replace("x: int", "x: 't.Any'"),
        CarryOutcome.CONFLICT,
        "name-gone",
    ),
    "a half of two statements is there": Case(
        STEPS,
        STEPS.replace("one(a)", "one(a, deep=1)").replace("check(x)", "check(x, deep=1)"),
        STEPS.replace("one(a)", "one(a, deep=1)"),
        CarryOutcome.CONFLICT,
        "half-landed",
    ),
    "the same words in another order in a string": Case(
        "C = 'python3 python2 python'\n",
        "C = 'python3 platform python2 python'\n",
        "C = 'python3 python2 python platform'\n",
        CarryOutcome.CONFLICT,
        "both-changed",
    ),
    "the code is gone": Case(
        STEPS,
        STEPS.replace("    check(x)\n", ""),
        "def f(a):\n    return rewritten(a)\n",
        CarryOutcome.OBSOLETE,
        "gone",
    ),
    "a deletion that upstream made, too": Case(
        STEPS,
        STEPS.replace("    check(x)\n", ""),
        STEPS.replace("    check(x)\n", "") + "\nZ = 1\n",
        CarryOutcome.LANDED,
    ),
    "a twin class is never edited": Case(
        TWINS,
        TWINS.replace("        self.n = 1\n\n\nclass B", "        self.m = 2\n        self.n = 1\n\n\nclass B"),
        "class Z:\n    pass\n\n\n" + TWINS[TWINS.index("class B") :],
        CarryOutcome.OBSOLETE,
        "gone",
    ),
    "a comment that upstream put before an import stays there": Case(
        "#!/usr/bin/env python\nimport a\n\nrun(a)\n",
        "#!/usr/bin/env python3\nimport a\n\nrun(a)\n",
        "#!/usr/bin/env python\n# why\nimport b\n\nimport a\n\ntry:\n    run(a)\nexcept b.Error:\n    pass\n",
        CarryOutcome.STRUCTURAL,
        "",
        "#!/usr/bin/env python3\n# why\nimport b\n\nimport a\n\ntry:\n    run(a)\nexcept b.Error:\n    pass\n",
    ),
    "what upstream imports between stays where it is": Case(
        "import a\n\nrun(a)\nstop(a)\n",
        "import a\n\nrun(a)\nstop(a, 1)\n",
        "import a\n\nrun(a)\nimport b\n\nb.go()\nstop(a)  # all\n",
        CarryOutcome.STRUCTURAL,
        "",
        "import a\n\nrun(a)\nimport b\n\nb.go()\nstop(a, 1)  # all\n",
    ),
    "evidence that holds on the base proves nothing": Case(
        "import os\nimport os\nx = os.name\n",
        "import os\nimport os\nx = os.name\nimport os\n",
        "import os\nimport os\nx = os.name\ny = 1\n",
        CarryOutcome.CONFLICT,
        "no-effect",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_change_is_carried_or_is_a_conflict_with_the_reason(case: Case) -> None:
    carried = carry(case.base, case.patched, case.target)
    assert (carried.outcome, carried.reason) == (case.outcome, case.reason), carried
    data = dedent(case.result if case.result is not None else case.target).encode()
    assert carried.data == data


def test_a_file_with_carriage_returns_keeps_them() -> None:
    sides = [CLASS, CLASS.replace("return 1", "return 2"), CLASS.replace("'a'", "'b'")]
    base, patched, target = (text.replace("\n", "\r\n").encode() for text in sides)
    carried = carry_file(FileChange("m.py", base, patched), target)
    assert carried.data == target.replace(b"return 1", b"return 2")


def test_text_that_both_changed_is_a_conflict() -> None:
    carried = carry("a\nb\nc\n", "a\nB\nc\n", "a\nx\nc\n", "notes.txt")
    assert (carried.outcome, carried.reason, carried.data) == (CarryOutcome.CONFLICT, "both-changed", b"a\nx\nc\n")


@pytest.mark.parametrize("equal", ["x\n", "\n", "pass\n"])
def test_ten_thousand_equal_lines_are_merged_at_once(equal: str) -> None:
    base = equal * 10_000
    carried = carry(base, base + "y = 1\n", "z = 1\n" + base, "m.py")
    assert carried.data == ("z = 1\n" + base + "y = 1\n").encode()


def test_a_deletion_that_landed_names_the_line_beside_it() -> None:
    base, patched = STEPS, STEPS.replace("    check(x)\n", "")
    carried = carry(base, patched, patched.replace("y = two(a)", "y = two(a)  # here") + "\nZ = 1\n")
    assert [(hunk.outcome, hunk.line) for hunk in carried.hunks] == [(CarryOutcome.LANDED, 2)]


def test_code_that_nests_too_deep_to_be_read_is_merged_by_lines() -> None:
    deep = "x = " + "-" * 5_000 + "1\n"
    base = f"a = 1\n{deep}b = 2\n{deep}c = 3\n"
    carried = carry(base, base.replace("a = 1", "a = 2"), base.replace("c = 3", "c = 4"))
    assert carried.data == base.replace("a = 1", "a = 2").replace("c = 3", "c = 4").encode()

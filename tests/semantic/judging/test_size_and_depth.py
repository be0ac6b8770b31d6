"""Deep and long code: judged in bounded time, or refused with the reason."""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls

from __future__ import annotations

import sys
import threading

import pytest

from patchtool.semantic.language.depth import DEEPEST, with_stack_for_depth
from tests.semantic.trees import judge_bytes

REPLACE = """
from patchtool.semantic import SemanticPatch, any_branch, goal, replace
class P(SemanticPatch):
    scope = "f"
    edit = replace("old()", "done()", within=any_branch())
    goals = (goal("done", "done()", within=any_branch()),)
"""
FUNCTION = "def done(): ...\ndef f(a, b):\n    {}\n    old()\n"
DEEP = {
    "elif": lambda n: "if a: b" + "\n    elif a: b" * n,
    "else in else": lambda n: "x = " + "a if b else " * n + "a",
    "operators": lambda n: "x = a" + " + a" * n,
    "and": lambda n: "x = a" + " and a" * n,
    "not": lambda n: "x = " + "not " * n + "a",
    "attributes": lambda n: "x = a" + ".a" * n,
    "calls": lambda n: "x = a" + "(b)" * n,
    "subscripts": lambda n: "x = a" + "[b]" * n,
    "powers": lambda n: "x = a" + " ** a" * n,
    "f-string": lambda n: "x = f'{a" + " + a" * n + "}'",
    "decorator": lambda n: "@a" + "(b)" * n + "\n    def g(): pass",
    "condition": lambda n: "if a" + " + a" * n + ":\n        pass",
    "import": lambda n: "import a" + ".a" * n,
}
PLACES = {"in the scope": FUNCTION, "elsewhere": "def g(a, b):\n    {}\n" + FUNCTION.format("pass")}


@pytest.mark.parametrize("kind", DEEP)
@pytest.mark.parametrize(("levels", "place"), [(150, "elsewhere"), (500, "in the scope")])
def test_deep_code_is_judged(judge_codemod, kind, place, levels):
    source = PLACES[place].format(DEEP[kind](levels))
    judgement = judge_codemod(REPLACE, source)
    assert judgement.state.value == "applied", f"{judgement.reason}: {judgement.detail}"
    assert judgement.contents["m.py"].decode() == source.replace("old()", "done()")


@pytest.mark.parametrize("kind", ["elif", "operators", "and"])
def test_deepest_code_is_judged(judge_codemod, kind):
    judgement = judge_codemod(REPLACE, PLACES["elsewhere"].format(DEEP[kind](DEEPEST - 20)))
    # Python 3.12 recurses through functions in C only so many levels, of which each bugfix release has its own number.
    if sys.version_info[:2] == (3, 12) and judgement.state.value == "conflict":
        assert judgement.reason == "unparsable"
        assert "m.py:" in judgement.detail
    else:
        assert judgement.state.value == "applied", f"{judgement.reason}: {judgement.detail}"


@pytest.mark.parametrize("kind", DEEP)
@pytest.mark.parametrize(("levels", "place"), [(DEEPEST + 10, "elsewhere"), (20_000, "in the scope")])
def test_code_that_is_too_deep_is_refused_with_its_place(judge_codemod, kind, place, levels):
    judgement = judge_codemod(REPLACE, PLACES[place].format(DEEP[kind](levels)))
    assert judgement.state.value == "conflict"
    assert (judgement.reason, judgement.contents) in [("target-unparsable", {}), ("unparsable", {})]
    assert "m.py" in judgement.detail
    assert "nested" in judgement.detail


def test_long_elif_chain_around_the_site_of_a_shipped_patch(lookalike):
    chain = "if bs == 0:\n            pass\n" + "".join(
        f"        elif bs == -{n}:\n            pass\n" for n in range(300)
    )
    for which, state in (("before", "applied"), ("after", "landed")):
        source = lookalike("ssm_index_layout", which)
        anchor = "        slots = self.pool.slots(pool_rows)\n"
        assert source.count(anchor) == 1
        judgement = judge_bytes("ssm_index_layout", source.replace(anchor, f"        {chain}{anchor}").encode())
        assert judgement.state.value == state, judgement.detail


REST = "def g(a, b):\n    pass"
LONG = {
    "equal lines": lambda n: "b.c += 1\n    " * n + "pass",
    "calls of one method": lambda n: "b.c(a)\n    " * n + "pass",
    "one name, assigned again": lambda n: "x = a\n    " * n + "x = x + 1\n    " * n + "pass",
    "changes in place": lambda n: "a.fill_(b)\n    " * n + "a[b] = 0\n    " * n + "pass",
    "branches": lambda n: "".join(f"if a == {i}: b.c()\n    " for i in range(n)) + "pass",
    "early returns": lambda n: "".join(f"if a == {i}: b.c = a\n    " for i in range(n)) + "pass",
    "loops": lambda n: "".join(f"for x in a: b.c({i})\n    " for i in range(n)) + "pass",
    "handlers": lambda n: "try: b.c()\n    except E: a\n    " * n + "pass",
    "a long literal": lambda n: "x = [" + "a, b.c, {1: a},\n" * n + "]",
    "elif": lambda n: "if a: b" + "\n    elif a: b" * n,
    "one line": lambda n: "b.c(a); " * n + "pass",
    "functions": lambda n: "pass\n" + "".join(f"def f{i}(a): return f{i + 1}(a)\n" for i in range(n)) + REST,
    "sites elsewhere": lambda n: "pass\n" + "".join(f"def f{i}(a): old()\n" for i in range(n)) + REST,
    "classes": lambda n: "pass\n" + "".join(f"class A{i + 1}(A{i}): pass\n" for i in range(n)) + REST,
    "imports": lambda n: "pass\n" + "".join(f"from m{i} import n{i}\n" for i in range(n)) + REST,
    "comments": lambda n: "# why\n    " * n + "pass",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", LONG)
def test_work_grows_with_the_length_of_the_code(judge_codemod, kind):
    def work(size: int) -> int:
        place = "elsewhere" if LONG[kind](1).endswith(REST) else "in the scope"
        source = PLACES[place].format(LONG[kind](size))
        with Calls() as calls:
            judgement = judge_codemod(REPLACE, source)
        assert judgement.state.value == "applied", f"{judgement.reason}: {judgement.detail}"
        return calls.count

    work(1)  # what is loaded once
    one, some, more = work(1), work(50), work(200)
    assert more - one <= 4.5 * max(some - one, 1000)


class Calls:
    """Counts the calls of functions, and resumed generators, in this thread."""

    count = 0

    def __enter__(self) -> Calls:
        sys.setprofile(self._count)
        return self

    def _count(self, *_: object) -> None:
        self.count += 1

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)


@pytest.mark.slow
def test_long_file_is_judged(judge_codemod):
    source = FUNCTION.format("b.c += 1\n    " * 2_000 + "pass") + "x = [\n" + "    1,\n" * 100_000 + "]\n"
    judgement = judge_codemod(REPLACE, source)
    assert judgement.contents["m.py"].decode() == source.replace("old()", "done()")


def test_function_with_too_many_names_is_refused(judge_codemod):
    many = "\n    ".join(f"x{i} = a[{i}]; x{i}.fill_(0)" for i in range(1_000))
    judgement = judge_codemod(REPLACE, FUNCTION.format(many))
    assert (judgement.state.value, judgement.reason) == ("conflict", "scope-too-large")
    assert judgement.detail == "f on line 2 has 2001 statements and 1000 local names, too many to be followed"


@pytest.mark.parametrize(("names", "state"), [(10, "landed"), (1_100, "conflict")])
def test_called_function_with_too_many_names_may_change_its_arguments(judge_codemod, names, state):
    many = "".join(f"    x{i} = {i}\n" for i in range(names))
    source = f"def done(a): ...\ndef long(a):\n{many}\ndef f(a, b):\n    x = a + 1\n    long(x)\n    done(x)\n"
    codemod = REPLACE.replace('goal("done", "done()"', 'goal("done", "done(a + 1)"')
    assert judge_codemod(codemod, source).state.value == state


ENDLESS = """
import libcst as cst
from patchtool.semantic import SemanticPatch, goal, transform
class Change(cst.CSTTransformer):
    def leave_Call(self, one, two):
        return self.leave_Call(one, two)
class P(SemanticPatch):
    scope = "f"
    edit = transform(Change, anchor="old()")
    goals = (goal("done", "done()"),)
"""


@pytest.mark.slow
def test_endless_recursion_of_a_codemod_is_told(judge_codemod):
    judgement = judge_codemod(ENDLESS, FUNCTION.format("pass"))
    assert (judgement.state.value, judgement.reason) == ("crashed", "codemod-raised")
    assert "RecursionError" in judgement.detail
    assert "leave_Call" in judgement.trace


@pytest.mark.slow
def test_recursion_limit_and_stack_size_are_restored():
    before = sys.getrecursionlimit(), threading.stack_size()

    def depth(levels: int) -> int:
        return 0 if levels == 0 else 1 + depth(levels - 1)

    assert with_stack_for_depth(lambda: depth(20_000)) == 20_000
    with pytest.raises(RecursionError):
        with_stack_for_depth(lambda: depth(10**9))
    assert (sys.getrecursionlimit(), threading.stack_size()) == before

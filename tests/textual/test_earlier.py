"""What is left of a change that an earlier release had."""

import pytest

from patchtool.domain.patch import Judgement, PatchInfo
from patchtool.domain.state import State
from patchtool.domain.text_patch import FileChange, TextChange, known_source
from patchtool.textual.earlier import developed_further
from patchtool.textual.kind import TextKind
from tests.semantic.trees import MemoryTree

BASE = "def f(a):\n    x = one(a)\n    old_check(x)\n    return x\n\n\ndef g(a):\n    return a\n"
PATCHED = BASE.replace("old_check(x)", "check_limit(x, limit=table)\n    report(x, level=3)")
LANDED = PATCHED + "\n\ndef h():\n    return 1\n"
CASES = {
    "as it was": (LANDED, True),
    "in another layout": (LANDED.replace("(x, limit=table)", "(\n        x,\n        limit=table,\n    )"), True),
    "with other arguments": (LANDED.replace("limit=table", "limit=table_of(a)"), True),
    "in another order": (LANDED.replace("    x = one(a)\n", "").replace("    return x\n", "    x = 1\n"), True),
    "taken back": (BASE + "\n\ndef h():\n    return 1\n", False),
    "one half in two forms, the other taken back": (
        LANDED.replace("limit=table)", "limit=1)").replace("report(x, level=3)", "check_limit(x, limit=2)"),
        False,
    ),
    "one half taken back": (LANDED.replace("    report(x, level=3)\n", ""), False),
    "what it takes out came back beside it": (LANDED.replace("    report", "    old_check(x)\n    report"), False),
    "something like it in another function only": (
        LANDED.replace("    check_limit(x, limit=table)\n", "").replace("    return a", "    check_limit(a, limit=1)"),
        False,
    ),
    "rewritten": ("def f(a):\n    return Steps(a).run()\n", False),
    "no Python any more": (LANDED + "def (:\n", False),
    "gone": (None, False),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_change_is_still_there_where_all_of_it_is_in_some_form(case: tuple[str | None, bool]) -> None:
    change = FileChange("m.py", BASE.encode(), PATCHED.encode())
    target = None if case[0] is None else case[0].encode()
    assert developed_further(change, LANDED.encode(), target) is case[1]


def test_only_python_tells_it() -> None:
    change = FileChange("m.c", b"a;\n", b"b;\n")
    assert not developed_further(change, b"b;\nc;\n", b"b;\n")


TWO = BASE.replace("    return a\n", "    return shorten(a, limit=3)\n")
STACK = TWO.replace("    old_check(x)", "    check_limit(x, limit=table)\n    report(x, level=3)")


def judged(target: str, *between: str) -> Judgement:
    trees = [(f"v{number}", MemoryTree({"m.py": text.encode()})) for number, text in enumerate(between, 1)]
    change = TextChange((FileChange("m.py", BASE.encode(), STACK.encode()),))
    info = PatchInfo(
        "x", "x", "", "A <a@b.c>", (), source_file="x.patch", text=known_source("", change, (), None, trees)
    )
    return TextKind().judge(info, MemoryTree({"m.py": target.encode()}), None)


def test_what_is_written_of_a_part_is_nothing_that_upstream_took_back() -> None:
    target = TWO + "\n\nZ = 1\n"
    assert (judged(target).state, judged(target).reason) == (State.DRIFTED, "partly-landed")
    assert judged(target, BASE + "\n\nX = 1\n").state is State.DRIFTED, "no release had the rest"
    taken_back = judged(target, STACK + "\n\nX = 1\n")
    assert (taken_back.state, taken_back.reason, dict(taken_back.contents)) == (State.CONFLICT, "taken-back", {})
    assert taken_back.detail == "v1 has all of it; upstream took a part of it back since, in this tree"
    assert taken_back.searched_tree

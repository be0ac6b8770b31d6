"""Code that a patch adds keeps its neighbours; where upstream parted them, that is a conflict and no guess."""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

import ast
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchtool.domain.text_patch import CarriedFile, CarryOutcome, FileChange
from patchtool.textual.carry import carry_file

F = """\
def f(a, b):
    total = compute_total(a, b)
    logger.info("total %s", total)
    send_message(total)
    return total
"""
NEW = "    total = clamp_total(total, a, b)\n"
BEFORE_LOG, BEFORE_SEND, BEFORE_RETURN = (
    F.replace(f"    {word}", f"{NEW}    {word}") for word in ("logger", "send", "return")
)
IF = """\
def f(a):
    if a:
        one()
    else:
        two()
    finish()
"""
NOT = IF.replace("if a:", "if not a:")
SWAPPED = NOT.replace("one()", "three()").replace("two()", "one()").replace("three()", "two()")
C = "a();\nfoo_bar();\nb();\nc();\n"
BODY = "    alpha()\n    beta()\n    gamma()\n"
TWINS = f"def f():\n{BODY}\n\ndef g():\n{BODY}"
LIKE_C = TWINS.replace("def ", "int ")
VARIABLES = "def f(x):\n    one = load(x)\n    two = load2(x)\n    return combine(one, two)\n"
EXTRA = "    extra = make_extra(one, two)\n    store_extra(extra)\n"


class Case(NamedTuple):
    base: str
    patched: str
    target: str
    reason: str
    path: str = "m.py"


DOUBTS = {
    "added on the other side of a neighbour": Case(F, BEFORE_LOG, BEFORE_SEND, "order"),
    "added under a condition": Case(
        F, BEFORE_LOG, F.replace("    logger", f"    if a:\n    {NEW}    logger"), "nesting"
    ),
    "added behind a return": Case(
        F, BEFORE_LOG, F.replace("    logger", f"    return total\n{NEW}    logger"), "unreachable"
    ),
    "added and overwritten": Case(
        F, BEFORE_LOG, F.replace("    logger", f"{NEW}    total = compute_total(a, b)\n    logger"), "overwritten"
    ),
    "neighbours in another order": Case(
        F,
        BEFORE_SEND,
        F.replace(
            '    logger.info("total %s", total)\n    send_message(total)\n',
            '    send_message(total)\n    logger.info("total %s", total)\n',
        ),
        "order",
    ),
    "a neighbour under a condition": Case(
        F, BEFORE_RETURN, F.replace("    send", "    if a:\n        send"), "nesting"
    ),
    "into a block that upstream leaves before": Case(
        F, BEFORE_RETURN, F.replace("    send", "    return total\n    send"), "unreachable"
    ),
    "a block that was swapped with its alternative": Case(
        IF, IF.replace("one()\n", "one()\n        extra()\n"), SWAPPED, "nesting"
    ),
    "a condition whose blocks upstream swapped": Case(IF, NOT, SWAPPED, "nesting"),
    "taken out, and moved upstream": Case(
        F,
        F.replace("    send_message(total)\n", ""),
        F.replace("    send_message(total)\n", "").replace("    logger", "    send_message(total)\n    logger"),
        "both-changed",
    ),
    "taken out, and moved behind its neighbours": Case(
        IF,
        IF.replace("    finish()\n", ""),
        "def f(a):\n    finish()\n" + IF.partition("\n")[2].replace("    finish()\n", ""),
        "still-there",
    ),
    "a local name that upstream took": Case(
        F,
        F.replace("    logger", "    n = len(a)\n    logger"),
        F.replace("a, b):", "a, b, n):").replace("return total", "return total, n"),
        "name-taken",
    ),
    "a global name that upstream hides": Case(
        F, F.replace("return total", "return json.dumps(total)"), F.replace("a, b):", "a, b, json=None):"), "name-taken"
    ),
    "lines that are taken out, and moved": Case(
        C, C.replace("foo_bar();\n", ""), "a();\nb();\nc();\nfoo_bar();\n", "both-changed", "m.c"
    ),
    "into a definition whose body upstream moved away": Case(
        f"def f():\n{BODY}",
        f"def f():\n{BODY}".replace("    beta", "    new()\n    beta"),
        f"def f():\n    k()\n\n\ndef k():\n{BODY}",
        "gone",
    ),
    "into one of two equal bodies that changed places": Case(
        "int f() {\na();\nb();\nc();\n}\n\nint g() {\na();\nb();\nc();\n}\n",
        "int f() {\na();\nnew_one();\nb();\nc();\n}\n\nint g() {\na();\nb();\nc();\n}\n",
        "int g() {\na();\nb();\nc();\n}\n\nint f() {\na();\nb();\nc();\n}\n",
        "both-changed",
        "m.c",
    ),
    "landed in another of two equal bodies": Case(
        LIKE_C,
        LIKE_C.replace("    beta", "    new_one()\n    beta", 1),
        "    new_one()\n    beta".join(LIKE_C.rsplit("    beta", 1)),
        "both-changed",
        "m.c",
    ),
    "added under a condition, with other names": Case(
        VARIABLES,
        VARIABLES.replace("    return", f"{EXTRA}    return"),
        VARIABLES.replace(
            "    return", "    if x:\n" + EXTRA.replace("extra", "more").replace("    ", " " * 8) + "    return"
        )
        .replace("make_more", "make_extra")
        .replace("store_more", "store_extra"),
        "both-inserted",
    ),
    "an operand of an expression that upstream turned round": Case(
        "x = a if c else b\n", "x = a if c and d else b\n", "x = b if not c else a\n", "both-changed"
    ),
    "a condition that both change": Case(
        "if x:\n    go()\n", "if x and y:\n    go()\n", "if not x:\n    go()\n", "both-changed"
    ),
}


def carried(case: Case) -> CarriedFile:
    return carry_file(FileChange(case.path, case.base.encode(), case.patched.encode()), case.target.encode())


@pytest.mark.parametrize("case", DOUBTS.values(), ids=DOUBTS)
def test_what_upstream_parted_is_a_conflict(case):
    found = carried(case)
    assert (found.outcome, found.reason) == (CarryOutcome.CONFLICT, case.reason), found
    assert found.data == case.target.encode()


SAME = {
    "landed, and the rest moved on": (F, BEFORE_LOG, BEFORE_LOG.replace("return total", "return int(total)")),
    "landed, and all of it under a condition": (
        F,
        BEFORE_LOG,
        "def f(a, b):\n    if a:\n" + "".join(f"    {line}\n" for line in BEFORE_LOG.splitlines()[1:]),
    ),
    "with other names for new variables": (
        VARIABLES,
        VARIABLES.replace("    return", f"{EXTRA}    return"),
        VARIABLES.replace("    return", "    more = make_extra(one, two)\n    store_extra(more)\n    return"),
    ),
    "taken out there too": (
        F,
        F.replace("    send_message(total)\n", ""),
        F.replace("    send_message(total)\n", "").replace("a, b):", "a, b, c=1):"),
    ),
}


@pytest.mark.parametrize(("base", "patched", "target"), SAME.values(), ids=SAME)
def test_what_has_its_neighbours_has_landed(base, patched, target):
    assert carried(Case(base, patched, target, "")).outcome is CarryOutcome.LANDED


def test_a_definition_of_another_name_is_not_changed_for_one_that_is_gone():
    case = Case(TWINS, TWINS.replace("    beta", "    new()\n    beta", 1), TWINS.partition("\n\n\n")[2], "")
    assert carried(case).data == case.target.encode()
    renamed = case._replace(target=case.target + "\n\n" + TWINS.partition("\n\n\n")[0].replace("f()", "h()"))
    assert carried(renamed).data == renamed.target.encode()


APART = {
    "a wrapped part that upstream changed inside": (
        "q = q.f(a=1).o()\n",
        "q = q.f(a=1).g(b=2).o()\n",
        "q = q.x(a=1).o()\n",
        "q = q.x(a=1).g(b=2).o()\n",
    ),
    "inside of what upstream wrapped": (
        "if h(1):\n    go()\n",
        "if h(2):\n    go()\n",
        "if not h(1):\n    go()\n",
        "if not h(2):\n    go()\n",
    ),
    "other arguments": ("f(a, 1)\n", "f(a, 2)\n", "f(c, a, 1)\n", "f(c, a, 2)\n"),
}


@pytest.mark.parametrize(("base", "patched", "target", "result"), APART.values(), ids=APART)
def test_changes_of_different_parts_of_an_expression_are_merged(base, patched, target, result):
    found = carried(Case(base, patched, target, ""))
    assert (found.outcome, found.data) == (CarryOutcome.STRUCTURAL, result.encode()), found


@st.composite
def moved_statements(draw):
    """A function of distinct calls, with one more in the patched version, as upstream rearranged and nested them."""
    names = [f"call_{letter}()" for letter in "abcdef"[: draw(st.integers(2, 6))]]
    at = draw(st.integers(0, len(names)))
    theirs = draw(st.permutations(names)) if draw(st.booleans()) else list(names)
    lines = [f"    {name}\n" for name in theirs]
    if draw(st.booleans()):
        first = draw(st.integers(0, len(lines) - 1))
        last = draw(st.integers(first + 1, len(lines)))
        lines[first:last] = ["    if condition:\n", *(f"    {line}" for line in lines[first:last])]
    base = "".join(["def f():\n", *(f"    {name}\n" for name in names)])
    patched = "".join(["def f():\n", *(f"    {name}\n" for name in [*names[:at], "call_new()", *names[at:]])])
    return names, at, base, patched, "".join(["def f():\n", *lines])


@settings(max_examples=150, deadline=None)
@given(moved_statements())
def test_an_added_call_stays_between_its_neighbours(case):
    names, at, base, patched, target = case
    found = carried(Case(base, patched, target, ""))
    if found.outcome is CarryOutcome.CONFLICT:
        assert found.reason
        return
    assert found.data is not None
    spots: dict[str, tuple[int, int]] = {}
    for block in (node.body for node in ast.walk(ast.parse(found.data)) if isinstance(node, (ast.FunctionDef, ast.If))):
        spots |= {ast.unparse(line): (id(block), number) for number, line in enumerate(block)}
    before, after = names[:at][-1:], names[at:][:1]
    assert all(spots[name] < spots["call_new()"] and spots[name][0] == spots["call_new()"][0] for name in before)
    assert all(spots[name] > spots["call_new()"] and spots[name][0] == spots["call_new()"][0] for name in after)

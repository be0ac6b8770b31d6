"""Aligning two sequences: exact for code, and of bounded cost whatever the lines are."""

from __future__ import annotations

import random
from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchtool.adapters.git.text_changes import hunks_of
from patchtool.domain.alignment import _runs_around, aligned
from patchtool.domain.draft import FileChange

MANY = 10_000
EQUAL = [b"    x = 1"] * MANY
CASES = {
    "equal-lines": ([b"a", *EQUAL], [b"b", *EQUAL]),
    "equal-lines-around": ([*EQUAL, b"a", *EQUAL], [*EQUAL, b"b", *EQUAL]),
    "two-kinds": ([b"a", *[b"x", b"y"] * MANY], [b"b", *[b"x", b"y"] * MANY]),
    "hundred-kinds": ([b"a", *[b"%d" % (n % 99) for n in range(MANY)]], [b"%d" % (n % 99) for n in range(MANY)]),
    "two-hundred-kinds": (
        [b"%d" % (n * 7 % 211) for n in range(4 * MANY)],
        [b"%d" % (n * 5 % 211) for n in range(4 * MANY)],
    ),
    "noise": (
        [b"%d" % random.Random(1).getrandbits(1) for _ in range(MANY)],
        [b"%d" % random.Random(2).getrandbits(1) for _ in range(MANY)],
    ),
    "each-second-line-differs": (
        [b"%d" % n for n in range(2 * MANY)],
        [b"%d" % n if n % 2 else b"new %d" % n for n in range(2 * MANY)],
    ),
    "each-third-line-differs-beside-equal-ones": (
        [b"" if n % 3 else b"%d" % n for n in range(MANY)],
        [b"" if n % 3 else b"%d" % n if n % 2 else b"new %d" % n for n in range(MANY)],
    ),
    "reversed": ([b"%d" % n for n in range(MANY)], [b"%d" % n for n in reversed(range(MANY))]),
}


class _Counted(bytes):
    """A line that counts how often it is compared or hashed."""

    uses = 0

    def __eq__(self, other: object) -> bool:
        _Counted.uses += 1
        return bytes.__eq__(self, other)

    def __hash__(self) -> int:
        _Counted.uses += 1
        return bytes.__hash__(self)


@pytest.mark.parametrize("name", CASES)
def test_alignment_is_valid_and_of_bounded_cost(name: str) -> None:
    old, new = ([_Counted(line) for line in side] for side in CASES[name])
    _Counted.uses = 0
    opcodes = aligned(old, new).get_opcodes()
    assert _Counted.uses < 60 * (len(old) + len(new))
    assert [line for tag, i, j, _, _ in opcodes if tag == "equal" for line in old[i:j]] == [
        line for tag, _, _, k, m in opcodes if tag == "equal" for line in new[k:m]
    ]
    assert (opcodes[-1][2], opcodes[-1][4]) == (len(old), len(new))


def test_lines_between_which_each_second_one_differs_are_all_found() -> None:
    old, new = CASES["each-second-line-differs"]
    assert aligned(old, new).ratio() == 0.5


@given(st.lists(st.integers(0, 9)), st.lists(st.integers(0, 9)))
def test_runs_around_elements_that_are_there_once_are_an_alignment(old: list[int], new: list[int]) -> None:
    once = {element for element in old if old.count(element) == new.count(element) == 1}
    *runs, end = _runs_around(once, old, new)
    assert end == (len(old), len(new), 0)
    for (a, b, size), following in zip(runs, [*runs[1:], end]):
        assert old[a : a + size] == new[b : b + size] != []
        assert a + size <= following.a
        assert b + size <= following.b
    assert not once or runs


def test_code_is_aligned_exactly() -> None:
    old = [f"line {n}" if n % 5 else "" for n in range(4000)]
    new = [*old[:1000], "added", *old[1000:3000], *old[3010:]]
    assert aligned(old, new).get_opcodes() == SequenceMatcher(None, old, new, autojunk=False).get_opcodes()


def test_hunks_of_a_file_of_equal_lines() -> None:
    lines = b"    x = 1\n" * MANY
    assert hunks_of(FileChange("x", lines + b"a\n", lines + b"b\n"))[0][0] == MANY + 1

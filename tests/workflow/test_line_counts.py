"""Counting added and removed lines."""

from __future__ import annotations

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from patchtool.workflow.line_counts import line_counts

LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"\n"]), max_size=12)


def common(one: list[bytes], other: list[bytes]) -> int:
    """The length of the longest common subsequence, from its definition."""

    @cache
    def longest(i: int, j: int) -> int:
        if i == len(one) or j == len(other):
            return 0
        return longest(i + 1, j + 1) + 1 if one[i] == other[j] else max(longest(i + 1, j), longest(i, j + 1))

    return longest(0, 0)


@given(LINES, LINES)
def test_counts_are_those_of_the_shortest_edit_script(before: list[bytes], after: list[bytes]) -> None:
    kept = common(before, after)
    assert line_counts(before, after) == (len(after) - kept, len(before) - kept)


def test_lines_are_compared_a_few_times_in_a_long_file_of_equal_lines() -> None:
    comparisons = 0

    class Line(bytes):
        def __eq__(self, other: object) -> bool:
            nonlocal comparisons
            comparisons += 1
            return bytes.__eq__(self, other)

        __hash__ = bytes.__hash__

    old = [Line(b"same\n")] * 100_000
    new = [b"new\n", *old[:50_000], b"new\n", *old[50_002:], b"new\n"]
    assert line_counts(old, new) == (3, 2)
    assert comparisons < 10 * len(old)


def test_a_file_with_other_lines_everywhere_is_counted() -> None:
    old = [b"%d\n" % n for n in range(5_000)]
    assert line_counts(old, [line + b"\r" for line in old]) == (5_000, 5_000)
    assert line_counts(old, [*old[2_500:], *old[:2_500]]) == (0, 0)

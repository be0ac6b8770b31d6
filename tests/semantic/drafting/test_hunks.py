"""Which differences between two blocks belong together."""

from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st

from patchtool.domain.alignment import aligned
from patchtool.semantic.drafting.hunks import Span, _with_moves_merged, hunks

BLOCKS = st.lists(st.integers(0, 12), max_size=25)
MANY = 4000


def merged_by_comparing_all(old: list[int], new: list[int], changes: list[Span]) -> list[Span]:
    """The same by definition: a difference joins the first one that shares a statement of the other side."""
    merged: list[Span] = []
    for i, j, k, m in changes:
        at = [n for n, (a, b, c, d) in enumerate(merged) if {*old[a:b]} & {*new[k:m]} or {*old[i:j]} & {*new[c:d]}]
        if at:
            merged[at[0] :] = [(merged[at[0]][0], j, merged[at[0]][2], m)]
        else:
            merged.append((i, j, k, m))
    return merged


@given(BLOCKS, BLOCKS)
def test_differences_between_which_a_statement_moves_are_one(old: list[int], new: list[int]) -> None:
    changes = [(i, j, k, m) for tag, i, j, k, m in aligned(old, new).get_opcodes() if tag != "equal"]
    assert _with_moves_merged(old, new, changes) == merged_by_comparing_all(old, new, changes)


def test_a_file_in_which_each_second_statement_differs_has_a_hunk_for_each() -> None:
    before = "".join(f"x{n} = f({n})\n" for n in range(MANY))
    after = "".join(f"x{n} = {'f' if n % 2 else 'g'}({n})\n" for n in range(MANY))
    assert len(hunks(ast.parse(before), ast.parse(after))) == MANY // 2

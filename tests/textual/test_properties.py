"""What holds of every patch: on its own base, there and back, and when upstream took it."""

import random

import black
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from patchtool.domain.text_patch import CarriedFile, CarryOutcome, FileChange
from patchtool.textual.carry import carry_file
from tests.textual.changes import FILES, annotated, changed_lines, edited, with_one_token_changed, with_variable_renamed

few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
files = st.sampled_from([path.read_text(encoding="utf-8") for path in FILES])
seeds = st.integers(0, 2**32)


def carry(base: str, patched: str, target: str) -> CarriedFile:
    return carry_file(FileChange("module.py", base.encode(), patched.encode()), target.encode())


@few
@given(files, seeds)
def test_on_its_own_base_a_patch_is_carried_byte_for_byte(source: str, seed: int) -> None:
    patched, _ = edited(source, random.Random(seed))
    carried = carry(source, patched, source)
    assert (carried.outcome, carried.data) == (CarryOutcome.EXACT, patched.encode())


@few
@given(files, seeds)
def test_there_and_back_is_the_same_diff(source: str, seed: int) -> None:
    rng = random.Random(seed)
    patched, _ = edited(source, rng)
    target, _ = edited(source, rng)
    there = carry(source, patched, target)
    assume(there.outcome.changes_file)
    assert there.data is not None
    back = carry(target, there.data.decode(), source)
    assert back.data == patched.encode()


@few
@given(files, seeds)
def test_a_carried_patch_adds_its_lines_once_and_loses_none(source: str, seed: int) -> None:
    rng = random.Random(seed)
    patched, _ = edited(source, rng)
    target, _ = edited(source, rng)
    there = carry(source, patched, target)
    assume(there.outcome.changes_file)
    assert there.data is not None
    lines = sorted(there.data.decode().split("\n"))
    added = [line for line in patched.split("\n") if line not in source.split("\n")]
    assert lines == sorted([*target.split("\n"), *added])


@few
@given(files, seeds, st.sampled_from(["verbatim", "black", "narrow", "variable", "annotated"]))
def test_what_upstream_took_is_landed_and_not_with_one_other_token(source: str, seed: int, form: str) -> None:
    rng = random.Random(seed)
    patched, function = edited(source, rng)
    taken, _ = edited(patched, rng, apart_from=function)
    if form in {"black", "narrow"}:
        taken = black.format_str(taken, mode=black.Mode(line_length=88 if form == "black" else 40))
    elif form == "variable":
        renamed = with_variable_renamed(taken, function, rng)
        assume(renamed is not None)
        taken = renamed or ""
    elif form == "annotated":
        taken = annotated(taken, function, rng)
    carried = carry(source, patched, taken)
    assert carried.outcome is CarryOutcome.LANDED, (carried.reason, carried.detail, carried.hunks)
    assert carried.data == taken.encode()
    assert all(hunk.line for hunk in carried.hunks)
    if form in {"verbatim", "variable"}:
        added = changed_lines(source, patched)
        first = patched.split("\n")[added.start - 1 : added.stop - 1]
        at = [n for n, line in enumerate(taken.split("\n"), 1) if line in first and "_" in line]
        other = with_one_token_changed(taken, range(min(at), max(at) + 1), rng) if at else None
        assume(other is not None)
        assert carry(source, patched, other or "").outcome is not CarryOutcome.LANDED


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_file_in_another_layout_has_landed_nothing(path: object) -> None:
    source = FILES[0].read_text(encoding="utf-8")
    patched, _ = edited(source, random.Random(7))
    assert carry(source, patched, black.format_str(source, mode=black.Mode())).outcome is not CarryOutcome.LANDED

"""A stack that upstream took is there in its last form only."""

import random

import black
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from patchtool.domain.text_patch import CarryOutcome, FileChange, LaterChange
from patchtool.textual.carry import carry_file
from patchtool.textual.later import landed_with_later
from tests.textual.changes import FILES, changed_lines, edited, with_one_token_changed

few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
files = st.sampled_from([path.read_text(encoding="utf-8") for path in FILES])
seeds = st.integers(0, 2**32)


def change(before: str, after: str) -> FileChange:
    return FileChange("module.py", before.encode(), after.encode())


def stack(source: str, seed: int) -> tuple[str, str, str]:
    """A patch, an unrelated one, and one that changes again what the first adds: the file after each."""
    rng = random.Random(seed)
    first, function = edited(source, rng)
    second, _ = edited(first, rng, apart_from=function)
    added = [line for line in first.split("\n") if line not in source.split("\n")]
    at = [number for number, line in enumerate(second.split("\n"), 1) if line in added]
    third = with_one_token_changed(second, range(at[0], at[-1] + 1), rng)
    assume(third is not None)
    return first, second, third or ""


@few
@given(files, seeds)
def test_a_patch_that_a_later_one_changes_has_landed_with_it(source: str, seed: int) -> None:
    first, second, third = stack(source, seed)
    later = [LaterChange("unrelated", change(first, second)), LaterChange("again", change(second, third))]
    landed = landed_with_later(change(source, first), later, black.format_str(third, mode=black.Mode()).encode())
    assert landed is not None
    assert landed.outcome is CarryOutcome.LANDED
    assert "as again leaves it" in landed.detail


@few
@given(files, seeds)
def test_a_stack_of_which_one_token_differs_has_not_landed(source: str, seed: int) -> None:
    first, second, third = stack(source, seed)
    later = [LaterChange("unrelated", change(first, second)), LaterChange("again", change(second, third))]
    other = with_one_token_changed(third, changed_lines(second, third), random.Random(seed + 1))
    assume(other is not None and other not in (second, third))
    assert landed_with_later(change(source, first), later, (other or "").encode()) is None


@few
@given(files, seeds)
def test_a_later_patch_that_has_landed_says_nothing_of_one_that_it_leaves_alone(source: str, seed: int) -> None:
    rng = random.Random(seed)
    first, function = edited(source, rng)
    second, _ = edited(first, rng, apart_from=function)
    target = carry_file(change(first, second), source.encode())
    assume(target.data is not None and target.outcome.changes_file)
    assert landed_with_later(change(source, first), [LaterChange("other", change(first, second))], target.data) is None


def test_a_patch_that_a_later_one_takes_out_again_has_not_landed() -> None:
    later = [LaterChange("revert", change("a\nb\n", "a\n"))]
    assert landed_with_later(change("a\n", "a\nb\n"), later, b"a\n") is None

"""Random mutants: an unrelated change is kept byte for byte, and a changed fix is never taken for the fix.

A few run with the other tests; ``make fuzz`` runs 10,000.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from patchtool.domain.state import State
from tests.fuzz.behaviour import behaviour
from tests.fuzz.campaign import FIXES, LISTED, MUTANTS, RELEASES, SEED, Base, campaign, merged
from tests.fuzz.mutations import Fix
from tests.semantic.patches.upstream import Upstream

pytestmark = [pytest.mark.slow, pytest.mark.emulated]
Wheel = Callable[..., Path]


def test_random_mutants_are_judged_right(wheel: Wheel, capsys: pytest.CaptureFixture[str]) -> None:
    tally = campaign({release: Upstream(wheel(release)) for release in RELEASES}, MUTANTS, SEED)
    with capsys.disabled():
        print(f"\n{sum(tally.counts.values())} mutants, seed {SEED}: {dict(tally.counts)}")  # noqa: T201
    assert sum(tally.counts.values()) == MUTANTS
    assert tally.counts["right"] > MUTANTS // 2
    unlisted = [finding for finding in tally.findings if finding.key not in LISTED]
    assert not unlisted, "\n\n".join(map(str, unlisted))


@pytest.mark.parametrize("fix", FIXES, ids=lambda fix: fix.patch)
def test_behaviour_tells_the_fixed_code_from_the_code_before(wheel: Wheel, fix: Fix) -> None:
    upstream = Upstream(wheel("0.5.13"))
    before, after = (Base(fix, upstream, "0.5.13", fixed=fixed) for fixed in (False, True))
    assert behaviour(fix.patch, before.text) != behaviour(fix.patch, after.text)
    assert not any(each.isidentifier() for each in behaviour(fix.patch, after.text)), "the fixed code raises"
    landed = Base(fix, Upstream(wheel("0.5.15")), "0.5.15", fixed=True)
    assert landed.upstream.judge(fix.patch, landed.text.encode()).state is State.LANDED


@pytest.mark.parametrize("fix", FIXES, ids=lambda fix: fix.patch)
def test_most_changes_of_a_fix_change_what_it_does(wheel: Wheel, fix: Fix) -> None:
    base = Base(fix, Upstream(wheel("0.5.15")), "0.5.15", fixed=True)
    choice = random.Random(0)
    made = [mutant for mutant in (base.mutator.inside(choice) for _ in range(40)) if mutant is not None]
    broken = [mutant for mutant in made if behaviour(fix.patch, mutant.text) != behaviour(fix.patch, base.text)]
    assert len(made) > 10
    assert len(broken) > len(made) // 3


def test_merge_keeps_both_changes_or_says_that_they_touch() -> None:
    base = "".join(f"{number}\n" for number in range(9))
    assert merged(base.replace("1\n", "one\n"), base, base.replace("7\n", "seven\n")) == base.replace(
        "1\n", "one\n"
    ).replace("7\n", "seven\n")
    assert merged(base.replace("4\n", "four\n"), base, base.replace("4\n", "vier\n")) is None

"""Cells for proofs, ablations and chosen subsets of the series, each with its expected outcome."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

from patchtool.domain.state import State
from patchtool.matrix.cell import Cell, Colour, Subsystem, Tier

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from patchtool.domain.release import Release
    from patchtool.matrix.cell import Test
    from patchtool.matrix.planning.matrix_file import KnownRed

_MOST_LEFT_OUT = 2


@dataclass(frozen=True)
class SeriesStates:
    """The structural states of the series on one release.

    Args:
        release: The release.
        states: State of every patch, in series order.
        requires: What each patch needs applied or landed first.
    """

    release: Release
    states: Mapping[str, State]
    requires: Mapping[str, tuple[str, ...]]

    @property
    def applied(self) -> tuple[str, ...]:
        """Patches that change the tree."""
        return tuple(name for name, state in self.states.items() if state.changes_tree)

    def with_required(self, name: str) -> tuple[str, ...]:
        """Return a patch and all that it requires, of those that change the tree, in series order."""
        wanted = {name}
        while more := {need for each in wanted for need in self.requires.get(each, ())} - wanted:
            wanted |= more
        return self.applied_of(wanted)

    def applied_of(self, subset: Iterable[str]) -> tuple[str, ...]:
        """Return the patches of a subset that change the tree; landed ones need no change."""
        chosen = set(subset)
        return tuple(name for name in self.applied if name in chosen)

    def unavailable(self, subset: Iterable[str]) -> tuple[str, ...]:
        """Return the patches of a subset that are neither applied nor landed: the release cannot have such a tree."""
        states = {name: self.states.get(name, State.ABSENT) for name in subset}
        return tuple(name for name, state in states.items() if not state.changes_tree and state is not State.LANDED)

    def is_closed(self, subset: Iterable[str]) -> bool:
        """Report whether a subset contains everything that its members require."""
        chosen = set(subset)
        return all(set(self.with_required(name)) <= chosen for name in chosen)


def proof_cells(
    series: SeriesStates, tests: Sequence[Test], tier: Tier = Tier.EMULATED, known_red: Sequence[KnownRed] = ()
) -> tuple[Cell, ...]:
    """Make the cells that prove every patch on one release.

    All tests run on the pristine tree; the tests of each applied patch run on it alone, with what it requires; all
    tests run on the whole series.

    Args:
        series: The structural states.
        tests: Tests of all patches and of the suite.
        tier: What to run on.
        known_red: Tests that upstream makes red.
    """
    wanted: dict[tuple[tuple[str, ...], Test], None] = {((), test): None for test in tests}
    for name in series.applied:
        subset = series.with_required(name)
        wanted |= {(subset, test): None for test in tests if test.owner == name}
    if series.applied:
        wanted |= {(series.applied, test): None for test in tests}
    return tuple(_cell(series, subset, test, tier, known_red) for subset, test in wanted if tier in test.tiers)


def ablation_cells(
    series: SeriesStates, tests: Sequence[Test], tier: Tier = Tier.EMULATED, known_red: Sequence[KnownRed] = ()
) -> tuple[Cell, ...]:
    """Make cells for every test on subsets of the applied patches that contain what their members require.

    Up to four patches these are all subsets; of more, all that leave out at most two or apply at most one: every two
    patches meet, and their number grows with the square.

    A test that drives the scheduler takes seconds to start. It runs only on the patches it needs, and on those without
    one of them. The tests of a patch that is not applied here, because it has landed or is absent, have the same colour
    on every subset: that they run on none and on all of the series is up to ``proof_cells``.
    """
    applied = series.applied
    tests = [test for test in tests if not test.owner or test.owner in applied]
    sizes = [size for size in range(len(applied) + 1) if size <= 1 or len(applied) - size <= _MOST_LEFT_OUT]
    subsets = [subset for size in sizes for subset in combinations(applied, size)]
    quick = [test for test in tests if test.drives is Subsystem.BACKENDS]
    cells = subset_cells(series, filter(series.is_closed, subsets), quick, tier, known_red)
    for test in (test for test in tests if test.drives is not Subsystem.BACKENDS):
        needs = tuple(name for name in applied if name in test.needs)
        lacking = filter(series.is_closed, (needs, *combinations(needs, max(0, len(needs) - 1))))
        cells += subset_cells(series, lacking, [test], tier, known_red)
    return cells


def subset_cells(
    series: SeriesStates,
    subsets: Iterable[Sequence[str]],
    tests: Sequence[Test],
    tier: Tier = Tier.EMULATED,
    known_red: Sequence[KnownRed] = (),
) -> tuple[Cell, ...]:
    """Make cells for every test on every one of these subsets that the release can have, each tree once."""
    trees = dict.fromkeys(series.applied_of(subset) for subset in subsets if not series.unavailable(subset))
    return tuple(
        _cell(series, subset, test, tier, known_red) for subset in trees for test in tests if tier in test.tiers
    )


def _cell(series: SeriesStates, subset: tuple[str, ...], test: Test, tier: Tier, known_red: Sequence[KnownRed]) -> Cell:
    # a release that is older than the code of a patch does not have what the patch cures
    needs = tuple(name for name in test.needs if series.states.get(name) is not State.ABSENT)
    test = replace(test, needs=needs)
    for red in known_red:
        if red.covers(series.release, test.name):
            return Cell(series.release, subset, tier, test, Colour.RED, red.reason)
    return Cell(series.release, subset, tier, test, expected_colour(series, subset, test))


def expected_colour(series: SeriesStates, subset: Sequence[str], test: Test) -> Colour | None:
    """Predict a test: green when each patch it needs is applied or landed, red when one is left out.

    Args:
        series: The structural states.
        subset: Patches that are applied.
        test: The test.

    Returns:
        None when a patch it needs cannot be applied on this release: in conflict, crashed.
    """
    missing = [name for name in test.needs if name not in subset and series.states.get(name) is not State.LANDED]
    if not missing:
        return Colour.GREEN
    known = all(series.states.get(name, State.ABSENT).changes_tree for name in missing)
    return Colour.RED if known else None

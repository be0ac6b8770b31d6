"""Which cells a question needs, and what each of them must show."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from patchtool.domain.state import State
from patchtool.matrix.cell import Cell, Colour, Subsystem, Tier

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from patchtool.domain.release import Release
    from patchtool.matrix.cell import Test


@dataclass(frozen=True)
class KnownRed:
    """A cell that upstream itself makes red, outside the series.

    Args:
        release: The release, without ``v``.
        test: The test's name.
        reason: What is wrong upstream.
    """

    release: str
    test: str
    reason: str


@dataclass(frozen=True)
class SeriesStates:
    """The series as it stands structurally on one release.

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
        """A patch and what it requires, as far as those change the tree, in series order."""
        wanted = {name}
        while more := {need for each in wanted for need in self.requires.get(each, ())} - wanted:
            wanted |= more
        return tuple(each for each in self.applied if each in wanted)

    def standing(self, subset: Iterable[str]) -> tuple[str, ...]:
        """Those of a subset that change this release's tree; what upstream has needs no patch."""
        chosen = set(subset)
        return tuple(name for name in self.applied if name in chosen)

    def unmade(self, subset: Iterable[str]) -> tuple[str, ...]:
        """Those of a subset that this release neither takes nor has: with one of them there is no such tree."""
        return tuple(
            name
            for name in subset
            if not (state := self.states.get(name, State.ABSENT)).changes_tree and state is not State.LANDED
        )

    def closed(self, subset: Iterable[str]) -> bool:
        """Whether a subset holds everything its members require."""
        chosen = set(subset)
        return all(set(self.with_required(name)) <= chosen for name in chosen)


def proof_cells(
    series: SeriesStates, tests: Sequence[Test], tier: Tier = Tier.EMULATED, known: Sequence[KnownRed] = ()
) -> tuple[Cell, ...]:
    """Cells that prove every patch on one release.

    Pristine runs everything; each applied patch runs its own tests alone with what it requires; the whole series runs
    everything again.

    Args:
        series: The structural states.
        tests: Of all patches and of the suite.
        tier: What to run on.
        known: Cells that upstream makes red.
    """
    wanted: dict[tuple[tuple[str, ...], Test], None] = {((), test): None for test in tests}
    for name in series.applied:
        subset = series.with_required(name)
        wanted |= {(subset, test): None for test in tests if test.owner == name}
    if series.applied:
        wanted |= {(series.applied, test): None for test in tests}
    return tuple(_cell(series, subset, test, tier, known) for subset, test in wanted if tier in test.tiers)


def ablation_cells(
    series: SeriesStates, tests: Sequence[Test], tier: Tier = Tier.EMULATED, known: Sequence[KnownRed] = ()
) -> tuple[Cell, ...]:
    """Every test on every subset of the applied patches that holds what its members require.

    A test that drives the scheduler is dear: it runs on what it needs, and on what it needs without one patch.
    """
    applied = series.applied
    subsets = [subset for size in range(len(applied) + 1) for subset in combinations(applied, size)]
    cells = subset_cells(series, [subset for subset in subsets if series.closed(subset)], tests, tier, known)
    return tuple(
        cell
        for cell in cells
        if cell.test.drives is Subsystem.BACKENDS or _leaves_one_out(series, cell.patches, cell.test)
    )


def subset_cells(
    series: SeriesStates,
    subsets: Iterable[Sequence[str]],
    tests: Sequence[Test],
    tier: Tier = Tier.EMULATED,
    known: Sequence[KnownRed] = (),
) -> tuple[Cell, ...]:
    """Every test on every one of these subsets that this release can be made with, each tree once."""
    made = dict.fromkeys(series.standing(subset) for subset in subsets if not series.unmade(subset))
    return tuple(_cell(series, subset, test, tier, known) for subset in made for test in tests if tier in test.tiers)


def _leaves_one_out(series: SeriesStates, subset: Sequence[str], test: Test) -> bool:
    """Whether a subset holds what a test needs and no more, or all of it but one patch."""
    needs = {name for name in test.needs if name in series.applied}
    return set(subset) <= needs and len(needs) - len(subset) <= 1


def _cell(series: SeriesStates, subset: tuple[str, ...], test: Test, tier: Tier, known: Sequence[KnownRed]) -> Cell:
    for red in known:
        if (red.release, red.test) == (series.release.version, test.name):
            return Cell(series.release, subset, tier, test, Colour.RED, red.reason)
    return Cell(series.release, subset, tier, test, expected_colour(series, subset, test))


def expected_colour(series: SeriesStates, subset: Sequence[str], test: Test) -> Colour | None:
    """What a test must show: green when each patch it needs is applied here or landed, red when one is missing.

    Args:
        series: The structural states.
        subset: Patches that are applied.
        test: The test.

    Returns:
        None where a needed patch is neither applied nor landed nor merely left out: absent, in conflict, crashed.
    """
    missing = [name for name in test.needs if name not in subset and series.states.get(name) is not State.LANDED]
    if not missing:
        return Colour.GREEN
    known = all(series.states.get(name, State.ABSENT).changes_tree for name in missing)
    return Colour.RED if known else None

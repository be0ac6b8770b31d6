"""Mutation testing of patches: each mutant breaks a patch in one way, and some test of the patch must turn red."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from patchtool.domain.toml import Table, read_toml
from patchtool.matrix.cell import Cell, CellResult, Outcome, Subsystem, Test, Tier
from patchtool.matrix.planning.cells import SeriesStates

HOOKS = ("0.5.12", "0.5.13")
"""Releases with all hooks that call the patches' code: one for captures and one for replays, or one for both."""


class _Mutant(Table, frozen=True):
    name: str
    edits: Annotated[tuple[tuple[str, str], ...], Meta(min_length=1)]
    drives: Subsystem = Subsystem.BACKENDS


class _MutantsFile(Table, frozen=True):
    mutants: tuple[_Mutant, ...]
    releases: tuple[str, ...] = HOOKS


@dataclass(frozen=True)
class Mutant:
    """One way to break a patch.

    Args:
        patch: The patch.
        name: What is wrong with it then.
        edits: Pairs of text that occurs exactly once in the patched files, and its replacement.
        releases: Releases on which the patch is applied.
        drives: What must show it: the tests of the patch, or those of the release's own Scheduler.
    """

    patch: str
    name: str
    edits: tuple[tuple[str, str], ...]
    releases: tuple[str, ...] = HOOKS
    drives: Subsystem = Subsystem.BACKENDS

    @property
    def label(self) -> str:
        """Its name in a subset, beside those of patches."""
        return f"{self.patch}!{self.name}"

    def base(self, series: SeriesStates) -> tuple[str, ...]:
        """The patches whose files it breaks."""
        return series.applied if self.drives is Subsystem.SCHEDULER else series.with_required(self.patch)


@dataclass(frozen=True)
class MutantResult:
    """Whether the tests of a patch killed a mutant.

    Args:
        mutant: Its label.
        killed: Some test was red; None when none was and some could not run.
        by: The test that killed it, or why that is not known.
    """

    mutant: str
    killed: bool | None
    by: str


def read_mutants(folder: Path) -> tuple[Mutant, ...]:
    """Read ``mutants.toml`` of a patch, if it has one."""
    path = folder / "mutants.toml"
    if not path.is_file():
        return ()
    file = read_toml(path.read_bytes(), f"{folder.name}/mutants.toml", _MutantsFile)
    return tuple(Mutant(folder.name, each.name, each.edits, file.releases, each.drives) for each in file.mutants)


def mutated(mutant: Mutant, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Break the files that a patch changes."""
    broken = dict(files)
    for old, new in mutant.edits:
        places = [path for path, content in broken.items() for _ in range(content.count(old.encode()))]
        if len(places) != 1:
            raise ValueError(
                f"mutant {mutant.label!r}: {old!r} occurs {len(places)} times in the patched files, not once"
            )
        broken[places[0]] = broken[places[0]].replace(old.encode(), new.encode())
    return broken


def mutant_cells(series: SeriesStates, tests: Sequence[Test], mutants: Iterable[Mutant]) -> tuple[Cell, ...]:
    """Cells for the tests that must show each mutant; their subset ends with its label.

    These are the tests of its patch and random ones that need it, or those of the Scheduler, which needs the series.
    """
    return tuple(
        Cell(series.release, (*mutant.base(series), mutant.label), Tier.EMULATED, test)
        for mutant in mutants
        if mutant.patch in series.applied
        for test in tests
        if _must_show(mutant, test, series)
    )


def _must_show(mutant: Mutant, test: Test, series: SeriesStates) -> bool:
    if mutant.drives is Subsystem.SCHEDULER:
        return test.drives is Subsystem.SCHEDULER
    return test.owner == mutant.patch or _is_random_test_of(mutant.patch, test, series)


def _is_random_test_of(patch: str, test: Test, series: SeriesStates) -> bool:
    random = test.name.startswith("random_")
    return random and patch in test.needs and set(test.needs) <= {*series.with_required(patch)}


def mutant_results(results: Sequence[CellResult]) -> tuple[MutantResult, ...]:
    """Which mutants were killed, from the results of ``mutant_cells``."""
    labels = dict.fromkeys(result.cell.patches[-1] for result in results)
    return tuple(_result(label, [each for each in results if each.cell.patches[-1] == label]) for label in labels)


def _result(label: str, results: Sequence[CellResult]) -> MutantResult:
    for result in results:
        if result.outcome is Outcome.FAILED:
            return MutantResult(label, killed=True, by=f"{result.cell.test.name}: {result.detail}")
    for result in results:
        if result.outcome is not Outcome.PASSED:
            return MutantResult(label, killed=None, by=f"{result.cell.test.name}: {result.detail}")
    return MutantResult(label, killed=False, by="every test of the patch is green on it")

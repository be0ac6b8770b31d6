"""Patches broken on purpose: tests that let one live prove less than they say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from patchtool.domain.errors import InputError
from patchtool.domain.toml import parse_toml
from patchtool.matrix.cell import Cell, Outcome, Tier

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from patchtool.matrix.cell import CellResult, Test
    from patchtool.matrix.planning.cells import SeriesStates

_KEYS = {"name", "edits"}


@dataclass(frozen=True)
class Mutant:
    """One way to break a patch.

    Args:
        patch: The patch.
        name: What is wrong with it then.
        edits: Pairs of text that stands exactly once in the patched files, and what stands there instead.
    """

    patch: str
    name: str
    edits: tuple[tuple[str, str], ...]

    @property
    def label(self) -> str:
        """How a subset names it, beside the patches it holds."""
        return f"{self.patch}!{self.name}"


@dataclass(frozen=True)
class Fate:
    """What the tests made of a mutant.

    Args:
        mutant: Its label.
        killed: Some test of the patch was red; None where none was and some could not run.
        by: The test that killed it, or why nothing is known.
    """

    mutant: str
    killed: bool | None
    by: str


def read_mutants(folder: Path) -> tuple[Mutant, ...]:
    """Read ``mutants.toml`` of a patch; none where it has none.

    Raises:
        InputError: A key or value is wrong.
    """
    path = folder / "mutants.toml"
    if not path.is_file():
        return ()
    table = parse_toml(path.read_bytes(), f"{folder.name}/mutants.toml")
    return tuple(_mutant(folder.name, each) for each in table.get("mutants", []))


def _mutant(patch: str, table: Mapping[str, object]) -> Mutant:
    name, edits = table.get("name"), table.get("edits")
    pairs = isinstance(edits, list) and all(
        isinstance(pair, list) and [type(text) for text in pair] == [str, str] for pair in edits
    )
    if table.keys() != _KEYS or not isinstance(name, str) or not isinstance(edits, list) or not edits or not pairs:
        raise InputError(f"{patch}/mutants.toml: a mutant has a name and edits, a list of pairs of texts, not {table}")
    return Mutant(patch, name, tuple((old, new) for old, new in edits))


def mutated(mutant: Mutant, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Break the patched files.

    Args:
        mutant: How.
        files: The files that the patch changes, as it leaves them.

    Raises:
        InputError: A text does not stand there exactly once, so the mutant is out of date.
    """
    broken = dict(files)
    for old, new in mutant.edits:
        places = [path for path, content in broken.items() for _ in range(content.count(old.encode()))]
        if len(places) != 1:
            raise InputError(
                f"mutant {mutant.label!r}: {old!r} stands {len(places)} times in the patched files, not once"
            )
        broken[places[0]] = broken[places[0]].replace(old.encode(), new.encode())
    return broken


def mutant_cells(series: SeriesStates, tests: Sequence[Test], mutants: Iterable[Mutant]) -> tuple[Cell, ...]:
    """Each mutant's own tests on it; the subset of such a cell ends with the mutant's label."""
    return tuple(
        Cell(series.release, (*series.with_required(mutant.patch), mutant.label), Tier.EMULATED, test)
        for mutant in mutants
        if mutant.patch in series.applied
        for test in tests
        if test.owner == mutant.patch
    )


def fates(results: Sequence[CellResult]) -> tuple[Fate, ...]:
    """Which mutants were killed, from the results of ``mutant_cells``."""
    labels = dict.fromkeys(result.cell.patches[-1] for result in results)
    return tuple(_fate(label, [result for result in results if result.cell.patches[-1] == label]) for label in labels)


def _fate(label: str, results: Sequence[CellResult]) -> Fate:
    for result in results:
        if result.outcome is Outcome.FAILED:
            return Fate(label, killed=True, by=f"{result.cell.test.name}: {result.detail}")
    for result in results:
        if result.outcome is not Outcome.PASSED:
            return Fate(label, killed=None, by=f"{result.cell.test.name}: {result.detail}")
    return Fate(label, killed=False, by="every test of the patch is green on it")

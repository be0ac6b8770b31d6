"""The cells of a release: what the rows of the matrix file ask of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from patchtool.matrix.cell import Tier
from patchtool.matrix.planning.cells import ablation_cells, proof_cells, subset_cells
from patchtool.matrix.planning.matrix_file import MatrixRow
from patchtool.matrix.planning.served import served_cells

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from patchtool.domain.release import Release
    from patchtool.matrix.cell import Cell, Test
    from patchtool.matrix.planning.cells import SeriesStates
    from patchtool.matrix.planning.matrix_file import Matrix

UNNAMED = MatrixRow("proofs", (Tier.STATIC, Tier.EMULATED), ())
"""What is run on a release that no row names."""


@dataclass(frozen=True)
class ReleasePlan:
    """What is to be run on one release.

    Args:
        cells: Each once; the first row that names a cell decides its time.
        notes: Subsets that the release cannot be made with, and why.
    """

    cells: tuple[Cell, ...]
    notes: tuple[str, ...] = ()


def plan_release(matrix: Matrix, series: SeriesStates, tests: Sequence[Test], pin: Release, path: Path) -> ReleasePlan:
    """Plan a release.

    Args:
        matrix: The matrix file.
        series: As it stands on the release.
        tests: Of all patches and of the suite.
        pin: The pinned release.
        path: The matrix file's path; it travels with cells of served models.
    """
    rows = [row for row in matrix.rows if row.names(series.release, pin)] or [UNNAMED]
    cells: dict[str, Cell] = {}
    for row in rows:
        for tier in row.tiers:
            for cell in _cells(row, tier, matrix, series, tests, path):
                limit = cell.timeout or row.timeout or matrix.timeouts[tier]
                cells.setdefault(cell.id, replace(cell, timeout=limit))
    return ReleasePlan(tuple(cells.values()), tuple(dict.fromkeys(_notes(rows, matrix, series))))


def _cells(
    row: MatrixRow, tier: Tier, matrix: Matrix, series: SeriesStates, tests: Sequence[Test], path: Path
) -> Iterator[Cell]:
    fitting = [test for test in tests if test.runs_in(row.modes)]
    if row.patches:
        yield from subset_cells(series, row.patches, fitting, tier, matrix.known_red)
    else:
        make = proof_cells if row.plan == "proofs" else ablation_cells
        yield from make(series, fitting, tier, matrix.known_red)
    if tier is Tier.NPU:
        served = served_cells(series, matrix.served, path)
        yield from (cell for cell in served if cell.test.runs_in(row.modes))


def _notes(rows: Sequence[MatrixRow], matrix: Matrix, series: SeriesStates) -> Iterator[str]:
    """Say which subsets are left out: a tree without one of its patches would be another subset's."""
    subsets = [subset for row in rows for subset in row.patches]
    if any(Tier.NPU in row.tiers for row in rows):
        subsets += [subset for model in matrix.served.models for subset in model.patches]
    for subset in subsets:
        if unmade := series.unmade(subset):
            why = ", ".join(f"{name} is {series.states[name].value}" for name in unmade)
            yield f"{'+'.join(subset)} is left out on {series.release}: {why}"

"""The cells of one release, by the rows of the matrix file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from patchtool.matrix.cell import Cell, Colour, Mode, Test, Tier
from patchtool.matrix.planning.cells import ablation_cells, proof_cells, subset_cells
from patchtool.matrix.planning.matrix_file import MatrixRow

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from patchtool.domain.release import Release
    from patchtool.matrix.planning.cells import SeriesStates
    from patchtool.matrix.planning.matrix_file import Matrix
    from patchtool.matrix.planning.served_models import ServedConfig, ServedModel

DEFAULT_ROW = MatrixRow(plan="proofs", tiers=(Tier.STATIC, Tier.EMULATED), releases=())
"""The row of a release that no row names."""


@dataclass(frozen=True)
class ReleasePlan:
    """What to run on one release.

    Args:
        cells: Each once; the first row with a cell decides its timeout.
        notes: Subsets that the release cannot have, and why.
    """

    cells: tuple[Cell, ...]
    notes: tuple[str, ...] = ()


def plan_release(matrix: Matrix, series: SeriesStates, tests: Sequence[Test], pin: Release, path: Path) -> ReleasePlan:
    """Plan a release.

    Args:
        matrix: The matrix file's content.
        series: The structural states on the release.
        tests: Tests of all patches and of the suite.
        pin: The pinned release.
        path: The matrix file; cells of served models read it where they run.
    """
    rows = [row for row in matrix.rows if row.covers(series.release, pin)] or [DEFAULT_ROW]
    cells: dict[str, Cell] = {}
    for row in rows:
        for tier in row.tiers:
            for cell in _row_cells(row, tier, matrix, series, tests, path):
                timeout = cell.timeout or row.timeout or matrix.timeout_of(tier)
                cells.setdefault(cell.id, replace(cell, timeout=timeout))
    return ReleasePlan(tuple(cells.values()), tuple(dict.fromkeys(_notes(rows, matrix, series))))


def _row_cells(
    row: MatrixRow, tier: Tier, matrix: Matrix, series: SeriesStates, tests: Sequence[Test], path: Path
) -> Iterator[Cell]:
    chosen = [test for test in tests if test.runs_in(row.modes)]
    known_red = matrix.known_red_on(series.release)
    if row.patches:
        yield from subset_cells(series, row.patches, chosen, tier, known_red)
    else:
        plan = proof_cells if row.plan == "proofs" else ablation_cells
        yield from plan(series, chosen, tier, known_red)
    if tier is Tier.NPU:
        served = served_cells(series, matrix.served, path)
        yield from (cell for cell in served if cell.test.runs_in(row.modes))


def served_cells(series: SeriesStates, config: ServedConfig, path: Path) -> tuple[Cell, ...]:
    """Make one cell for every subset, mode and benchmark of every served model.

    Args:
        series: The structural states on the release.
        config: The models.
        path: The matrix file, which is such a test's file.
    """

    def test(model: ServedModel, benchmark: str, mode: Mode) -> Test:
        name = f"{model.name}::{benchmark}[{mode.value}]"
        return Test(name, str(path), name, mode=mode, tiers=(Tier.NPU,), devices=model.devices)

    return tuple(
        Cell(
            series.release,
            subset,
            Tier.NPU,
            test(model, name, mode),
            Colour.GREEN,
            timeout=model.timeout,
            before=series.applied_of(model.before),
        )
        for model in config.models
        for subset in dict.fromkeys(
            series.applied_of(subset) for subset in model.patches or (series.applied,) if not series.unavailable(subset)
        )
        for mode in model.modes
        for name in model.benchmarks
    )


def _notes(rows: Sequence[MatrixRow], matrix: Matrix, series: SeriesStates) -> Iterator[str]:
    """Report the subsets that are left out: without one of its patches, a tree would be that of another subset."""
    subsets = [subset for row in rows for subset in row.patches]
    if any(Tier.NPU in row.tiers for row in rows):
        subsets += [subset for model in matrix.served.models for subset in model.patches]
    for subset in subsets:
        if unavailable := series.unavailable(subset):
            why = ", ".join(f"{name} is {series.states[name].value}" for name in unavailable)
            yield f"{'+'.join(subset)} is left out on {series.release}: {why}"

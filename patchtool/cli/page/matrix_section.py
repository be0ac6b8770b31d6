"""The test matrix's section: proofs, a heat map of tests by trees, the numbers, and what the run does not show."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from patchtool.cli.page.document import Section, density, rendered
from patchtool.cli.reports.run import CATEGORIES, label_of, release_names, version
from patchtool.cli.reports.run_summary import (
    blocked_cells,
    known_failures,
    limits,
    measured_ranges,
    measurements,
    proof_ranges,
    run_sentences,
    unexpected_cells,
)
from patchtool.cli.reports.served_tables import served_tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from patchtool.cli.reports.run import CellRecord, Run
    from patchtool.cli.reports.run_summary import Finding, Measurement

_MOST_TOLD_IN_CELLS = 12
"""A cause that kept more cells from running is told once, beside the map, instead of in each of them."""


class Column(NamedTuple):
    """One tree."""

    release: str
    patches: tuple[str, ...]

    @property
    def title(self) -> str:
        """The tree, in words."""
        return f"{self.release}, {'with ' + ', '.join(self.patches) if self.patches else 'unmodified'}"


@dataclass
class Row:
    """One test and mode, with its cells by column."""

    test: str
    label: str
    mode: str
    cells: dict[int, CellRecord] = field(default_factory=dict)


@dataclass
class Group:
    """The tests of a patch or a suite on one tier."""

    name: str
    tier: str
    rows: list[Row] = field(default_factory=list)

    @property
    def counts(self) -> str:
        """How many cells have which category."""
        tally = Counter(cell.category for row in self.rows for cell in row.cells.values())
        return ", ".join(f"{tally[category]} {category.word}" for category in CATEGORIES if tally[category])


@dataclass(frozen=True)
class Grid:
    """The heat map.

    Args:
        patches: All that any tree has, in the series' order.
        columns: Oldest release first, fewest patches first.
        groups: Patches in the series' order, then suites, then what needs an NPU.
    """

    patches: tuple[str, ...]
    columns: list[Column]
    groups: list[Group]


def matrix_section(run: Run) -> Section:
    """Render a run of the matrix as a section of the report.

    Args:
        run: The run.
    """
    causes = [cause for cause in blocked_cells(run) if len(cause.cells) > _MOST_TOLD_IN_CELLS]
    told = {cell.id for cause in causes for cell in cause.cells}
    grid = grid_of(run, [cell for cell in run.cells if cell.id not in told])
    tally = Counter(cell.category for group in grid.groups for row in group.rows for cell in row.cells.values())
    widths = [(release, len(list(group))) for release, group in groupby(column.release for column in grid.columns)]
    numbers = measured_ranges(measurements(cell for cell in run.cells if cell.tier != "npu"))
    body = rendered(
        "matrix.html",
        sentences=run_sentences(run),
        proofs=proof_ranges(run.proofs),
        release_names=release_names,
        label_of=label_of,
        categories=CATEGORIES,
        tally=tally,
        density=density(len(grid.columns)),
        grid=grid,
        widths=widths,
        edges=set(accumulate([0, *(width for _, width in widths)])),
        changed=[part for part in numbers if part[0].changed],
        unchanged=[part for part in numbers if not part[0].changed],
        bar_scale=_bar_scale,
        served=served_tables(run.cells),
        causes=causes,
        tests_of=_tests_of,
        work=_items([*unexpected_cells(run), *(f for f in blocked_cells(run, skipped=False) if f not in causes)]),
        known=_items(known_failures(run)),
        limits=limits(run, causes),
        anchor=anchor,
        tree_label=_tree_label,
        notes=run.notes,
    )
    return Section("matrix", "Test matrix", body, _data(grid))


def anchor(cell: CellRecord) -> str:
    """A cell's id, and what a link to it has after its hash."""
    return f"test/{cell.id}"


def grid_of(run: Run, cells: Sequence[CellRecord]) -> Grid:
    """Arrange cells of a run in rows and columns."""
    applied = [name for cell in cells for name in cell.patches]
    known = set(applied)
    series = tuple(dict.fromkeys(n for n in (*(proof.patch for proof in run.proofs), *applied) if n in known))
    order = {name: index for index, name in enumerate(series)}
    columns = sorted(
        {Column(cell.release, cell.patches) for cell in cells},
        key=lambda c: (version(c.release), len(c.patches), [order[name] for name in c.patches]),
    )
    indexes = {column: index for index, column in enumerate(columns)}
    groups: dict[tuple[str, str], Group] = {}
    rows: dict[tuple[str, ...], Row] = {}
    for cell in cells:
        owner = "" if cell.tier == "npu" else cell.test.partition("::")[0]
        group = groups.setdefault((cell.tier, owner), Group(owner or "served models", cell.tier))
        column = indexes[Column(cell.release, cell.patches)]
        mode, copy = cell.other.get("mode", ""), 0
        while column in rows.get(key := (cell.tier, cell.test, mode, str(copy)), Row("", "", "")).cells:
            copy += 1  # a newer document may distinguish cells by a member that is not known here
        if key not in rows:
            rows[key] = Row(cell.test, label_of(cell.test) if owner else cell.test, mode)
            group.rows.append(rows[key])
        rows[key].cells[column] = cell
    ordered = sorted(groups.values(), key=lambda group: (group.tier == "npu", order.get(group.name, len(order))))
    return Grid(series, columns, ordered)


def _tree_label(patches: Sequence[str], series: Sequence[str]) -> str:
    """The patches of a tree by their numbers in the list above the map."""
    if not patches:
        return "none"
    return "all" if len(patches) == len(series) > 1 else "+".join(str(1 + series.index(name)) for name in patches)


def _tests_of(cells: Iterable[CellRecord]) -> list[tuple[str, str, int]]:
    """The tests of some cells: patch or suite, test in words, and how many cells."""
    return [(test.partition("::")[0], label_of(test), count) for test, count in Counter(c.test for c in cells).items()]


def _items(findings: Iterable[Finding]) -> list[tuple[str, str, str]]:
    """Links to cells, with their text and why."""
    return [(quote(anchor(f.cells[0]), safe="/:+!,"), f.sentence, f.why) for f in findings]


def _bar_scale(item: Measurement) -> float:
    """The end of the scale on which bars compare a number's two values; 0 where there are no bars."""
    values = (item.before, item.after)
    return max((float(value) for value in values if not isinstance(value, str) and value is not None), default=0.0)


def _data(grid: Grid) -> dict[str, Any]:
    """What the panel shows; findings that are the same for several cells are there once."""
    findings: dict[str, int] = {}

    def index_of(cell: CellRecord) -> int:
        finding = {
            "kind": cell.category.name,
            "tier": cell.tier,
            "outcome": cell.outcome,
            "expected": cell.expected,
            "detail": cell.detail,
            "reason": cell.reason,
            "numbers": cell.numbers,
            "more": cell.other,
        }
        return findings.setdefault(json.dumps(finding), len(findings))

    return {
        "patches": grid.patches,
        "columns": [{"release": column.release, "patches": column.patches} for column in grid.columns],
        "rows": [
            {
                "test": row.test,
                "cells": {i: [cell.id, cell.seconds, index_of(cell)] for i, cell in sorted(row.cells.items())},
            }
            for group in grid.groups
            for row in group.rows
        ],
        "findings": [json.loads(finding) for finding in findings],
        "glyphs": {category.name: category.glyph for category in CATEGORIES},
        "words": {category.name: category.word for category in CATEGORIES},
        "meanings": {category.name: category.meaning for category in CATEGORIES},
    }

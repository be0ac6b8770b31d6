"""Where a run's cells stand: tests down in groups, trees across by release and subset."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from patchtool.cli.page.results import Results, ShownCell
from patchtool.domain.release import Release


class Kind(str, Enum):
    """What a cell comes to for the eye: its outcome, held against what was expected."""

    UNEXPECTED = "unexpected"
    STUCK = "stuck"
    KNOWN = "known"
    FAILED = "failed"
    PASSED = "passed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class Column:
    """One tree."""

    release: Release
    patches: tuple[str, ...]

    @property
    def words(self) -> str:
        """The tree, in words."""
        return f"{self.release}, {'with ' + ', '.join(self.patches) if self.patches else 'unmodified'}"


@dataclass
class TableRow:
    """One test.

    Args:
        test: Its name.
        label: The same for the eye.
        mode: What the document says of its mode, or empty.
        cells: By column.
    """

    test: str
    label: str
    mode: str
    cells: dict[int, ShownCell] = field(default_factory=dict)


@dataclass
class Group:
    """The tests of a patch or a suite on one tier."""

    name: str
    tier: str
    rows: list[TableRow] = field(default_factory=list)


@dataclass(frozen=True)
class Layout:
    """The whole grid.

    Args:
        patches: All that any tree holds, in the series' order.
        columns: Oldest release first, fewest patches first.
        groups: Patches in the series' order, then suites, then what needs an NPU.
    """

    patches: tuple[str, ...]
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]


def kind(cell: ShownCell) -> Kind:
    """The kind of a cell; what is not understood counts as could not run, never as passed."""
    if cell.verdict == "unexpected":
        return Kind.UNEXPECTED
    if cell.verdict != "as-expected":
        return Kind.SKIPPED if cell.outcome == "skipped" else Kind.STUCK
    if cell.outcome == "failed":
        return Kind.KNOWN if cell.reason else Kind.FAILED
    return Kind.PASSED if cell.outcome == "passed" else Kind.STUCK


def layout(results: Results) -> Layout:
    """Give every cell its place."""
    series = _series(results)
    known = {Column(cell.release, cell.patches) for cell in results.cells}
    columns = sorted(known, key=lambda c: (c.release, len(c.patches), [series.index(name) for name in c.patches]))
    places = {column: index for index, column in enumerate(columns)}
    groups: dict[tuple[str, str], Group] = {}
    rows: dict[tuple[str, ...], TableRow] = {}
    for cell in results.cells:
        owner, _, function = cell.test.partition("::")
        served = cell.tier == "npu"
        group = groups.setdefault(
            (cell.tier, "" if served else owner), Group("served models" if served else owner, cell.tier)
        )
        column = places[Column(cell.release, cell.patches)]
        mode, turn = cell.more.get("mode", ""), 0
        while column in rows.get(key := (cell.tier, cell.test, mode, str(turn)), TableRow("", "", "")).cells:
            turn += 1  # a newer document may tell cells apart by what is not known here
        if key not in rows:
            label = cell.test if served else function.removeprefix("test_").replace("_", " ")
            rows[key] = TableRow(cell.test, label or cell.test, mode)
            group.rows.append(rows[key])
        rows[key].cells[column] = cell
    order = {name: index for index, name in enumerate(series)}
    found = sorted(groups.values(), key=lambda g: (g.tier == "npu", order.get(g.name, len(order))))
    return Layout(series, tuple(columns), tuple(found))


def _series(results: Results) -> tuple[str, ...]:
    """All names that are applied somewhere: as the proofs have them, then as met."""
    met = {name for cell in results.cells for name in cell.patches}
    named: Iterable[str] = (proof.patch for proof in results.proofs)
    also = (name for cell in results.cells for name in cell.patches)
    return tuple(dict.fromkeys(name for name in (*named, *also) if name in met))

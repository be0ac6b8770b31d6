"""The test matrix's section: proofs, a heat map of tests on trees, the numbers, and what the run does not show."""

from __future__ import annotations

import json
from collections import Counter
from itertools import groupby
from typing import Any
from urllib.parse import quote

from patchtool.cli.page.document import Section, asset, chip, filled, panel, text
from patchtool.cli.page.findings import known_reds, limits, matrix_headline, matrix_sentences, work
from patchtool.cli.page.layout import Column, Group, Kind, Layout, TableRow, kind, layout
from patchtool.cli.page.numbers import numbers
from patchtool.cli.page.proofs import proofs
from patchtool.cli.page.results import Results, ShownCell

GLYPHS = {
    Kind.UNEXPECTED: "!",
    Kind.STUCK: "?",
    Kind.KNOWN: "k",
    Kind.FAILED: "\u00d7",
    Kind.PASSED: "\u2713",
    Kind.SKIPPED: "\u2013",
}
WORDS = {
    Kind.UNEXPECTED: "unexpected",
    Kind.STUCK: "could not run",
    Kind.KNOWN: "known red",
    Kind.FAILED: "failed as it must",
    Kind.PASSED: "passed",
    Kind.SKIPPED: "skipped",
}
MEANINGS = {
    Kind.UNEXPECTED: "red where it must be green, or green where it must be red; a person is needed",
    Kind.STUCK: "says nothing: an error, a timeout, or a test whose green proves nothing; never counted as passed",
    Kind.KNOWN: "red for a fault of upstream outside the series, as written down",
    Kind.FAILED: "red because a patch that it needs is left out; this is what shows that the patch matters",
    Kind.PASSED: "green, and it must be",
    Kind.SKIPPED: "what it needs is not there, such as an NPU; never counted as passed",
}
_FEW, _DENSE = 17, 24


def matrix_section(results: Results, *, level: int = 1) -> Section:
    """A run of the matrix as a section of the report.

    Args:
        results: The run.
        level: Of its heading: 1 where it comes first in the page.
    """
    found = layout(results)
    body = filled(
        asset("matrix.html"),
        {
            "level": str(level),
            "headline": text(matrix_headline(results)),
            "sentences": "".join(f"<p>{text(line)}</p>" for line in matrix_sentences(results)),
            "proofs": proofs(results.proofs),
            "legend": _legend(results),
            "density": _density(len(found.columns)),
            "patches": "".join(f"<span>{text(name)}</span>" for name in found.patches),
            "releases": _releases(found),
            "heads": "".join(_head(found, index) for index in range(len(found.columns))),
            "groups": "\n".join(_group(found, group) for group in found.groups),
            "numbers": numbers(results.cells),
            "work": _items(work(results), "Nothing. Every cell that ran came out as it must."),
            "known": _items(known_reds(results), "None."),
            "limits": "".join(f"<li>{text(line)}</li>" for line in limits(results)),
            "meanings": "".join(_meaning(each) for each in Kind),
            "panel": panel("matrix-", earlier="Tree to the left", later="Tree to the right"),
            "notes": "".join(f"<p>{text(note)}</p>" for note in results.notes),
        },
    )
    return Section("matrix", "Test matrix", body, _data(found))


def _density(columns: int) -> str:
    return "dense" if columns > _DENSE else "roomy" if columns > _FEW else "roomy few"


def _legend(results: Results) -> str:
    seen = Counter(map(kind, results.cells))
    return "".join(
        chip(each.value, GLYPHS[each], MEANINGS[each], seen[each], word=WORDS[each]) for each in Kind if seen[each]
    )


def _meaning(each: Kind) -> str:
    return (
        f'<div><dt><span class="swatch s-{each.value}">{GLYPHS[each]}</span> {WORDS[each]}</dt>'
        f"<dd>{text(MEANINGS[each])}</dd></div>"
    )


def _releases(found: Layout) -> str:
    spans = [(release, len(list(columns))) for release, columns in groupby(found.columns, lambda c: c.release)]
    return "".join(
        f'<th scope="colgroup" colspan="{count}" class="edge"><i>{text(release.tag)}</i></th>'
        for release, count in spans
    )


def _head(found: Layout, index: int) -> str:
    column = found.columns[index]
    dots = "".join(f'<i class="{"in" if name in column.patches else "out"}"></i>' for name in found.patches)
    return (
        f'<th scope="col"{_edge(found, index)} title="{text(column.words)}">'
        f'<b class="vh">{text(column.words)}</b><b class="dots" aria-hidden="true">{dots}</b></th>'
    )


def _edge(found: Layout, index: int) -> str:
    first = index == 0 or found.columns[index - 1].release != found.columns[index].release
    return ' class="edge"' if first else ""


def _group(found: Layout, group: Group) -> str:
    tally = Counter(kind(cell) for row in group.rows for cell in row.cells.values())
    said = ", ".join(f"{tally[each]} {WORDS[each]}" for each in Kind if tally[each])
    rows = "\n".join(_row(found, row) for row in group.rows)
    return (
        f'<tbody><tr class="group"><th scope="rowgroup" colspan="{len(found.columns) + 1}"><b>{text(group.name)}</b> '
        f"<small>{text(group.tier)}: {said}</small></th></tr>\n{rows}</tbody>"
    )


def _row(found: Layout, row: TableRow) -> str:
    cells = "".join(_cell(found, row, index) for index in range(len(found.columns)))
    mode = f" <small>{text(row.mode)}</small>" if row.mode else ""
    return (
        f'<tr><th scope="row" title="{text(row.test)}"><span class="test">{text(row.label)}{mode}</span></th>'
        f"{cells}</tr>"
    )


def _cell(found: Layout, row: TableRow, index: int) -> str:
    cell = row.cells.get(index)
    edge = " edge" if _edge(found, index) else ""
    if cell is None:
        return f'<td class="none{edge}"></td>'
    shown = kind(cell)
    return (
        f'<td id="{text(anchor(cell))}" data-state="{shown.value}" class="s-{shown.value}{edge}">'
        f'<span class="tile"><span aria-hidden="true">{GLYPHS[shown]}</span>'
        f'<span class="vh">{WORDS[shown]}</span></span></td>'
    )


def anchor(cell: ShownCell) -> str:
    """What a link to a cell says behind its hash."""
    return f"test/{cell.id}"


def _items(found: list[tuple[ShownCell | None, str, str]], nothing: str) -> str:
    items = []
    for cell, words, detail in found:
        said = f'<a href="#{text(quote(anchor(cell), safe="/:+!,"))}">{text(words)}</a>' if cell else text(words)
        items.append(f"<li>{said}<span>{text(detail)}</span></li>")
    return "".join(items) or f"<li>{nothing}</li>"


def _data(found: Layout) -> dict[str, Any]:
    """What the panel shows; what recurs over cells is kept once."""
    kept: dict[str, int] = {}
    rows: list[TableRow] = [row for group in found.groups for row in group.rows]
    return {
        "patches": list(found.patches),
        "columns": [_column(column) for column in found.columns],
        "rows": [
            {
                "test": row.test,
                "cells": {
                    index: [cell.id, cell.seconds, kept.setdefault(json.dumps(_finding(cell)), len(kept))]
                    for index, cell in sorted(row.cells.items())
                },
            }
            for row in rows
        ],
        "findings": [json.loads(each) for each in kept],
        "glyphs": {each.value: GLYPHS[each] for each in Kind},
        "words": {each.value: WORDS[each] for each in Kind},
        "meanings": {each.value: MEANINGS[each] for each in Kind},
    }


def _column(column: Column) -> dict[str, Any]:
    return {"release": column.release.tag, "patches": list(column.patches)}


def _finding(cell: ShownCell) -> dict[str, Any]:
    return {
        "kind": kind(cell).value,
        "tier": cell.tier,
        "outcome": cell.outcome,
        "expected": cell.expected,
        "verdict": cell.verdict,
        "detail": cell.detail,
        "reason": cell.reason,
        "numbers": dict(cell.numbers),
        "more": dict(cell.more),
    }

"""A run of the test matrix as Markdown, for an issue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchtool.cli.reports.markdown import code_span, escaped
from patchtool.cli.reports.run import UNEXPECTED
from patchtool.cli.reports.run_summary import blocked_cells, known_failures, limits, run_headline, run_sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from patchtool.cli.reports.run import CellRecord, Run
    from patchtool.cli.reports.run_summary import Finding

_MOST = 20
"""Cells per section; an issue has at most 65,536 characters."""


def run_markdown(run: Run) -> str:
    """Format a run as an issue: its first line is a title, and each finding comes with its evidence.

    Args:
        run: The run.
    """
    unexpected = [cell for cell in run.cells if cell.category is UNEXPECTED]
    parts = [
        f"# {escaped(run_headline(run))}",
        escaped(" ".join(run_sentences(run))),
        _proofs(run),
        _section("New red", [_cell(cell) for cell in unexpected if cell.outcome == "failed"]),
        _section("Turned green", [_cell(cell) for cell in unexpected if cell.outcome != "failed"]),
        _section("Could not be driven", _findings(blocked_cells(run))),
        _section("Still red", _findings(known_failures(run))),
        _section("What this does not show", [escaped(line) for line in limits(run)]),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _proofs(run: Run) -> str:
    head = ("patch", "release", "structural", "pristine", "patched", "verdict")
    rows = [(p.patch, p.release, p.structural, p.pristine or "", p.patched or "", p.verdict) for p in run.proofs]
    lines = [f"| {' | '.join(map(escaped, row))} |" for row in (head, *rows)]
    return "\n".join([lines[0], f"|{' --- |' * len(head)}", *lines[1:]]) if rows else ""


def _section(title: str, lines: Sequence[str]) -> str:
    shown = [f"- {line}" for line in lines[:_MOST]]
    shown += [f"- and {len(lines) - _MOST} more"] if len(lines) > _MOST else []
    return "\n".join([f"### {title}\n", *shown]) if lines else ""


def _cell(cell: CellRecord) -> str:
    why = " ".join(filter(None, (cell.detail, cell.reason)))
    return f"{code_span(cell.id)}{': ' if why else ''}{escaped(why)}"


def _findings(findings: Iterable[Finding]) -> list[str]:
    return [f"{escaped(finding.sentence)}: {escaped(finding.why)}" for finding in findings]

"""A run of the matrix for the terminal: proofs first, then what needs a look, then numbers and counts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from patchtool.cli.reports.run_summary import blocked_cells, known_failures, measurements, unexpected_cells
from patchtool.cli.reports.served_tables import served_tables
from patchtool.cli.reports.text import aligned
from patchtool.cli.reports.words import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from patchtool.cli.reports.run import CellRecord, Run
    from patchtool.cli.reports.run_summary import Finding

_COLORS = {"agrees": "32", "disputes": "31", "none": "2"}
_LIMITS = (
    "emulated cells compare state plumbing on CPU references of the kernels: no kernel maths, no accuracy, no speed\n"
)


def run_text(run: Run, *, verbose: bool = False, color: bool = False) -> str:
    """Format a run for the terminal.

    Args:
        run: The run.
        verbose: Whether to list every cell.
        color: Whether to use terminal colours.
    """
    cells = run.cells if verbose else []
    parts = [
        _proofs(run, color=color) if run.proofs else "",
        _section("unexpected", _lines(unexpected_cells(run))),
        _section("could not run", _lines(blocked_cells(run))),
        _section("red for reasons outside the series", _lines(known_failures(run))),
        *(_section(table.title, aligned([table.head, *table.rows], {})) for table in served_tables(run.cells)),
        _section("numbers", _numbers(cell for cell in run.cells if cell.tier != "npu")),
        _section("what ran, and what it does not show", sorted(_statements(run.cells))),
        _section("cells", (f"{c.verdict}  {c.outcome}  {c.seconds:.2f} s  {c.id}" for c in cells)),
    ]
    return "\n".join(part for part in parts if part) + ("\n" if any(parts) else "") + _counts(run.cells)


def _proofs(run: Run, *, color: bool) -> str:
    rows = [("patch", "release", "structural", "pristine", "patched", "verdict")]
    rows += [(p.patch, p.release, p.structural, p.pristine or "", p.patched or "", p.verdict) for p in run.proofs]
    colors = {(i, 5): _COLORS.get(row[5], "") for i, row in enumerate(rows) if color and i}
    head, *lines = aligned(rows, colors)
    for index, proof in reversed(list(enumerate(run.proofs))):
        if proof.verdict != "agrees" and proof.detail:
            lines.insert(index + 1, f"  because {escaped(proof.detail, kept='')}")
    return "".join(f"{line}\n" for line in [head, *lines])


def _section(title: str, lines: Iterable[str]) -> str:
    body = "".join(f"  {escaped(line, kept='')}\n" for line in lines)
    return f"{title}:\n{body}" if body else ""


def _lines(findings: Iterable[Finding]) -> Iterable[str]:
    return (f"{finding.sentence}: {finding.why}".rstrip(": ") for finding in findings)


def _numbers(cells: Iterable[CellRecord]) -> Iterable[str]:
    """What the series changes; all numbers of tests that did not run on the unmodified release."""
    for found in measurements(cells):
        title, values = f"{found.release} {found.test}: {found.name}", (found.before, found.after)
        if any(isinstance(value, str) for value in values):
            continue
        if found.changed and None not in values:
            yield f"{title} {found.before} -> {found.after}"
        elif not found.compared and found.after is not None:
            yield f"{title} {found.after}"


def _statements(cells: Iterable[CellRecord]) -> set[str]:
    """What cells report in words, once for all tests of a file that report the same."""
    return {
        f"{cell.release} {cell.test.partition('::')[0]}: {name.replace('_', ' ')} {value}"
        for cell in cells
        for name, value in cell.numbers.items()
        if isinstance(value, str)
    }


def _counts(cells: list[CellRecord]) -> str:
    outcomes, verdicts = (Counter(values) for values in ([c.outcome for c in cells], [c.verdict for c in cells]))
    words = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in ("as-expected", "unexpected", "could-not-run"))
    parts = ", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items()))
    limits = _LIMITS if any(cell.tier == "emulated" for cell in cells) else ""
    return f"{limits}{counted(len(cells), 'cell')}: {words}" + (f" ({parts})\n" if parts else "\n")

"""A run of the matrix for a terminal: the proofs, what is not as expected, and the counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from patchtool.matrix.cell import Outcome, Verdict
from patchtool.matrix.verdict import Judged, PatchProof


def tests_text(verdicts: Sequence[Judged], proofs: Sequence[PatchProof], *, verbose: bool) -> str:
    """The whole run in words.

    Args:
        verdicts: Every cell with its verdict.
        proofs: Every patch on every release.
        verbose: With every cell.
    """
    parts = [proof_table(proofs)] if proofs else []
    parts += ["".join(f"{p.patch} on {p.release}: {p.verdict.value}: {p.detail}\n" for p in proofs if p.detail)]
    shown = [v for v in verdicts if verbose or v.verdict is not Verdict.AS_EXPECTED]
    parts += ["".join(_line(v) for v in shown if v.result.outcome is not Outcome.SKIPPED or verbose)]
    parts += [_numbers(verdicts), counts(verdicts)]
    return "\n".join(part for part in parts if part)


def proof_table(proofs: Sequence[PatchProof]) -> str:
    """Structure and behaviour side by side."""
    rows: list[tuple[str, ...]] = [("release", "patch", "structural", "pristine", "patched", "proof")]
    for proof in proofs:
        colours = [colour.value if colour else "-" for colour in (proof.pristine, proof.patched)]
        rows.append((str(proof.release), proof.patch, proof.structural.value, *colours, proof.verdict.value))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() + "\n" for row in rows)


def _line(judged: Judged) -> str:
    result = judged.result
    wanted = result.cell.expected.value if result.cell.expected else "unknown"
    why = "; ".join(part for part in (judged.why, result.detail) if part)
    return f"{judged.verdict.value}: {result.cell.id}: {result.outcome.value}, expected {wanted}: {why}\n"


def _numbers(verdicts: Sequence[Judged]) -> str:
    """What tests measured, each test once for every subset that says something else."""
    lines: dict[object, str] = {}
    for each in verdicts:
        cell, numbers = each.result.cell, each.result.numbers
        if numbers and cell.test.owner:
            words = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in numbers.items())
            where = "+".join(cell.patches) or "pristine"
            lines.setdefault(
                (cell.release, cell.test.name, words), f"{cell.release} {cell.test.name} on {where}: {words}\n"
            )
    return "".join(lines.values())


def counts(verdicts: Sequence[Judged]) -> str:
    """How many cells, by verdict; skipped ones apart."""
    skipped = [v for v in verdicts if v.result.outcome is Outcome.SKIPPED]
    found = Counter(v.verdict for v in verdicts if v.result.outcome is not Outcome.SKIPPED)
    words = [f"{found[v]} {v.value}" for v in Verdict if found[v]]
    if skipped:
        words.append(f"{len(skipped)} skipped ({skipped[0].result.detail})")
    seconds = sum(v.result.seconds for v in verdicts)
    return f"{len(verdicts)} cells: {', '.join(words)}; {seconds:.1f} s in tests\n" if verdicts else ""

"""Verdicts and proofs as the JSON of ``test`` has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from patchtool.domain import documents
    from patchtool.matrix.verdict import CellVerdict, PatchProof


def cell_document(judged: CellVerdict) -> documents.Cell:
    """One cell."""
    result, cell = judged.result, judged.result.cell
    return {
        "id": cell.id,
        "tier": cell.tier.value,
        "release": cell.release.tag,
        "patches": list(cell.patches),
        "test": cell.test.name,
        "mode": cell.test.mode.value if cell.test.mode else None,
        "outcome": result.outcome.value,
        "expected": cell.expected.value if cell.expected else None,
        "verdict": judged.verdict.value,
        "seconds": result.seconds,
        "detail": result.detail or judged.why,
        "reason": judged.why or cell.reason,
        "numbers": dict(result.numbers),
    }


def proof_document(proof: PatchProof) -> documents.PatchProof:
    """One patch on one release."""
    return {
        "patch": proof.patch,
        "release": proof.release.tag,
        "structural": proof.structural.value,
        "pristine": proof.pristine.value if proof.pristine else None,
        "patched": proof.patched.value if proof.patched else None,
        "verdict": proof.verdict.value,
        "detail": proof.detail,
    }

"""Cells and proofs as they appear in the JSON of ``patchtool test``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from patchtool.domain import documents
    from patchtool.matrix.verdict import CellVerdict, PatchProof


def cell_document(verdict: CellVerdict) -> documents.Cell:
    """Return the document of one cell."""
    result, cell = verdict.result, verdict.result.cell
    return {
        "id": cell.id,
        "tier": cell.tier.value,
        "release": cell.release.tag,
        "patches": list(cell.patches),
        "test": cell.test.name,
        "mode": cell.test.mode.value if cell.test.mode else None,
        "outcome": result.outcome.value,
        "expected": cell.expected.value if cell.expected else None,
        "verdict": verdict.verdict.value,
        "seconds": result.seconds,
        "detail": result.detail or verdict.why,
        "reason": verdict.why or cell.reason,
        "numbers": dict(result.numbers),
    }


def proof_document(proof: PatchProof) -> documents.PatchProof:
    """Return the document of one patch on one release."""
    return {
        "patch": proof.patch,
        "release": proof.release.tag,
        "structural": proof.structural.value,
        "pristine": proof.pristine.value if proof.pristine else None,
        "patched": proof.patched.value if proof.patched else None,
        "verdict": proof.verdict.value,
        "detail": proof.detail,
    }

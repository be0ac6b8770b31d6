"""A run as the ``test`` verb's JSON document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from patchtool.matrix.verdict import Judged, PatchProof


def test_document(judged: Iterable[Judged], proofs: Iterable[PatchProof]) -> dict[str, Any]:
    """The members ``cells`` and ``proofs``, cells sorted by id, so that two runs can be compared.

    Args:
        judged: Every cell with its verdict.
        proofs: Of every patch on every release.
    """
    cells = sorted(judged, key=lambda each: each.result.cell.id)
    return {"cells": [_cell(each) for each in cells], "proofs": [_proof(each) for each in proofs]}


def _cell(judged: Judged) -> dict[str, Any]:
    result, cell = judged.result, judged.result.cell
    return {
        "id": cell.id,
        "tier": cell.tier.value,
        "release": cell.release.tag,
        "patches": list(cell.patches),
        "test": cell.test.name,
        "outcome": result.outcome.value,
        "expected": cell.expected.value if cell.expected else None,
        "verdict": judged.verdict.value,
        "seconds": round(result.seconds, 3),
        "detail": result.detail or None,
        "why": judged.why or cell.reason or None,
        "numbers": dict(result.numbers),
    }


def _proof(proof: PatchProof) -> dict[str, Any]:
    return {
        "patch": proof.patch,
        "release": proof.release.tag,
        "structural": proof.structural.value,
        "pristine": proof.pristine.value if proof.pristine else None,
        "patched": proof.patched.value if proof.patched else None,
        "verdict": proof.verdict.value,
        "detail": proof.detail or None,
    }

"""Cells and proofs as they appear in the JSON of ``patchtool test``."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchtool.domain import documents
    from patchtool.matrix.cell import Cell
    from patchtool.matrix.npu.plan import ServedPlan
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


def plan_document(cells: Sequence[Cell], served: ServedPlan) -> documents.TestPlan:
    """Return the document of a plan.

    Args:
        cells: All cells that would be run.
        served: What of them needs servers.
    """
    return {
        "cells": dict(Counter(cell.tier.value for cell in cells)),
        "servers": [
            {
                "release": server.release.tag,
                "patches": list(server.patches),
                "mode": "eager" if server.mode == "eager" else "graph",
                "row": server.row,
                "model": server.model,
                "devices": server.devices,
                "command": list(server.command),
                "environment": server.environment,
                "minutes": server.minutes,
                "benchmarks": [
                    {
                        "name": runs.name,
                        "dataset": runs.dataset,
                        "command": list(runs.command),
                        "runs": runs.runs,
                        "minutes": runs.minutes,
                    }
                    for runs in server.benchmarks
                ],
            }
            for server in served.servers
        ],
        "needs": [
            {"what": need.what, "wanted": need.wanted, "found": need.found, "missing": need.missing or None}
            for need in served.needs
        ],
        "minutes": served.minutes,
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

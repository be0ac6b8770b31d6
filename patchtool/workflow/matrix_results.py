"""What a run of the matrix comes to: its document and its exit code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from patchtool.domain.errors import ExitCode
from patchtool.domain.state import Proof
from patchtool.matrix.cell import Outcome, Verdict
from patchtool.matrix.document import cell_document, proof_document
from patchtool.matrix.verdict import CellVerdict, PatchProof


def exit_code_of(verdicts: Sequence[CellVerdict], proofs: Sequence[PatchProof]) -> ExitCode:
    """1 for a cell that is not as expected or a disputed patch, 4 for one that could not run, 0 otherwise.

    A skipped cell, such as one that needs an NPU, is neither: it is counted apart and never as passed.
    """
    if any(v.verdict is Verdict.UNEXPECTED for v in verdicts) or any(p.verdict is Proof.DISPUTES for p in proofs):
        return ExitCode.FINDINGS
    stuck = [v for v in verdicts if v.verdict is Verdict.COULD_NOT_RUN and v.result.outcome is not Outcome.SKIPPED]
    return ExitCode.ENVIRONMENT if stuck else ExitCode.OK


def document(verdicts: Sequence[CellVerdict], proofs: Sequence[PatchProof]) -> dict[str, Any]:
    """The ``cells`` and ``proofs`` of the JSON document."""
    return {
        "cells": [cell_document(each) for each in verdicts],
        "proofs": [proof_document(each) for each in proofs],
    }

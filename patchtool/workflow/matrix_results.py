"""The results of a matrix run: its JSON, its exit code, and its proofs in the lock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from patchtool.adapters.files import atomic_write
from patchtool.adapters.project.project import LOCK, Project, write_lock
from patchtool.domain.errors import ExitCode
from patchtool.domain.state import Proof
from patchtool.matrix.cell import Outcome, Verdict
from patchtool.matrix.document import cell_document, proof_document
from patchtool.matrix.verdict import CellVerdict, PatchProof


def matrix_exit_code(verdicts: Sequence[CellVerdict], proofs: Sequence[PatchProof]) -> ExitCode:
    """1 for a cell that is not as expected or a disputed patch, 4 for a cell that could not run, 0 otherwise.

    A skipped cell, such as one that needs an NPU, counts as neither.
    """
    if any(v.verdict is Verdict.UNEXPECTED for v in verdicts) or any(p.verdict is Proof.DISPUTES for p in proofs):
        return ExitCode.FINDINGS
    stuck = [v for v in verdicts if v.verdict is Verdict.COULD_NOT_RUN and v.result.outcome is not Outcome.SKIPPED]
    return ExitCode.ENVIRONMENT if stuck else ExitCode.OK


def matrix_document(verdicts: Sequence[CellVerdict], proofs: Sequence[PatchProof]) -> dict[str, Any]:
    """The ``cells`` and ``proofs`` of the JSON document."""
    return {
        "cells": [cell_document(verdict) for verdict in verdicts],
        "proofs": [proof_document(proof) for proof in proofs],
    }


def record_proofs(project: Project, proofs: Sequence[PatchProof]) -> tuple[str, ...]:
    """Record proofs in the lock, for patches on releases that it has; return a note if it was written."""
    releases = dict(project.lock.releases)
    for proof in proofs:
        locked = releases.get(proof.release)
        patch = locked.patches.get(proof.patch) if locked else None
        if locked is None or patch is None or proof.verdict is Proof.NONE:
            continue
        patches = {**locked.patches, proof.patch: patch._replace(proof=proof.verdict.value)}
        releases[proof.release] = locked._replace(patches=patches)
    if releases == project.lock.releases:
        return ()
    atomic_write(project.root / LOCK, write_lock(project.lock._replace(releases=releases)))
    return (f"{LOCK} records the proofs",)

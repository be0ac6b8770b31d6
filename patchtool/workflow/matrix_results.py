"""The results of a matrix run: its JSON, its exit code, and its proofs in the lock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from patchtool.adapters.files import atomic_write
from patchtool.adapters.project.project import LOCK, write_lock
from patchtool.adapters.project.proof_files import project_path, write_record
from patchtool.adapters.project.transaction import write_all
from patchtool.domain.errors import ExitCode
from patchtool.domain.lock import LockedRelease
from patchtool.domain.package import Package
from patchtool.domain.proof import ProofRecord, SealedPatch, rendering_of, statement_of
from patchtool.domain.state import Proof
from patchtool.matrix.cell import Outcome, Verdict
from patchtool.matrix.document import cell_document, proof_document
from patchtool.matrix.verdict import CellVerdict, PatchProof
from patchtool.workflow.matrix_run import MatrixRun
from patchtool.workflow.matrix_trees import BaseTree
from patchtool.workflow.proofs import stored_proofs, tests_of
from patchtool.workflow.rendering import Rendering, render
from patchtool.workflow.session import Session
from patchtool.workflow.siblings import required_by

_GENERATED = "_version.py"
"""Written to the package by upstream's build, with the version alone: a checkout has none, or one of another build."""


def matrix_exit_code(verdicts: Sequence[CellVerdict], proofs: Sequence[PatchProof]) -> ExitCode:
    """3 for a patch in conflict, 1 for an unexpected cell or a disputed patch, 4 for a cell that could not run.

    A skipped cell, such as one that needs an NPU, counts as none of these.
    """
    structural = max((proof.structural.exit_code for proof in proofs), default=ExitCode.OK)
    if structural is ExitCode.CONFLICT:
        return structural
    if any(v.verdict is Verdict.UNEXPECTED for v in verdicts) or any(p.verdict is Proof.DISPUTES for p in proofs):
        return ExitCode.FINDINGS
    if structural:
        return structural
    stuck = [v for v in verdicts if v.verdict is Verdict.COULD_NOT_RUN and v.result.outcome is not Outcome.SKIPPED]
    return ExitCode.ENVIRONMENT if stuck else ExitCode.OK


def matrix_document(verdicts: Sequence[CellVerdict], proofs: Sequence[PatchProof]) -> dict[str, Any]:
    """The ``cells`` and ``proofs`` of the JSON document."""
    return {
        "cells": [cell_document(verdict) for verdict in verdicts],
        "proofs": [proof_document(proof) for proof in proofs],
    }


def record_proofs(session: Session, run: MatrixRun) -> list[str]:
    """Record the proofs of a run with the bytes that they are about; return notes on what was written.

    Every tree gets a record in the store. That of a release which the lock has is in the project too.
    """
    if session.project.packaged:
        return _record_proofs(session, run)
    with session.changing("test"):  # the lock may have changed while the tests ran
        return _record_proofs(session, run)


def _record_proofs(session: Session, run: MatrixRun) -> list[str]:
    notes: list[str] = []
    contents: dict[str, bytes] = {}
    lock = session.project.lock
    for base, rendering in zip(run.bases, run.renderings):
        proofs = [p for p in run.proofs if p.release == base.release and p.verdict is not Proof.NONE]
        record = _record(session, base, rendering, proofs)
        if base.stored is None and (changed := _changed_since(run.started, base, record, session.project.package)):
            notes.append(f"nothing is recorded: {changed} changed while it was tested")
            continue
        if record.patches:
            folder = stored_proofs(session)
            folder.mkdir(parents=True, exist_ok=True)
            atomic_write(folder / f"{record.key}.json", write_record(record))
            notes.append(f"the store records the proofs of {record.where}" if base.stored is None else "")
        locked = lock.releases.get(base.release)
        if base.stored is None or locked is None or locked.commit != base.stored.commit or session.project.packaged:
            continue
        lock = lock._replace(
            releases={**lock.releases, base.release: _with_verdicts(session, locked, rendering, proofs)}
        )
        if record.patches:
            contents[project_path(base.release)] = write_record(record)
    if lock != session.project.lock:
        contents[LOCK] = write_lock(lock)
    written = write_all(session.project.root, contents) if contents else []
    return [*filter(None, notes), *([f"{' and '.join(written)} record the proofs"] if written else [])]


def _record(session: Session, base: BaseTree, rendering: Rendering, proofs: Sequence[PatchProof]) -> ProofRecord:
    """The record of those proofs whose cells say which files they loaded."""
    infos = [patch.info for patch in rendering.patches]
    patches: dict[str, SealedPatch] = {}
    paths: set[str] = set()
    for proof in proofs:
        # A test that failed before it said what it loaded disputes the patch on the files that the patch reads.
        if not proof.loaded and proof.verdict is not Proof.DISPUTES:
            continue
        patch = rendering.patch(proof.patch)
        chosen = [*required_by(patch.info, infos), patch.info]
        alone = render(chosen, base.tree, base.release, session.cache, progress=session.progress).patch(proof.patch)
        renderings = [rendering_of(each.judgement) for each in (patch, alone)]
        patches[proof.patch] = SealedPatch(
            proof.verdict,
            patch.judgement.state.value,
            statement_of(chosen, tests_of(session, patch.info)),
            tuple(renderings[: 1 if renderings[0] == renderings[1] else 2]),
        )
        paths.update(proof.loaded, *(info.footprint for info in chosen))
    paths.discard(f"{session.project.package.folder}/{_GENERATED}")
    commit = base.stored.commit if base.stored else ""
    return ProofRecord(base.release, commit, base.tree.blob_ids(sorted(paths)), patches)


def _changed_since(started: float, base: BaseTree, record: ProofRecord, package: Package) -> str:
    """A sealed file of the user's folder that was written after the run began; empty if there is none."""
    for path in record.files:
        file = base.folder / package.installed(path)
        if file.exists() and file.stat().st_ctime > started:
            return path
    return ""


def _with_verdicts(
    session: Session, locked: LockedRelease, rendering: Rendering, proofs: Sequence[PatchProof]
) -> LockedRelease:
    """A release of the lock with the proofs of those patches that it has as they were tested."""
    patches = dict(locked.patches)
    for proof in proofs:
        patch, old = rendering.patch(proof.patch), patches.get(proof.patch)
        if old is not None and old.digest == patch.info.digest and old.difference(patch.judgement) is None:
            tests = tests_of(session, patch.info)
            patches[proof.patch] = old._replace(proof=proof.verdict.value, tests=tests)
    return locked._replace(patches=patches)

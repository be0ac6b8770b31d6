"""``test``: runs the matrix on the patched tree, and compares what the tests show with the states of the patches."""

from __future__ import annotations

from typing import NamedTuple

from patchtool.domain.report import Report, UpstreamReport
from patchtool.matrix.verdict import CellVerdict, PatchProof
from patchtool.workflow.matrix_results import matrix_document, matrix_exit_code, record_proofs
from patchtool.workflow.matrix_run import MatrixOptions, MatrixRun, run_matrix
from patchtool.workflow.releases import upstream_report
from patchtool.workflow.session import Session


class MatrixReport(NamedTuple):
    """The report of a run, and what JUnit and annotations are made from.

    Args:
        report: For text and JSON.
        verdicts: Of every cell.
        proofs: Of every patch on every tree.
    """

    report: Report
    verdicts: tuple[CellVerdict, ...]
    proofs: tuple[PatchProof, ...]


def test(session: Session, options: MatrixOptions) -> MatrixReport:
    """Run the matrix, and record its proofs in the lock unless it was only part of it.

    Args:
        session: The run.
        options: What of the matrix to run, and how.
    """
    run = run_matrix(session, options)
    notes = [*session.notes(), *run.notes]
    if not options.partial and not session.project.packaged and options.tree is None:
        notes += record_proofs(session.project, run.proofs)
    report = Report(
        "test",
        matrix_exit_code(run.verdicts, run.proofs),
        _upstream(session, run),
        headline="" if run.cells else "the options select no cell",
        notes=tuple(notes),
        extra=matrix_document(run.verdicts, run.proofs),
        kind="none",
    )
    return MatrixReport(report, run.verdicts, run.proofs)


def _upstream(session: Session, run: MatrixRun) -> UpstreamReport | None:
    if len(run.bases) != 1:
        return None
    base = run.bases[0]
    if base.stored is None:
        return UpstreamReport(base.release, "tree")
    return upstream_report(base.stored, session.project.pin.hashes)

"""``test``: runs the matrix on the patched tree, and compares what the tests show with the states of the patches."""

from __future__ import annotations

from patchtool.domain.errors import RefusedError
from patchtool.domain.report import Report, UpstreamReport
from patchtool.workflow.matrix_results import matrix_document, matrix_exit_code, record_proofs
from patchtool.workflow.matrix_run import MatrixOptions, MatrixRun, run_matrix
from patchtool.workflow.releases import upstream_report
from patchtool.workflow.session import Session


def test(session: Session, options: MatrixOptions) -> tuple[Report, MatrixRun]:
    """Run the matrix, and record its proofs unless it was only part of it.

    Args:
        session: The run.
        options: What of the matrix to run, and how.

    Returns:
        The report, and the run, which other formats than text and JSON are made from.
    """
    if session.no_exec:
        raise RefusedError("test runs code of the series and of upstream, which --no-exec forbids")
    run = run_matrix(session, options)
    notes = [*session.notes(), *run.notes]
    if not options.partial:
        notes += record_proofs(session, run)
    report = Report(
        "test",
        matrix_exit_code(run.verdicts, run.proofs),
        _upstream(session, run),
        headline="" if run.cells else "the options select no cell",
        notes=tuple(notes),
        extra=matrix_document(run.verdicts, run.proofs),
        kind="none",
    )
    return report, run


def _upstream(session: Session, run: MatrixRun) -> UpstreamReport | None:
    if len(run.bases) != 1:
        return None
    base = run.bases[0]
    if base.stored is None:
        return UpstreamReport(base.release, "tree")
    return upstream_report(base.stored, session.project.pin.hashes)

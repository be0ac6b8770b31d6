"""``test``: runs the matrix on the patched tree, and compares what the tests show with the states of the patches."""

from __future__ import annotations

from collections.abc import Sequence

from patchtool.domain.errors import ExitCode, RefusedError
from patchtool.domain.report import Report, UpstreamReport
from patchtool.matrix.cell import Tier
from patchtool.matrix.npu.plan import plan_document, plan_served
from patchtool.workflow.made import made
from patchtool.workflow.matrix_results import matrix_document, matrix_exit_code, record_proofs
from patchtool.workflow.matrix_run import MatrixOptions, MatrixRun, plan_matrix, run_matrix, run_options
from patchtool.workflow.matrix_trees import BaseTree
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
        _upstream(session, run.bases),
        headline="" if run.cells else "the options select no cell",
        notes=tuple(notes),
        extra={"made": made(session), **matrix_document(run.verdicts, run.proofs)},
        kind="none",
    )
    return report, run


def plan(session: Session, options: MatrixOptions) -> Report:
    """Say what a run would do and what this host lacks for it; nothing is run, and nothing is recorded.

    Args:
        session: The run.
        options: What of the matrix, and how.
    """
    planned = plan_matrix(session, options)
    served = plan_served([cell for cell in planned.cells if cell.tier is Tier.NPU], run_options(session, options))
    missing = [need for need in served.needs if need.missing]
    return Report(
        "test",
        ExitCode.ENVIRONMENT if missing else ExitCode.OK,
        _upstream(session, planned.bases),
        headline="" if planned.cells else "the options select no cell",
        notes=(*session.notes(), *planned.notes),
        extra={"cells": [], "proofs": [], "plan": plan_document(planned.cells, served)},
        kind="none",
    )


def _upstream(session: Session, bases: Sequence[BaseTree]) -> UpstreamReport | None:
    if len(bases) != 1:
        return None
    base = bases[0]
    if base.stored is None:
        return UpstreamReport(base.release, "tree")
    return upstream_report(base.stored, session.project.pin.hashes)

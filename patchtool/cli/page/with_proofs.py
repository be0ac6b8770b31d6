"""A survey with the proofs of a run: one page must not call well what its tests dispute further down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from patchtool.cli.page.results import Results, ShownProof
from patchtool.domain.release import Release
from patchtool.domain.report import PatchReport, Report
from patchtool.domain.state import Proof

_MADE = (Proof.AGREES.value, Proof.DISPUTES.value)


def proven(report: Report, run: Results) -> Report:
    """Put the run's proofs in the place of those that the lock has stored.

    A proof is about a patch in one structural state. Where the survey found another state the series has changed since
    the run: the proof is left out there, and a note says so.

    Args:
        report: Of ``survey``.
        run: Of ``test``.
    """
    if report.survey is None:
        return report
    made = {(proof.patch, proof.release): proof for proof in run.proofs if proof.verdict in _MADE}
    rows = [
        row._replace(patches=tuple(_with(patch, made.get((patch.info.name, row.release))) for patch in row.patches))
        for row in report.survey.releases
    ]
    survey = report.survey._replace(releases=tuple(rows))
    notes = [note for row in rows for note in _stale(row.patches, row.release, made)]
    return report._replace(survey=survey, notes=(*report.notes, *notes))


def _with(patch: PatchReport, proof: ShownProof | None) -> PatchReport:
    if proof is None or proof.structural != patch.judgement.state.value:
        return patch
    return patch._replace(judgement=patch.judgement._replace(proof=Proof(proof.verdict)))


def _stale(
    patches: Iterable[PatchReport], release: Release, made: Mapping[tuple[str, Release], ShownProof]
) -> Iterable[str]:
    for patch in patches:
        proof = made.get((patch.info.name, release))
        state = patch.judgement.state.value
        if proof is not None and proof.structural != state:
            yield (
                f"the tests proved {patch.info.name} on {release} as {proof.structural}, and it is {state} now; "
                "run them again"
            )

"""Use a run's proofs in a survey: a page with both must not show as fine what its tests dispute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchtool.cli.reports.run_summary import run_headline
from patchtool.cli.reports.survey_summary import headline

if TYPE_CHECKING:
    from patchtool.cli.reports.run import Run
    from patchtool.domain.documents import Survey, SurveyedRelease


def with_proofs(survey: Survey, run: Run) -> Survey:
    """Replace the survey's stored proofs by those of a run.

    A proof is about a patch in one structural state, on the bytes of a release. Where the survey found another state,
    the series has changed since the run: the proof is left out there, and a note is added. A run on a user's folder
    says nothing about any release.

    Args:
        survey: The document of ``survey --json``; it is not changed.
        run: A run of ``test``.
    """
    proofs = {(p.patch, p.release): p for p in run.proofs if p.verdict in ("agrees", "disputes")}
    notes = list(survey["notes"])
    if run.of_a_folder:
        proofs.clear()
        notes.append("the tests ran on a folder, so they prove nothing about the releases")
    releases: list[SurveyedRelease] = []
    for row in survey["releases"]:
        patches = []
        for patch in row["patches"]:
            proof, before = proofs.get((patch["name"], row["release"])), patch["proof"]
            if proof and proof.structural == patch["state"]:
                patch = {**patch, "proof": proof.verdict, "proven_on": row["release"], "proof_detail": None}
                patch |= {"accepted": patch.get("accepted") if proof.verdict == before else None}
            elif proof:
                notes.append(
                    f"the tests ran with {patch['name']} {proof.structural} on {row['release']}, and it is "
                    f"{patch['state']} now; run them again"
                )
            patches.append(patch)
        releases.append({**row, "patches": patches})
    return {**survey, "releases": releases, "notes": notes}


def joint_headline(survey: Survey, run: Run | None) -> str:
    """One sentence, without its full stop, for a survey with a run; where they disagree, it says that and no more.

    Args:
        survey: The survey, with the run's proofs.
        run: The run, or None.
    """
    if run is None:
        return headline(survey)
    said = run_headline(run)
    if any(proof.verdict == "disputes" for proof in run.proofs):
        return said
    return f"{headline(survey)}; {said[0].lower()}{said[1:]}"

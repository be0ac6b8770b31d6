"""The survey's section: a heat map, releases across and patches down, with all evidence for its cells."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from patchtool.cli.page.document import Section, density, rendered
from patchtool.cli.reports.survey_siblings import likenesses, searched_sentence, was_searched
from patchtool.cli.reports.survey_summary import (
    GLYPHS,
    MEANINGS,
    PROOF_WORDS,
    PROOFS,
    UNPROVEN,
    change_sentence,
    for_people,
    has_unproven,
    open_work,
    seen_proofs,
    sentences,
    state_changes,
    state_counts,
    work_clause,
)

if TYPE_CHECKING:
    from patchtool.domain.documents import Survey


def survey_section(survey: Survey) -> Section:
    """Render a survey as a section of the report.

    Args:
        survey: The document of ``survey --json``.
    """
    survey = for_people(survey)
    counts = state_counts(survey)
    glyphs = GLYPHS | {"absent": "\u2013"}
    body = rendered(
        "survey.html",
        sentences=sentences(survey),
        releases=survey["releases"],
        series=survey["series"],
        glyphs=glyphs,
        meanings=MEANINGS,
        counts={state: counts[state] for state in GLYPHS if counts[state]},
        proofs=PROOFS,
        proof_words=PROOF_WORDS,
        seen_proofs=seen_proofs(survey),
        unproven=UNPROVEN if has_unproven(survey) else "",
        density=density(len(survey["releases"])),
        changes=state_changes(survey)[::-1],
        work=open_work(survey),
        work_clause=work_clause,
        likenesses=likenesses(survey),
        searched=searched_sentence(survey) if was_searched(survey) else "",
        notes=[*map(change_sentence, survey.get("changes", [])), *survey["notes"]],
    )
    return Section("survey", "Survey", body, _data(survey) | {"glyphs": glyphs})


def _data(survey: Survey) -> dict[str, Any]:
    """What the panel shows; findings and diffs that are the same on several releases are there once."""
    findings: dict[str, int] = {}
    diffs: dict[str, int] = {}

    def index_of(patch: Any) -> int:
        diff = diffs.setdefault(patch["diff"], len(diffs)) if patch["diff"] else None
        return findings.setdefault(json.dumps({**patch, "diff": diff}), len(findings))

    grid = [[index_of(patch) for patch in row["patches"]] for row in survey["releases"]]
    return {
        "releases": [row["release"] for row in survey["releases"]],
        "patches": survey["series"],
        "grid": grid,
        "findings": [json.loads(finding) for finding in findings],
        "diffs": list(diffs),
    }

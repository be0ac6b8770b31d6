"""A survey as Markdown, for a comment or a job summary on GitHub."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from patchtool.cli.reports.survey_siblings import likenesses, searched_sentence, was_searched
from patchtool.cli.reports.survey_summary import (
    MEANINGS,
    PROOF_WORDS,
    UNPROVEN,
    for_people,
    has_unproven,
    headline,
    open_work,
    sentences,
    state_changes,
    state_counts,
    work_clause,
)
from patchtool.cli.reports.words import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchtool.domain.documents import Survey, SurveyedPatch

_MARKS = dict(zip(MEANINGS, "🟦🟩🟨⬜🟧🔳🟥🟪🟫⬛"))


def survey_markdown(survey: Survey) -> str:
    """Format a survey as a GitHub table with changes, open work and a legend.

    Args:
        survey: The document of ``survey --json``.
    """
    survey = for_people(survey)
    parts = [" ".join([f"**{headline(survey)}.**", *map(escaped, sentences(survey))])]
    if survey["releases"] and survey["series"]:
        head = ["release", *(f"`{patch['name']}`" for patch in survey["series"])]
        parts.append("\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *_rows(survey)]))
    if changes := state_changes(survey):
        lines = [f"- `{c['patch']}`: {c['before']} → **{c['after']}** in {c['release']}" for c in changes]
        parts.append("\n".join(["### Changes\n", *lines]))
    if work := open_work(survey):
        lines = [f"- {escaped(work_clause(part))}{_why(part.patch)}" for part in work]
        parts.append("\n".join(["### Needs work\n", *lines]))
    if was_searched(survey):
        parts.append("\n".join(["### Candidates\n", f"{searched_sentence(survey)}\n", *_candidates(survey)]))
    if counts := state_counts(survey):
        lines = [f"- {_MARKS[s]} **{s}** ({counts[s]}): {MEANINGS[s]}" for s in MEANINGS if counts[s]]
        lines += [f"- {UNPROVEN}"] if has_unproven(survey) else []
        parts.append("\n".join(["### Legend\n", *lines, "", "Bold in the table: the state changed there."]))
    if survey["notes"]:
        parts.append("\n".join(f"> {escaped(note)}" for note in survey["notes"]))
    return "\n\n".join(parts) + "\n"


def _rows(survey: Survey) -> Iterator[list[str]]:
    changed = {(change["release"], change["patch"]) for change in state_changes(survey)}
    for row in survey["releases"]:
        cells = [row["release"]]
        for patch in row["patches"]:
            state = patch["state"]
            word = f"**{state}**" if (row["release"], patch["name"]) in changed else state
            proof = f" ({PROOF_WORDS[patch['proof']]})" if patch["proof"] in PROOF_WORDS else ""
            cells.append(f"{_MARKS[state]} {word}{proof}")
        yield cells


def _candidates(survey: Survey) -> Iterator[str]:
    for each in likenesses(survey):
        yield f"- `{each.patch}`: {escaped(each.likeness)}"
        for site, releases in each.candidates:
            place = f"{site['path']}:{site['line']}"
            yield f"  - {code_span(place)} on {escaped(releases)}: {code_span(site['code'])}"


def _why(patch: SurveyedPatch) -> str:
    reason = f" ({escaped(patch['reason'])})" if patch["reason"] else ""
    detail = f": {escaped(patch['detail'])}" if patch["detail"] else ""
    nearest = [
        f"; nearest: {code_span(f'''{c['path']}:{c['line']}''')}, {c['similarity']:.0%} similar: {code_span(c['code'])}"
        for c in patch["candidates"][:1]
    ]
    return reason + detail + "".join(nearest)


def escaped(text: str) -> str:
    """Escape what Markdown, HTML in it and GitHub's mentions would interpret."""
    marked = re.sub(r"([\\`*_{}\[\]()#|~])", r"\\\1", visible(text))
    marked = marked.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return marked.replace("@", "@\u2060").replace("://", ":\u2060//")


def code_span(text: str) -> str:
    """A code span for any text: its fence is longer than every run of backticks in it."""
    shown = visible(text)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    return f"{fence} {shown} {fence}"

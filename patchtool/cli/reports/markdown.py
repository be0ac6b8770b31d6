"""A survey as Markdown, for a comment or a job's summary on GitHub."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from patchtool.cli.reports.survey_summary import (
    MEANINGS,
    PROOF_WORDS,
    changes,
    counts,
    headline,
    patches,
    sentences,
    trouble,
    troubles,
    visible,
)
from patchtool.domain.patch import Judgement
from patchtool.domain.report import Report
from patchtool.domain.state import State
from patchtool.domain.survey import Survey

_MARKS = {
    State.APPLIED: "🟦",
    State.LANDED: "🟩",
    State.PARTIAL: "🟨",
    State.ABSENT: "⬜",
    State.DRIFTED: "🟧",
    State.CONFLICT: "🟥",
    State.AMBIGUOUS: "🟪",
    State.BLOCKED: "🟫",
    State.CRASHED: "⬛",
}


def survey_markdown(report: Report) -> str:
    """The matrix as a GitHub table, what changed, what needs work, and what the states mean."""
    survey = report.survey or Survey(())
    parts = [" ".join([f"**{headline(survey)}.**", *map(_escaped, sentences(survey))])]
    names = [p.info.name for p in patches(survey)]
    if survey.releases and names:
        head = ["release", *(f"`{name}`" for name in names)]
        table = [head, ["---"] * len(head), *_markdown_rows(survey)]
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in table))
    if found := changes(survey):
        lines = [f"- `{c.patch}`: {c.before} → **{c.after}** in {c.release}" for c in found]
        parts.append("### Changes\n\n" + "\n".join(lines))
    if work := troubles(survey):
        lines = [f"- {_escaped(trouble(span))}{_why(span.judgement)}" for span in work]
        parts.append("### Needs work\n\n" + "\n".join(lines))
    if seen := counts(survey):
        lines = [f"- {_MARKS[s]} **{s.value}** ({seen[s]}): {MEANINGS[s]}" for s in State if seen[s]]
        parts.append("### Legend\n\n" + "\n".join([*lines, "", "Bold in the table: the state changed there."]))
    if report.notes:
        parts.append("\n".join(f"> {_escaped(note)}" for note in report.notes))
    return "\n\n".join(parts) + "\n"


def _before(survey: Survey, index: int) -> list[State | None]:
    if index == 0:
        return [None] * len(survey.releases[0].patches)
    return [p.judgement.state for p in survey.releases[index - 1].patches]


def _markdown_rows(survey: Survey) -> Iterator[list[str]]:
    for index, row in enumerate(survey.releases):
        pairs = zip(row.patches, _before(survey, index))
        yield [row.release.tag, *(_markdown_cell(patch.judgement, before) for patch, before in pairs)]


def _markdown_cell(judgement: Judgement, before: State | None) -> str:
    word = judgement.state.value
    if before is not None and before is not judgement.state:
        word = f"**{word}**"
    proof = f" ({PROOF_WORDS[judgement.proof]})" if judgement.proof in PROOF_WORDS else ""
    return f"{_MARKS[judgement.state]} {word}{proof}"


def _why(judgement: Judgement) -> str:
    reason = f" ({_escaped(judgement.reason)})" if judgement.reason else ""
    detail = f": {_escaped(judgement.detail)}" if judgement.detail else ""
    nearest: Sequence[str] = [
        f"; nearest: {_code(f'{c.path}:{c.line}')}, {c.similarity:.0%} alike: {_code(c.code)}"
        for c in judgement.candidates[:1]
    ]
    return reason + detail + "".join(nearest)


def _escaped(text: str) -> str:
    """Text that Markdown, HTML in it and GitHub's mentions leave alone."""
    marked = re.sub(r"([\\`*_{}\[\]()#|~])", r"\\\1", visible(text))
    marked = marked.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return marked.replace("@", "@\u2060").replace("://", ":\u2060//")


def _code(text: str) -> str:
    """A code span that holds any text: its fence is longer than every run of backticks in it."""
    shown = visible(text)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    return f"{fence} {shown} {fence}"

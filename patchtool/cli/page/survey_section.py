"""The survey's section: a heat map, releases across and patches down, with all evidence behind its cells."""

from __future__ import annotations

import json
from typing import Any

from patchtool.cli.page.document import Section, asset, chip, filled, panel, text
from patchtool.cli.reports.survey_summary import (
    GLYPHS,
    MEANINGS,
    PROOF_WORDS,
    PROOFS,
    changes,
    counts,
    headline,
    needs_work,
    patches,
    sentences,
    trouble,
    troubles,
)
from patchtool.domain.patch import PatchInfo
from patchtool.domain.report import PatchReport, Report
from patchtool.domain.state import Proof, State
from patchtool.domain.survey import Survey, SurveyedRelease

_DENSE = 24


def survey_section(report: Report) -> Section:
    """A survey as a section of the report."""
    survey = report.survey or Survey(())
    body = filled(
        asset("survey.html"),
        {
            "headline": text(headline(survey)),
            "sentences": "".join(f"<p>{text(line)}</p>" for line in sentences(survey)),
            "legend": _legend(survey),
            "marks": _marks(survey),
            "density": "dense" if len(survey.releases) > _DENSE else "roomy",
            "heads": "".join(_head(row) for row in survey.releases),
            "rows": "\n".join(_row(survey, index, patch.info) for index, patch in enumerate(patches(survey))),
            "changes": _changes(survey),
            "work": _work(survey),
            "meanings": "".join(
                f'<div><dt><span class="swatch s-{state.value}">{_glyph(state)}</span> {state.value}</dt>'
                f"<dd>{text(MEANINGS[state])}</dd></div>"
                for state in State
            ),
            "panel": panel("", earlier="Earlier release", later="Later release"),
            "notes": "".join(f"<p>{text(note)}</p>" for note in (*report.headline.splitlines(), *report.notes)),
        },
    )
    return Section("survey", "Survey", body, _data(survey))


def _legend(survey: Survey) -> str:
    seen = counts(survey)
    return "".join(chip(state.value, _glyph(state), MEANINGS[state], seen[state]) for state in State if seen[state])


def _marks(survey: Survey) -> str:
    """The legend of what stands beside a state, where anything does."""
    proofs = {p.judgement.proof for row in survey.releases for p in row.patches}
    parts = ['<span class="notch" aria-hidden="true"></span>state changed'] if changes(survey) else []
    parts += [f"<b>{PROOFS[proof]}</b> {PROOF_WORDS[proof]}" for proof in PROOFS if proof in proofs]
    return "".join(f"<span>{part}</span>" for part in parts)


def _head(row: SurveyedRelease) -> str:
    base, dot, post = row.release.tag.partition(".post")
    tail = f"<small>{text(dot + post)}</small>" if dot else ""
    return f'<th scope="col"><span>{text(base)}{tail}</span></th>'


def _row(survey: Survey, index: int, info: PatchInfo) -> str:
    cells = "".join(_cell(survey, column, index) for column in range(len(survey.releases)))
    name = text(info.name).replace("_", "_<wbr>")
    return (
        f'<tr><th scope="row" title="{text(info.title)}"><span class="name">{name}</span>'
        f'<span class="title">{text(info.title)}</span></th>{cells}</tr>'
    )


def _cell(survey: Survey, column: int, index: int) -> str:
    row = survey.releases[column]
    patch = row.patches[index]
    state, proof = patch.judgement.state, patch.judgement.proof
    same_before = column > 0 and survey.releases[column - 1].patches[index].judgement.state is state
    same_after = (
        column + 1 < len(survey.releases) and survey.releases[column + 1].patches[index].judgement.state is state
    )
    changed = column > 0 and not same_before
    edges = " first" * (not same_before) + " last" * (not same_after) + " changed" * changed
    words = f"{state.value}, {PROOF_WORDS[proof]}" if proof in PROOF_WORDS else state.value
    reason = f" ({patch.judgement.reason})" if patch.judgement.reason else ""
    name, tag = text(patch.info.name), text(row.release.tag)
    return (
        f'<td id="{tag}/{name}" data-state="{state.value}" class="s-{state.value}{edges}" '
        f'title="{name} on {tag}: {words}{text(reason)}">'
        f'<span class="tile"><span aria-hidden="true">{_glyph(state)}{_mark(proof)}</span>'
        f'<span class="vh">{words}{", changed here" if changed else ""}</span></span></td>'
    )


def _glyph(state: State) -> str:
    return "\u2013" if state is State.ABSENT else GLYPHS[state]


def _mark(proof: Proof) -> str:
    return f"<sup>{PROOFS[proof]}</sup>" if proof in PROOFS else ""


def _changes(survey: Survey) -> str:
    items = [
        f'<li><a href="#{text(c.release.tag)}/{text(c.patch)}"><time>{text(c.release.tag)}</time> '
        f"<code>{text(c.patch)}</code></a> <span>{c.before} <span aria-hidden='true'>→</span>"
        f'<span class="vh">to</span> <b class="word w-{c.after}">{c.after}</b></span></li>'
        for c in reversed(changes(survey))
    ]
    return "".join(items) or "<li>No patch changed its state.</li>"


def _work(survey: Survey) -> str:
    items = [
        f'<li><a href="#{text(span.first)}/{text(span.patch)}">{text(trouble(span))}</a>'
        f"<span>{text(span.judgement.detail or span.judgement.reason or '')}</span></li>"
        for span in troubles(survey)
    ]
    return "".join(items) or "<li>Nothing. Every patch applies or has landed.</li>"


def _data(survey: Survey) -> dict[str, Any]:
    """What the panel shows; findings and diffs that recur over releases are kept once."""
    findings: dict[str, int] = {}
    diffs: dict[str, int] = {}
    grid = [
        [findings.setdefault(json.dumps(_finding(row, patch, diffs)), len(findings)) for patch in row.patches]
        for row in survey.releases
    ]
    return {
        "releases": [row.release.tag for row in survey.releases],
        "patches": [_patch(patch.info) for patch in patches(survey)],
        "grid": grid,
        "findings": [json.loads(finding) for finding in findings],
        "diffs": list(diffs),
        "glyphs": {state.value: _glyph(state) for state in State},
    }


def _patch(info: PatchInfo) -> dict[str, Any]:
    return {
        "name": info.name,
        "title": info.title,
        "reason": info.reason,
        "origin": info.origin,
        "upstream": info.applied_upstream,
        "requires": list(info.requires),
    }


def _finding(row: SurveyedRelease, patch: PatchReport, diffs: dict[str, int]) -> dict[str, Any]:
    found = patch.judgement
    diff = row.diffs.get(patch.info.name, "")
    return patch.to_json() | {
        "sites": [[site.path, site.line, site.symbol, site.rule] for site in found.sites],
        "trace": found.trace,
        "work": needs_work(found),
        "diff": diffs.setdefault(diff, len(diffs)) if diff else None,
    }

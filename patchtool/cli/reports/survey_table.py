"""A survey for the terminal: a matrix of state words, or of letters where the terminal is too narrow for words."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Any

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
    headline,
    needs_work,
    open_work,
    seen_proofs,
    sentences,
    state_changes,
    state_counts,
    work_clause,
)
from patchtool.cli.reports.text import COLORS, aligned, explanation, tinted
from patchtool.cli.reports.words import visible

if TYPE_CHECKING:
    from patchtool.domain.documents import Survey, SurveyedPatch
    from patchtool.domain.report import Report

_HEAD_WIDTH = 12
_MAX_SHOWN = 12


def survey_text(report: Report, *, color: bool, verbose: bool, quiet: bool = False, width: int = 80) -> str:
    """Format a survey as a matrix, with what its states mean and what changed.

    Args:
        report: The report of ``survey``.
        color: Whether to use terminal colours.
        verbose: Whether to add all evidence of what needs work, and of the newest release.
        quiet: Whether to print the matrix only.
        width: Columns of the terminal.
    """
    survey: Any = for_people(report.to_json())  # type: ignore[arg-type]
    matrix = _words(survey, color=color, width=width) or _letters(survey, color=color, width=width)
    parts = [matrix if survey["releases"] else ""]
    if not quiet:
        parts.append(_legend(survey, color=color, width=width))
        parts.append(_joined(map(change_sentence, state_changes(survey))))
        parts.append(_joined(_work_lines(survey)))
        parts += _evidence(report) if verbose else _drifts(survey)
        parts.append(_joined(_candidate_lines(survey)))
        parts.append(_joined(f"note: {visible(note)}" for note in report.notes))
        parts.append(_joined([f"{headline(survey)}.", *sentences(survey)]))
        parts.append(_joined(report.headline.splitlines()))
    return "\n".join(filter(None, parts))


def _joined(lines: Any) -> str:
    return "".join(f"{line}\n" for line in lines)


def _words(survey: Survey, *, color: bool, width: int) -> str:
    """One word per patch and release; empty where that is too wide."""
    heads = [_wrapped(patch["name"]) for patch in survey["series"]]
    height = max(map(len, heads), default=1)
    # A short name is in the line directly above the states.
    rows = [["", *("" for _ in heads)] for _ in range(height)]
    rows[-1][0] = "release"
    for column, head in enumerate(heads, start=1):
        for line, piece in zip(rows[height - len(head) :], head):
            line[column] = piece
    colors: dict[tuple[int, int], str] = {}
    for number, row in enumerate(survey["releases"], start=height):
        rows.append([row["release"], *(patch["state"] + PROOFS.get(patch["proof"], "") for patch in row["patches"])])
        colors |= {(number, column): COLORS[patch["state"]] for column, patch in enumerate(row["patches"], start=1)}
    if max(map(len, aligned(rows))) > width:
        return ""
    return _joined(aligned(rows, colors if color else {}))


def _letters(survey: Survey, *, color: bool, width: int) -> str:
    """One letter per release and numbered patch, in as many blocks as the width requires."""
    names = [patch["name"] for patch in survey["series"]]
    first = max(len("release"), *(len(row["release"]) for row in survey["releases"]), 0)
    cell = max(2, len(str(len(names))))
    per_block = max(1, (width - first) // (cell + 1))

    def letter(patch: SurveyedPatch) -> str:
        text = GLYPHS[patch["state"]] + PROOFS.get(patch["proof"], "")
        return tinted(text.rjust(cell), COLORS[patch["state"]] if color else "")

    blocks = []
    for start in range(0, len(names), per_block):
        block = range(start, min(start + per_block, len(names)))
        lines = [" ".join(["release".ljust(first), *(str(i + 1).rjust(cell) for i in block)])]
        lines += [
            " ".join([row["release"].ljust(first), *(letter(row["patches"][i]) for i in block)])
            for row in survey["releases"]
        ]
        blocks.append(_joined(line.rstrip() for line in lines))
    return "\n".join([*blocks, _joined(f"{str(i).rjust(cell)} {name}" for i, name in enumerate(names, start=1))])


def _legend(survey: Survey, *, color: bool, width: int) -> str:
    counts = state_counts(survey)
    lines = []
    for state in (state for state in GLYPHS if counts[state]):
        words = textwrap.wrap(MEANINGS[state], max(width - 20, 20))
        head = f"{GLYPHS[state]} {state.ljust(10)} {str(counts[state]).rjust(4)}"
        lines.append(f"{tinted(head, COLORS[state] if color else '')}  {words[0]}")
        lines += [" " * 19 + more for more in words[1:]]
    lines += [f"{PROOFS[proof]} {PROOF_WORDS[proof]}" for proof in seen_proofs(survey)]
    return _joined([*lines, UNPROVEN] if has_unproven(survey) else lines)


def _work_lines(survey: Survey) -> list[str]:
    work = open_work(survey)
    lines = []
    for part in work[:_MAX_SHOWN]:
        patch = part.patch
        reason = f" ({patch['reason']})" if patch["reason"] else ""
        lines.append(f"{work_clause(part)}{reason}: {visible(patch['detail'] or '')}".rstrip(": "))
        for nearest in patch["candidates"][:1]:
            where = f"{nearest['path']}:{nearest['line']}"
            lines.append(f"  nearest: {where}, {nearest['similarity']:.0%} similar: {visible(nearest['code'])}")
        lines.append(f"  hint: patchtool explain {patch['name']} --on {part.first}")
    return [*lines, f"and {len(work) - _MAX_SHOWN} more"] if len(work) > _MAX_SHOWN else lines


def _candidate_lines(survey: Survey) -> list[str]:
    """Code that looks like the defects, where it was searched for."""
    if not was_searched(survey):
        return []
    lines = []
    for each in likenesses(survey):
        lines.append(f"candidates for {each.patch}: {visible(each.likeness)}")
        for site, releases in each.candidates:
            where = f" in {visible(site['symbol'])}" if site["symbol"] else ""
            lines += [f"  {visible(site['path'])}:{site['line']}{where}, {releases}", f"    {visible(site['code'])}"]
    return [*lines, searched_sentence(survey)]


def _drifts(survey: Survey) -> list[str]:
    """How the rendering of each drifted patch differs, on the newest release where it is."""
    newest = {
        p["name"]: p["drift"] for row in survey["releases"] for p in row["patches"] if p.get("drift") and needs_work(p)
    }
    return [_joined(map(visible, drift.splitlines())) for drift in newest.values() if drift]


def _evidence(report: Report) -> list[str]:
    survey: Any = for_people(report.to_json())  # type: ignore[arg-type]
    rows = report.survey.releases if report.survey else ()
    evidence = []
    for row, found in zip(rows, survey["releases"]):
        for patch, document in zip(row.patches, found["patches"]):
            if row is rows[-1] or needs_work(document):
                lines = explanation(patch).splitlines() + patch.judgement.trace.splitlines()
                evidence.append(f"{row.release} {_joined(map(visible, lines))}")
    return evidence


def _wrapped(name: str) -> list[str]:
    """Split a name after underscores into pieces about as wide as a state."""
    pieces: list[str] = []
    for piece in re.findall(r"[^_]*_+|[^_]+", name):
        if pieces and len(pieces[-1]) + len(piece) <= _HEAD_WIDTH:
            pieces[-1] += piece
        else:
            pieces.append(piece)
    return pieces or [name]

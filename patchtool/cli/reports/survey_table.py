"""A survey for the terminal: a matrix of words, or of letters where they do not fit."""

from __future__ import annotations

import re
import shutil
import textwrap
from typing import TYPE_CHECKING

from patchtool.cli.reports.markdown import survey_markdown
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
    visible,
)
from patchtool.cli.reports.text import COLORS, colorful, explanation, show, write
from patchtool.domain.patch import Judgement
from patchtool.domain.report import Report
from patchtool.domain.state import State
from patchtool.domain.survey import Survey

if TYPE_CHECKING:
    from patchtool.cli.options import OutputOptions

__all__ = ["show_survey", "survey_markdown", "survey_text"]

_WORD = 12
_SHOWN = 12


def show_survey(report: Report, face: OutputOptions, *, markdown: bool) -> None:
    """Write a survey to stdout; JSON goes before Markdown."""
    if face.json:
        show(report, face)
    elif markdown:
        write(survey_markdown(report))
    else:
        color, width = face.color and colorful(), shutil.get_terminal_size().columns
        write(survey_text(report, color=color, verbose=face.verbose, quiet=face.quiet, width=width))


def survey_text(report: Report, *, color: bool, verbose: bool, quiet: bool = False, width: int = 80) -> str:
    """The matrix for a terminal: state words where they fit, letters where not, and what they mean.

    Args:
        report: Of ``survey``.
        color: With terminal colours.
        verbose: With all evidence of what needs work, and of the newest release.
        quiet: Only the matrix.
        width: Columns of the terminal.
    """
    survey = report.survey or Survey(())
    matrix = _words(survey, color=color, width=width) or _letters(survey, color=color, width=width)
    parts = [matrix] if survey.releases else []
    if quiet:
        return "\n".join(parts)
    parts.append(_legend(survey, color=color, width=width))
    parts.append("".join(f"{change}\n" for change in changes(survey)))
    parts.append("".join(f"{line}\n" for line in _trouble_lines(survey)))
    if verbose:
        parts += _evidence(survey)
    parts.append("".join(f"note: {visible(note)}\n" for note in report.notes))
    parts.append("\n".join([f"{headline(survey)}.", *sentences(survey)]) + "\n")
    if report.headline:
        parts.append(report.headline + "\n")
    return "\n".join(part for part in parts if part)


def _words(survey: Survey, *, color: bool, width: int) -> str:
    """Releases down, patches across, a word each; empty where that is too wide."""
    heads = [_wrapped(p.info.name) for p in patches(survey)]
    labels = [row.release.tag for row in survey.releases]
    words = [[_word(p.judgement) for p in row.patches] for row in survey.releases]
    first = max(map(len, ["release", *labels]), default=0)
    widths = [max(map(len, [*head, *column])) for head, column in zip(heads, zip(*words))]
    if first + sum(w + 2 for w in widths) > width:
        return ""
    height = max(map(len, heads), default=1)
    lines = []
    for level in range(height):
        # Short names stand on the line above the states.
        pieces = [head[level - height + len(head)] if level >= height - len(head) else "" for head in heads]
        label = "release" if level == height - 1 else ""
        lines.append("  ".join([label.ljust(first), *(p.ljust(w) for p, w in zip(pieces, widths))]))
    for label, row, cells in zip(labels, survey.releases, words):
        painted = [_painted(c.ljust(w), p.judgement, color) for c, w, p in zip(cells, widths, row.patches)]
        lines.append("  ".join([label.ljust(first), *painted]))
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _letters(survey: Survey, *, color: bool, width: int) -> str:
    """Releases down, numbered patches across, a letter each, in as many blocks as it takes."""
    names = [p.info.name for p in patches(survey)]
    labels = [row.release.tag for row in survey.releases]
    first = max(map(len, ["release", *labels]), default=0)
    cell = max(2, len(str(len(names))))
    per_block = max(1, (width - first) // (cell + 1))
    blocks = []
    for start in range(0, len(names), per_block):
        some = range(start, min(start + per_block, len(names)))
        lines = [" ".join(["release".ljust(first), *(str(i + 1).rjust(cell) for i in some)])]
        for label, row in zip(labels, survey.releases):
            found = [row.patches[i].judgement for i in some]
            lines.append(" ".join([label.ljust(first), *(_painted(_letter(j).rjust(cell), j, color) for j in found)]))
        blocks.append("".join(f"{line.rstrip()}\n" for line in lines))
    key = "".join(f"{str(i + 1).rjust(cell)} {name}\n" for i, name in enumerate(names))
    return "\n".join([*blocks, key])


def _legend(survey: Survey, *, color: bool, width: int) -> str:
    seen = counts(survey)
    lines = []
    for state in (state for state in State if seen[state]):
        words = textwrap.wrap(MEANINGS[state], max(width - 20, 20))
        head = f"{GLYPHS[state]} {state.value.ljust(10)} {str(seen[state]).rjust(4)}"
        lines.append(f"{_tinted(head, state, color)}  {words[0]}")
        lines += [" " * 19 + more for more in words[1:]]
    proofs = {p.judgement.proof for row in survey.releases for p in row.patches}
    lines += [f"{PROOFS[proof]} {PROOF_WORDS[proof]}" for proof in PROOFS if proof in proofs]
    return "".join(f"{line}\n" for line in lines)


def _trouble_lines(survey: Survey) -> list[str]:
    found = troubles(survey)
    lines = []
    for span in found[:_SHOWN]:
        reason = f" ({span.judgement.reason})" if span.judgement.reason else ""
        lines.append(f"{trouble(span)}{reason}: {visible(span.judgement.detail)}".rstrip(": "))
        nearest = span.judgement.candidates[:1]
        lines += [f"  nearest: {c.path}:{c.line}, {c.similarity:.0%} alike: {visible(c.code)}" for c in nearest]
        lines.append(f"  hint: patchtool explain {span.patch} --on {span.first}")
    return [*lines, f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else lines


def _evidence(survey: Survey) -> list[str]:
    told = []
    for row in survey.releases:
        for patch in row.patches:
            if row is survey.releases[-1] or needs_work(patch.judgement):
                lines = explanation(patch).splitlines() + patch.judgement.trace.splitlines()
                told.append(f"{row.release} " + "\n".join(visible(line) for line in lines) + "\n")
    return told


def _wrapped(name: str) -> list[str]:
    """A name in pieces about as wide as a state's word, cut behind its underscores."""
    pieces: list[str] = []
    for piece in re.findall(r"[^_]*_+|[^_]+", name):
        if pieces and len(pieces[-1]) + len(piece) <= _WORD:
            pieces[-1] += piece
        else:
            pieces.append(piece)
    return pieces or [name]


def _word(judgement: Judgement) -> str:
    return judgement.state.value + PROOFS.get(judgement.proof, "")


def _letter(judgement: Judgement) -> str:
    return GLYPHS[judgement.state] + PROOFS.get(judgement.proof, "")


def _painted(cell: str, judgement: Judgement, color: bool) -> str:
    return _tinted(cell, judgement.state, color)


def _tinted(text: str, state: State, color: bool) -> str:
    return f"\x1b[{COLORS[state]}m{text}\x1b[0m" if color else text

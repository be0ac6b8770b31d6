"""What a survey comes to in a few sentences, and the words and letters for its states; for all faces alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from patchtool.domain.errors import ExitCode
from patchtool.domain.patch import Judgement
from patchtool.domain.report import PatchReport
from patchtool.domain.state import Proof, State
from patchtool.domain.survey import StateChange, Survey

GLYPHS = {
    State.APPLIED: "A",
    State.LANDED: "L",
    State.PARTIAL: "P",
    State.ABSENT: "-",
    State.DRIFTED: "D",
    State.CONFLICT: "C",
    State.AMBIGUOUS: "?",
    State.BLOCKED: "B",
    State.CRASHED: "X",
}
"""One character per state, so that no face depends on colour."""

MEANINGS = {
    State.APPLIED: "needed, and it applies",
    State.LANDED: "upstream has all of it; nothing to carry",
    State.PARTIAL: "upstream has some of it; only the missing goals are applied",
    State.ABSENT: "the release is older than the code it changes",
    State.DRIFTED: "it applies, but the result differs from what was recorded; review it",
    State.CONFLICT: "its anchor is gone, or only half of it landed; a person is needed",
    State.AMBIGUOUS: "more places fit than expected; a person is needed",
    State.BLOCKED: "a patch that it requires failed",
    State.CRASHED: "its codemod raised",
}

PROOFS = {Proof.AGREES: "+", Proof.DISPUTES: "!"}
"""Behind the letter: what the behavioural tests say."""

PROOF_WORDS = {Proof.AGREES: "tests agree", Proof.DISPUTES: "tests dispute it"}

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ALL = {1: "the patch", 2: "both patches"}
_FEW = 4
# What a terminal, or a reader's eye, would obey instead of show: controls, bidirectional overrides, zero widths.
_UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


@dataclass(frozen=True)
class Span:
    """A patch in one state over neighbouring releases.

    Args:
        patch: Its name.
        judgement: On the first of them.
        first: The oldest release.
        last: The newest.
        count: How many.
        index: Of the oldest in the survey.
    """

    patch: str
    judgement: Judgement
    first: str
    last: str
    count: int
    index: int

    @property
    def where(self) -> str:
        """``v0.5.11`` or ``v0.5.11 to v0.5.13``."""
        return self.first if self.count == 1 else f"{self.first} to {self.last}"


def patches(survey: Survey) -> tuple[PatchReport, ...]:
    """One report per patch, in the series' order; of the newest release."""
    return survey.releases[-1].patches if survey.releases else ()


def spans(survey: Survey, name: str) -> list[Span]:
    """A patch's states, run by run, oldest first."""
    found: list[Span] = []
    for index, row in enumerate(survey.releases):
        judgement = next(p.judgement for p in row.patches if p.info.name == name)
        tag = row.release.tag
        last = found[-1] if found else None
        if last and (last.judgement.state, last.judgement.proof) == (judgement.state, judgement.proof):
            found[-1] = Span(name, last.judgement, last.first, tag, last.count + 1, last.index)
        else:
            found.append(Span(name, judgement, tag, tag, 1, index))
    return found


def counts(survey: Survey) -> Counter[State]:
    """How many cells have which state."""
    return Counter(p.judgement.state for row in survey.releases for p in row.patches)


def needs_work(judgement: Judgement) -> bool:
    """Whether a person has to look at it."""
    return judgement.state.exit_code is not ExitCode.OK or judgement.proof is Proof.DISPUTES


def changes(survey: Survey) -> list[StateChange]:
    """Every change of state of every patch, oldest first."""
    found = [change for patch in patches(survey) for change in survey.changes(patch.info.name)]
    return sorted(found, key=lambda change: change.release)


def troubles(survey: Survey) -> list[Span]:
    """The runs that need a person; those that reach the newest releases first."""
    found = [span for p in patches(survey) for span in spans(survey, p.info.name) if needs_work(span.judgement)]
    return sorted(found, key=lambda span: -(span.index + span.count))


def trouble(span: Span) -> str:
    """One run that needs a person, as a clause."""
    found = span.judgement
    disputed = " but is disputed by its tests" if found.proof is Proof.DISPUTES else ""
    return f"{span.patch} {_is(found.state, 1)}{disputed} on {span.where}"


def headline(survey: Survey) -> str:
    """How the series stands on the newest release."""
    if not survey.releases:
        return "No release was surveyed"
    newest = survey.releases[-1]
    tally = Counter(p.judgement.state for p in newest.patches)
    disputed = sum(p.judgement.proof is Proof.DISPUTES for p in newest.patches)
    total = len(newest.patches)
    if not total:
        return f"The series is empty on {newest.release}"
    order = [State.LANDED, *(state for state in State if state is not State.LANDED)]
    clauses: list[str] = []
    for state in (state for state in order if tally[state]):
        number = tally[state]
        if number == total:
            subject = _ALL.get(total, f"all {_number(total)} patches")
        else:
            subject = f"{_number(number)} of {_number(total)} patches" if not clauses else _number(number)
        clauses.append(f"{subject} {_is(state, number)}")
    if disputed:
        clauses.append(f"tests dispute {_number(disputed)}")
    words = _listed(clauses)
    return f"{words[0].upper()}{words[1:]} on {newest.release}"


def sentences(survey: Survey) -> list[str]:
    """What else a maintainer wants to know at once: what landed where, what is still carried, what needs work."""
    if not survey.releases:
        return []
    return [line for line in (_landed(survey), _carried(survey), _work(survey)) if line]


def visible(text: str) -> str:
    """Upstream's text on one line, with what would not be shown, or be obeyed, spelled out."""
    return _UNSHOWN.sub(lambda match: f"<U+{ord(match[0]):04X}>", text.replace("\n", " ").replace("\t", " "))


def _landed(survey: Survey) -> str:
    by_release: dict[str, list[str]] = {}
    for patch in patches(survey):
        last = spans(survey, patch.info.name)[-1]
        if last.judgement.state is State.LANDED:
            since = next(
                span.first for span in reversed(spans(survey, patch.info.name)) if _begins_landed(survey, span)
            )
            by_release.setdefault(since, []).append(patch.info.name)
    oldest = survey.releases[0].release.tag
    order = [row.release.tag for row in survey.releases if row.release.tag in by_release]
    if len(order) > _FEW:
        total = sum(map(len, by_release.values()))
        first = "by" if order[0] == oldest else "in"
        return f"Landed: {total} patches, the first {first} {order[0]}, the last in {order[-1]}."
    parts = [
        f"{_names(by_release[tag])} {'by' if tag == oldest else 'in'} {tag}{' or before' if tag == oldest else ''}"
        for tag in order
    ]
    return f"Landed: {'; '.join(parts)}." if parts else ""


def _begins_landed(survey: Survey, span: Span) -> bool:
    """Whether a run is where the patch landed for good, whatever its tests say since."""
    if span.judgement.state is not State.LANDED:
        return False
    if span.index == 0:
        return True
    before = survey.releases[span.index - 1].patches
    return next(p for p in before if p.info.name == span.patch).judgement.state is not State.LANDED


def _carried(survey: Survey) -> str:
    newest = survey.releases[-1]
    names = [p.info.name for p in newest.patches if p.judgement.state.changes_tree]
    return f"Still carried on {newest.release}: {_names(names)}." if names else ""


def _work(survey: Survey) -> str:
    found = troubles(survey)
    if not found:
        return "Nothing needs work on any release."
    named = "; ".join(trouble(span) for span in found[:_FEW])
    rest = f"; and {len(found) - _FEW} more" if len(found) > _FEW else ""
    return f"Needs work: {named}{rest}."


def _is(state: State, number: int) -> str:
    if state is State.LANDED:
        return "has landed" if number == 1 else "have landed"
    verb = "is" if number == 1 else "are"
    return f"{verb} in conflict" if state is State.CONFLICT else f"{verb} {state.value}"


def _names(names: Sequence[str]) -> str:
    return _listed(names) if len(names) <= _FEW else f"{len(names)} patches"


def _number(number: int) -> str:
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"

"""A survey in a few sentences, and the words and letters for its states; every format of the survey uses them.

All functions here read the document that ``survey --json`` prints.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from patchtool.cli.reports.words import listed
from patchtool.domain.errors import ExitCode
from patchtool.domain.release import Release
from patchtool.domain.state import Proof, State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchtool.domain.documents import StateChange, Survey, SurveyedPatch

GLYPHS = {
    "applied": "A",
    "landed": "L",
    "partial": "P",
    "absent": "-",
    "drifted": "D",
    "obsolete": "O",
    "conflict": "C",
    "ambiguous": "?",
    "blocked": "B",
    "crashed": "X",
}
"""One character per state, so that no format depends on colour."""

MEANINGS = {
    "applied": "needed, and it applies",
    "landed": "upstream has all of it; nothing to carry",
    "partial": "upstream has some of it; only the missing goals are applied",
    "absent": "the release is older than the code it changes",
    "drifted": "it applies, but the result differs from what was recorded; review it",
    "obsolete": "the code it changes is gone, and what it adds is not there; review it",
    "conflict": "its anchor is gone, or only half of it landed; resolve it by hand",
    "ambiguous": "more code matches than expected; resolve it by hand",
    "blocked": "a patch that it requires failed",
    "crashed": "its codemod raised",
}

PROOFS = {"agrees": "+", "disputes": "!"}
"""Shown after the state: the verdict of the behavioural tests."""

PROOF_WORDS = {"agrees": "tests agree", "disputes": "tests dispute it"}

UNPROVEN = "landed without a mark is unproven: its tests did not run on those bytes"

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_MAX_NAMED = 4


class StateRange(NamedTuple):
    """A patch with one state and proof over neighbouring releases.

    Args:
        patch: The patch on the oldest of them.
        first: The oldest release.
        last: The newest release.
        start: Index of the oldest release in the survey.
        end: Index after the newest one.
    """

    patch: SurveyedPatch
    first: str
    last: str
    start: int
    end: int

    @property
    def releases(self) -> str:
        """``v0.5.11``, or ``v0.5.11 to v0.5.13``."""
        return self.first if self.first == self.last else f"{self.first} to {self.last}"


def ranges(survey: Survey, patch: int) -> list[StateRange]:
    """Group a patch's states by neighbouring releases, oldest first.

    Args:
        survey: The document.
        patch: The patch's index in the series.
    """
    releases = survey["releases"]

    def state_and_proof(index: int) -> tuple[str, str, bool]:
        found = releases[index]["patches"][patch]
        return found["state"], found["proof"], needs_work(found)

    found = []
    for _, group in groupby(range(len(releases)), state_and_proof):
        indexes = list(group)
        first, last = releases[indexes[0]], releases[indexes[-1]]
        found.append(
            StateRange(first["patches"][patch], first["release"], last["release"], indexes[0], indexes[-1] + 1)
        )
    return found


def for_people(survey: Survey) -> Survey:
    """The document with commits abbreviated."""

    def spelled(row: Any) -> Any:
        texts = {key: str(Release.parse(row[key])) for key in ("release", "previous") if key in row}
        return {**row, **texts}

    changes = {"changes": [spelled(change) for change in survey["changes"]]} if "changes" in survey else {}
    return {**survey, "releases": [spelled(row) for row in survey["releases"]], **changes}  # type: ignore[typeddict-item]


def state_counts(survey: Survey) -> Counter[str]:
    """Count the cells with each state."""
    return Counter(patch["state"] for row in survey["releases"] for patch in row["patches"])


def seen_proofs(survey: Survey) -> list[str]:
    """Verdicts that occur, in the order of PROOFS."""
    seen = {patch["proof"] for row in survey["releases"] for patch in row["patches"]}
    return [proof for proof in PROOFS if proof in seen]


def has_unproven(survey: Survey) -> bool:
    """Whether a patch landed on a release by its structure alone."""
    patches = (patch for row in survey["releases"] for patch in row["patches"])
    return any((patch["state"], patch["proof"]) == ("landed", "none") for patch in patches)


def needs_work(patch: SurveyedPatch) -> bool:
    """Whether a maintainer has to look at it; one who accepted a drift or dispute did."""
    found = max(State(patch["state"]).exit_code, Proof(patch["proof"]).exit_code)
    return found is not ExitCode.OK and not (patch.get("accepted") and found < ExitCode.CONFLICT)


def problem_of(patch: SurveyedPatch) -> str:
    """What needs work: ``the patch is in conflict (anchor-missing)``."""
    disputed = " and its tests dispute that" if patch["proof"] == "disputes" else ""
    reason = f" ({patch['reason']})" if patch["reason"] else ""
    return f"the patch {_verb(patch['state'], 1)}{reason}{disputed}"


def state_changes(survey: Survey) -> list[StateChange]:
    """Every change of state of every patch, oldest first."""
    return [
        {
            "patch": patch["name"],
            "release": later["release"],
            "before": before["state"],
            "after": patch["state"],
            "previous": earlier["release"],
            "by": None,
        }
        for earlier, later in zip(survey["releases"], survey["releases"][1:])
        for before, patch in zip(earlier["patches"], later["patches"])
        if before["state"] != patch["state"]
    ]


def change_sentence(change: StateChange) -> str:
    """One change of state, in words."""
    sentence = f"{change['patch']} is {change['after']} from {change['release']} on; "
    sentence += f"on {change['previous']} it was {change['before']}"
    by = change.get("by")
    return (
        f"{sentence}; changed by {by['commit'][:10]}, {by['author']}, {by['date']}: {by['subject']}" if by else sentence
    )


def open_work(survey: Survey) -> list[StateRange]:
    """Ranges that a maintainer has to look at; those that reach the newest releases first."""
    found = [part for patch in range(len(survey["series"])) for part in ranges(survey, patch)]
    return sorted((part for part in found if needs_work(part.patch)), key=lambda part: -part.end)


def work_clause(part: StateRange) -> str:
    """One range that needs work, as a clause."""
    disputed = " but is disputed by its tests" if part.patch["proof"] == "disputes" else ""
    return f"{part.patch['name']} {_verb(part.patch['state'], 1)}{disputed} on {part.releases}"


def headline(survey: Survey) -> str:
    """The states on the newest release, in one sentence without its full stop."""
    if not survey["releases"]:
        return "No release was surveyed"
    newest = survey["releases"][-1]
    tally = Counter(patch["state"] for patch in newest["patches"])
    disputed = sum(patch["proof"] == "disputes" for patch in newest["patches"])
    total = len(newest["patches"])
    if not total:
        return f"The series is empty on {newest['release']}"
    clauses: list[str] = []
    for state in sorted(tally, key=lambda state: (state != "landed", list(GLYPHS).index(state))):
        number = tally[state]
        if number == total:
            subject = {1: "the patch", 2: "both patches"}.get(total, f"all {_number(total)} patches")
        else:
            subject = _number(number) if clauses else f"{_number(number)} of {_number(total)} patches"
        clauses.append(f"{subject} {_verb(state, number)}")
    if disputed:
        clauses.append(f"tests dispute {_number(disputed)}")
    words = listed(clauses)
    return f"{words[0].upper()}{words[1:]} on {newest['release']}"


def sentences(survey: Survey) -> list[str]:
    """What landed between which of the surveyed releases, what is still carried, and what needs work."""
    if not survey["releases"]:
        return []
    return [line for line in (_landed(survey), _carried(survey), _work(survey)) if line]


def _landed(survey: Survey) -> str:
    releases = survey["releases"]
    by_start: dict[int, list[str]] = {}
    for index, patch in enumerate(releases[-1]["patches"]):
        states = [row["patches"][index]["state"] for row in releases]
        if patch["state"] == "landed":
            start = max((i + 1 for i, state in enumerate(states) if state != "landed"), default=0)
            by_start.setdefault(start, []).append(patch["name"])
    # A release between two that were surveyed may have been the first.
    parts = [
        f"{_names(names)} by {releases[start]['release']}"
        + (f", after {releases[start - 1]['release']}" if start else "")
        for start, names in sorted(by_start.items())
    ]
    if len(parts) > _MAX_NAMED:
        first, last = (releases[start]["release"] for start in (min(by_start), max(by_start)))
        return f"Landed: {sum(map(len, by_start.values()))} patches, the first by {first}, the last by {last}."
    return f"Landed: {'; '.join(parts)}." if parts else ""


def _carried(survey: Survey) -> str:
    newest = survey["releases"][-1]
    names = [patch["name"] for patch in newest["patches"] if State(patch["state"]).changes_tree]
    return f"Still carried on {newest['release']}: {_names(names)}." if names else ""


def _work(survey: Survey) -> str:
    found = open_work(survey)
    if not found:
        return "Nothing needs work on any release."
    named = "; ".join(work_clause(part) for part in found[:_MAX_NAMED])
    rest = f"; and {len(found) - _MAX_NAMED} more" if len(found) > _MAX_NAMED else ""
    return f"Needs work: {named}{rest}."


def _verb(state: str, number: int) -> str:
    if state == "landed":
        return "has landed" if number == 1 else "have landed"
    verb = "is" if number == 1 else "are"
    return f"{verb} in conflict" if state == "conflict" else f"{verb} {state}"


def _names(names: Sequence[str]) -> str:
    return listed(names) if len(names) <= _MAX_NAMED else f"{len(names)} patches"


def _number(number: int) -> str:
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)

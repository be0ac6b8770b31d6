"""Code that looks like the defects of the series, as a survey found it: once for all releases that have it.

All functions here read the document that ``survey --json`` prints.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from patchtool.cli.reports.words import counted

if TYPE_CHECKING:
    from patchtool.domain.document_parts import SiblingSite
    from patchtool.domain.documents import Survey


class Candidate(NamedTuple):
    """Code that looks like a defect, on one release or several.

    Args:
        site: Where it is on the newest of them.
        releases: ``v0.5.13 to v0.5.16, v0.5.18``.
    """

    site: SiblingSite
    releases: str


class Likeness(NamedTuple):
    """Candidates that look like one defect.

    Args:
        patch: Its patch.
        likeness: What makes them look like it.
        candidates: The code, by path and line.
    """

    patch: str
    likeness: str
    candidates: list[Candidate]


def was_searched(survey: Survey) -> bool:
    """Whether the survey looked for such code."""
    return any("siblings" in row for row in survey["releases"])


def likenesses(survey: Survey) -> list[Likeness]:
    """Group what the series leaves by patch, in series order, and by what it looks like."""
    on: dict[tuple[Any, ...], list[int]] = {}
    newest: dict[tuple[Any, ...], SiblingSite] = {}
    for number, row in enumerate(survey["releases"]):
        seen: Counter[tuple[Any, ...]] = Counter()
        for site in row.get("siblings", []):
            if not site["fixed"]:
                own = tuple(site[key] for key in ("patch", "likeness", "path", "symbol", "code"))
                seen[own] += 1  # the same code may be there several times
                key = (*own, seen[own])
                on.setdefault(key, []).append(number)
                newest[key] = site
    names = [patch["name"] for patch in survey["series"]]
    keys = sorted(newest, key=lambda key: (names.index(key[0]), key[1], key[2], newest[key]["line"]))
    return [
        Likeness(patch, likeness, [Candidate(newest[key], _releases(survey, on[key])) for key in group])
        for (patch, likeness), group in groupby(keys, lambda key: (key[0], key[1]))
    ]


def searched_sentence(survey: Survey) -> str:
    """How many places were found, and what they are; finding what the series fixes shows that the search works."""
    sites = [site for row in survey["releases"] for site in row.get("siblings", [])]
    left = sum(len(each.candidates) for each in likenesses(survey))
    fixed = len({(site["patch"], site["path"], site["symbol"], site["code"]) for site in sites if site["fixed"]})
    known = f" The search also found {counted(fixed, 'place')} that the series fixes." if fixed else ""
    verb = "looks" if left == 1 else "look"
    return f"{counted(left, 'place')} {verb} like a defect: candidates, and nobody has shown that one is.{known}"


def _releases(survey: Survey, numbers: list[int]) -> str:
    parts = []
    for _, group in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        names = [survey["releases"][number]["release"] for _, number in group]
        parts.append(names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}")
    return ", ".join(parts)

"""A run of the matrix as the page needs it, read from the document of ``test --json``: data that is looked at first.

A member that is not known here is kept and shown, so that a newer document can be read.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patchtool.domain.errors import InputError
from patchtool.domain.release import Release
from patchtool.domain.report import SCHEMA

_HINT = "patchtool test --json > results.json"
_TEXTS = ("id", "tier", "test", "outcome", "verdict", "detail", "reason")


@dataclass(frozen=True)
class ShownCell:
    """One cell of the document.

    Args:
        id: Unique in the document.
        tier: What it ran on.
        release: The tree's release.
        patches: The subset that was applied.
        test: ``<group>::<function>``.
        outcome: What happened.
        expected: ``red``, ``green`` or None.
        verdict: The outcome held against that.
        seconds: Wall clock.
        detail: What was asserted, or why it could not run.
        reason: Why it must be so, where that is not plain.
        numbers: What the test measured.
        more: Further members of the document.
    """

    id: str
    tier: str
    release: Release
    patches: tuple[str, ...]
    test: str
    outcome: str
    expected: str | None
    verdict: str
    seconds: float
    detail: str
    reason: str
    numbers: Mapping[str, float | str]
    more: Mapping[str, str]


@dataclass(frozen=True)
class ShownProof:
    """One patch on one release."""

    patch: str
    release: Release
    structural: str
    pristine: str | None
    patched: str | None
    verdict: str
    detail: str


@dataclass(frozen=True)
class Results:
    """What a run came to."""

    cells: tuple[ShownCell, ...]
    proofs: tuple[ShownProof, ...]
    notes: tuple[str, ...] = ()


def read_results(path: Path) -> Results:
    """Read a saved document of ``test --json``.

    Raises:
        InputError: There is no such file, or it is something else.
    """
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"--tests {path}: {error.strerror}", hint=_HINT) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"--tests {path} is not JSON: {error}", hint=_HINT) from None
    return results(document, str(path))


def results(document: Any, where: str = "the run") -> Results:
    """Take a document of ``test --json`` apart.

    Args:
        document: As read.
        where: What to call it in an error.

    Raises:
        InputError: It is something else.
    """
    made_by = (document.get("schema"), document.get("verb")) if isinstance(document, dict) else None
    if made_by != (SCHEMA, "test") or not isinstance(document.get("cells"), list):
        raise InputError(f"{where} is no document of test --json, schema {SCHEMA}", hint=_HINT)
    try:
        cells = tuple(_cell(each) for each in document["cells"])
        proofs = tuple(_proof(each) for each in document["proofs"])
        notes = _texts(document["notes"])
    except KeyError as error:
        raise InputError(f"{where} lacks {error}", hint=_HINT) from None
    except (TypeError, ValueError, InputError) as error:
        raise InputError(f"{where} is no document of test --json: {error}", hint=_HINT) from None
    if len({cell.id for cell in cells}) < len(cells):
        raise InputError(f"{where} has two cells with the same id", hint=_HINT)
    return Results(cells, proofs, notes)


def _cell(found: Mapping[str, Any]) -> ShownCell:
    known = {name: _text(found[name]) for name in _TEXTS}
    seconds = found["seconds"]
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 <= seconds < math.inf:
        raise ValueError(f"{seconds!r} is no time")
    numbers = {_text(name): _number(value) for name, value in dict(found["numbers"]).items()}
    taken = {*_TEXTS, "release", "patches", "expected", "seconds", "numbers"}
    more = {name: str(found[name]) for name in found if name not in taken and found[name] not in (None, "", [], {})}
    return ShownCell(
        release=Release.parse(_text(found["release"])),
        patches=_texts(found["patches"]),
        expected=_maybe(found["expected"]),
        seconds=float(seconds),
        numbers=numbers,
        more=more,
        **known,
    )


def _proof(found: Mapping[str, Any]) -> ShownProof:
    return ShownProof(
        patch=_text(found["patch"]),
        release=Release.parse(_text(found["release"])),
        structural=_text(found["structural"]),
        pristine=_maybe(found["pristine"]),
        patched=_maybe(found["patched"]),
        verdict=_text(found["verdict"]),
        detail=_text(found["detail"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _maybe(value: object) -> str | None:
    return None if value is None else _text(value)


def _texts(values: Sequence[object]) -> tuple[str, ...]:
    if not isinstance(values, list | tuple):
        raise TypeError(f"{values!r} is no list")
    return tuple(_text(value) for value in values)


def _number(value: object) -> float | str:
    """A number that JSON can hold, or its words."""
    plain = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return value if plain else str(value)  # type: ignore[return-value]


def named(releases: Sequence[Release]) -> str:
    """Neighbouring releases of a run in a few words; a run need not have all that lie between."""
    first, last = releases[0].tag, releases[-1].tag
    if len(releases) <= 2:
        return first if first == last else f"{first}, {last}"
    return f"{first} to {last}, {len(releases)} releases"

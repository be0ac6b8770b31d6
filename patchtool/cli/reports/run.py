"""A run of the test matrix, read from the document that ``test --json`` prints.

The document may come from a file of another version, so it is validated first, words that are not known are accepted,
and unknown members are kept and shown.
"""

from __future__ import annotations

import json
import math
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
from packaging.version import Version

from patchtool.domain.errors import InputError
from patchtool.domain.report import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_HINT = "patchtool test --json > results.json"


class Category(NamedTuple):
    """What a cell's outcome means, given what was expected of it."""

    name: str
    glyph: str
    word: str
    meaning: str


UNEXPECTED = Category(
    "unexpected", "!", "unexpected", "red where it must be green, or green where it must be red; investigate it"
)
STUCK = Category(
    "stuck",
    "?",
    "could not run",
    "no evidence: an error, a timeout, or a test that was never seen red; never counted as passed",
)
KNOWN = Category("known", "k", "known red", "red for a fault of upstream outside the series, listed in the matrix file")
FAILED = Category(
    "failed",
    "\u00d7",
    "failed as expected",
    "red because a patch that it needs is left out; this shows that the patch matters",
)
PASSED = Category("passed", "\u2713", "passed", "green, as expected")
SKIPPED = Category(
    "skipped", "\u2013", "skipped", "something it needs is missing, such as an NPU; never counted as passed"
)
CATEGORIES = (UNEXPECTED, STUCK, KNOWN, FAILED, PASSED, SKIPPED)


class CellRecord(msgspec.Struct):
    """One cell of the document.

    Args:
        id: Unique in the document.
        tier: ``static``, ``emulated`` or ``npu``.
        release: The tree's release.
        patches: The subset that was applied.
        test: ``<group>::<function>``.
        outcome: ``passed``, ``failed``, ``error``, ``skipped`` or ``timeout``.
        expected: ``red``, ``green`` or None.
        verdict: ``as-expected``, ``unexpected`` or ``could-not-run``.
        seconds: Wall clock.
        detail: What was asserted, or why it could not run.
        reason: Why it was expected, or why its outcome does not count.
        numbers: What the test measured.
        other: Members of the document that are not known here.
    """

    id: str
    tier: str
    release: str
    patches: tuple[str, ...]
    test: str
    outcome: str
    expected: str | None
    verdict: str
    seconds: float
    detail: str
    reason: str
    numbers: dict[str, Any]
    other: dict[str, str] = {}

    def __post_init__(self) -> None:
        version(self.release)
        if not 0 <= self.seconds < math.inf:
            raise ValueError(f"{self.seconds} is not a number of seconds")
        self.numbers = {name: _number(value) for name, value in self.numbers.items()}

    @property
    def category(self) -> Category:
        """The cell's category; what is not understood counts as could not run, never as passed."""
        if self.verdict == "unexpected":
            return UNEXPECTED
        if self.verdict != "as-expected":
            return SKIPPED if self.outcome == "skipped" else STUCK
        if self.outcome == "failed":
            return KNOWN if self.reason else FAILED
        return PASSED if self.outcome == "passed" else STUCK

    @property
    def blocker(self) -> str:
        """Why a cell that could not run says nothing; empty where the document does not tell."""
        first, second = self.detail, self.reason
        return (second or first) if self.outcome in ("passed", "failed") else (first or second)


class ProofRecord(msgspec.Struct):
    """One patch on one release: its structural state, and what its tests show without and with it."""

    patch: str
    release: str
    structural: str
    pristine: str | None
    patched: str | None
    verdict: str
    detail: str

    def __post_init__(self) -> None:
        version(self.release)


class Run(msgspec.Struct):
    """The parts of the document that reports show."""

    schema: Literal[1]
    verb: Literal["test"]
    cells: list[CellRecord]
    proofs: list[ProofRecord]
    notes: list[str]
    upstream: Any = None

    @property
    def of_a_folder(self) -> bool:
        """Whether it ran on a folder of the user, whose files need not be those of any release."""
        return isinstance(self.upstream, dict) and self.upstream.get("source") == "tree"


_MEMBERS = set(CellRecord.__struct_fields__)


def read_run(path: Path) -> Run:
    """Read a saved document of ``test --json``.

    Raises:
        InputError: The file is missing or is something else.
    """
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"--tests {path}: {error.strerror}", hint=_HINT) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"--tests {path} is not JSON: {error}", hint=_HINT) from None
    return run_of(document, str(path))


def run_of(document: Any, source: str = "the run") -> Run:
    """Validate a document of ``test --json``.

    Args:
        document: The parsed JSON.
        source: Where it comes from, for errors.

    Raises:
        InputError: It is something else.
    """
    try:
        run = msgspec.convert(document, Run)
    except msgspec.ValidationError as error:
        raise InputError(f"{source} is no document of test --json, schema {SCHEMA}: {error}", hint=_HINT) from None
    if len({cell.id for cell in run.cells}) < len(run.cells):
        raise InputError(f"{source} has two cells with the same id", hint=_HINT)
    for cell, members in zip(run.cells, document["cells"]):
        cell.other = {
            name: str(value)
            for name, value in members.items()
            if name not in _MEMBERS and value not in (None, "", [], {})
        }
    return run


@cache
def version(release: str) -> Version:
    """A release as something to sort by; raises ValueError for what is none."""
    return Version(release)


def release_names(releases: Sequence[str]) -> str:
    """Consecutive releases of a run in a few words; a run need not have all that lie between."""
    first, last = releases[0], releases[-1]
    if len(releases) <= 2:
        return first if first == last else f"{first}, {last}"
    return f"{first} to {last}, {len(releases)} releases"


def label_of(test: str) -> str:
    """A test's function in words."""
    return test.partition("::")[2].removeprefix("test_").replace("_", " ") or test


def _number(value: object) -> float | str:
    """A number that JSON can hold, or its text."""
    plain = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return value if plain else str(value)  # type: ignore[return-value]

"""``ci/matrix.toml``: which releases are proven how, and what upstream itself is known to get wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from patchtool.domain.errors import InputError
from patchtool.domain.release import Release
from patchtool.domain.toml import parse_toml
from patchtool.matrix.cell import Tier
from patchtool.matrix.plan import KnownRed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PLANS = ("proofs", "ablation")
PIN = "pin"
"""Stands for the pinned release."""


@dataclass(frozen=True)
class Row:
    """One line of the matrix.

    Args:
        plan: ``proofs`` (pristine, each patch alone, the whole series) or ``ablation`` (every subset).
        tiers: What to run on.
        releases: Which, in their order; None is the pinned one.
    """

    plan: str
    tiers: tuple[Tier, ...]
    releases: tuple[Release | None, ...]


@dataclass(frozen=True)
class Matrix:
    """The whole file.

    Args:
        timeout: Seconds a cell may take.
        rows: What to run.
        known_red: Cells that upstream itself makes red.
    """

    timeout: float
    rows: tuple[Row, ...]
    known_red: tuple[KnownRed, ...]


def read_matrix(path: Path) -> Matrix:
    """Read a matrix file.

    Raises:
        InputError: It is missing or not TOML, or a key or value is not one of the file's.
    """
    where = path.name
    try:
        table = parse_toml(path.read_bytes(), where)
    except FileNotFoundError:
        raise InputError(f"{where} does not exist") from None
    _only(table, {"timeout", "rows", "known-red", "served"}, where)  # `served` is npu/models.py's
    timeout = table.get("timeout", 60)
    if not isinstance(timeout, (int, float)) or timeout <= 0:
        raise InputError(f"{where}: timeout is a number of seconds above 0, not {timeout!r}")
    return Matrix(
        float(timeout),
        tuple(_row(each, f"{where}, row {number}") for number, each in enumerate(table.get("rows", []), start=1)),
        tuple(
            red
            for number, each in enumerate(table.get("known-red", []), start=1)
            for red in _known_red(each, f"{where}, known-red {number}")
        ),
    )


def _row(table: Mapping[str, object], where: str) -> Row:
    _only(table, {"plan", "tiers", "releases"}, where)
    plan = table.get("plan")
    if plan not in PLANS:
        raise InputError(f"{where}: plan is {' or '.join(PLANS)}, not {plan!r}")
    tiers = _texts(table, "tiers", where)
    for tier in tiers:
        if tier not in [each.value for each in Tier]:
            raise InputError(f"{where}: there is no tier {tier!r}", hint=f"tiers: {', '.join(t.value for t in Tier)}")
    releases = [None if text == PIN else Release.parse(text) for text in _texts(table, "releases", where)]
    return Row(str(plan), tuple(map(Tier, tiers)), tuple(releases))


def _known_red(table: Mapping[str, object], where: str) -> list[KnownRed]:
    _only(table, {"tests", "releases", "reason"}, where)
    reason = table.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        raise InputError(f"{where}: a known red needs its reason")
    releases = [Release.parse(text).version for text in _texts(table, "releases", where)]
    return [KnownRed(release, test, reason) for release in releases for test in _texts(table, "tests", where)]


def _texts(table: Mapping[str, object], key: str, where: str) -> list[str]:
    values = table.get(key)
    if not isinstance(values, list) or not values or not all(isinstance(value, str) for value in values):
        raise InputError(f"{where}: {key} is a list of texts, not {values!r}")
    return values


def _only(table: Mapping[str, object], keys: set[str], where: str) -> None:
    if unknown := sorted(table.keys() - keys):
        raise InputError(f"{where}: unknown key {unknown[0]!r}", hint=f"known keys: {', '.join(sorted(keys))}")

"""``ci/matrix.toml``: which releases are run how, and what upstream itself is known to get wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from patchtool.domain.errors import InputError
from patchtool.domain.release import Release
from patchtool.matrix.cell import Mode, Tier
from patchtool.matrix.planning.cells import KnownRed
from patchtool.matrix.planning.row_keys import read_members, read_modes, read_subsets, read_texts, read_timeout
from patchtool.matrix.planning.served import ServedConfig, read_served
from patchtool.matrix.planning.tables import Table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from patchtool.matrix.planning.row_keys import Requires, Subsets

PLANS = ("proofs", "ablation")
PIN = "pin"
"""Stands for the pinned release."""
TIMEOUTS: Mapping[Tier, float] = {Tier.STATIC: 60.0, Tier.EMULATED: 60.0, Tier.NPU: 14400.0}
"""Seconds a cell may take where the file does not say: a measurement on an NPU takes hours."""


@dataclass(frozen=True)
class MatrixRow:
    """One line of the matrix.

    Args:
        plan: ``proofs`` (pristine, each patch alone, the whole series), ``ablation`` (every subset), or empty where
            ``patches`` says it.
        tiers: What to run on.
        releases: Which, in their order; None is the pinned one.
        patches: The subsets to run on, each in series order; the empty one is the unmodified release.
        modes: Tests of these modes, and those of no mode.
        timeout: Seconds a cell may take; 0 for the tier's.
    """

    plan: str
    tiers: tuple[Tier, ...]
    releases: tuple[Release | None, ...]
    patches: Subsets = ()
    modes: tuple[Mode, ...] = tuple(Mode)
    timeout: float = 0.0

    def names(self, release: Release, pin: Release) -> bool:
        """Whether the row is about a release."""
        return release in self.releases or (None in self.releases and release == pin)


@dataclass(frozen=True)
class Matrix:
    """The whole file.

    Args:
        rows: What to run.
        known_red: Cells that upstream itself makes red.
        timeouts: Seconds a cell of each tier may take.
        served: Models that the npu tier serves.
    """

    rows: tuple[MatrixRow, ...]
    known_red: tuple[KnownRed, ...]
    timeouts: Mapping[Tier, float] = field(default_factory=lambda: TIMEOUTS)
    served: ServedConfig = field(default_factory=ServedConfig)


def read_matrix(path: Path, requires: Requires) -> Matrix:
    """Read a matrix file.

    Args:
        path: The file.
        requires: What each patch of the series requires, in series order.

    Raises:
        InputError: It is missing or not TOML, or a key or value is not one of the file's; names the line.
    """
    try:
        table = Table.parse(path.read_bytes(), path.name)
    except FileNotFoundError:
        raise InputError(f"{path.name} does not exist") from None
    matrix = Matrix(
        tuple(_row(each, requires) for each in table.tables("rows")),
        tuple(red for each in table.tables("known-red") for red in _known_red(each)),
        _timeouts(table),
        read_served(table, requires),
    )
    table.only()
    return matrix


def _timeouts(table: Table) -> Mapping[Tier, float]:
    """A table of tiers, or one number for all of them."""
    if not isinstance(table.raw("timeout"), dict):
        seconds = read_timeout(table)
        return dict.fromkeys(Tier, seconds) if seconds else TIMEOUTS
    (tiers,) = table.tables("timeout")
    found = {tier: read_timeout(tiers, tier.value) or TIMEOUTS[tier] for tier in Tier}
    tiers.only()
    return found


def _row(table: Table, requires: Requires) -> MatrixRow:
    subsets = read_subsets(table, requires)
    row = MatrixRow(
        plan="" if subsets else table.get("plan", str, ""),
        tiers=read_members(table, "tiers", Tier),
        releases=tuple(None if text == PIN else _release(table, text) for text in read_texts(table, "releases")),
        patches=subsets,
        modes=read_modes(table, tuple(Mode)),
        timeout=read_timeout(table),
    )
    if subsets and table.raw("plan") is not None:
        raise table.wrong("plan", "a row has a plan or patches, not both", hint="make two rows of it")
    if not subsets and row.plan not in PLANS:
        hint = 'or name subsets of the series: patches = [[], ["one_patch", "another"]]'
        raise table.wrong("plan", f"plan is {' or '.join(PLANS)}, not {row.plan!r}", hint=hint)
    table.only()
    return row


def _known_red(table: Table) -> list[KnownRed]:
    reason = table.get("reason", str, "")
    if not reason.strip():
        raise table.wrong("reason", "a known red needs its reason")
    releases = [_release(table, text).version for text in read_texts(table, "releases")]
    tests = read_texts(table, "tests")
    table.only()
    return [KnownRed(release, test, reason) for release in releases for test in tests]


def _release(table: Table, text: str) -> Release:
    try:
        return Release.parse(text)
    except InputError as error:
        raise table.wrong("releases", error.message, hint=error.hint) from None

"""``ci/matrix.toml``: which releases are tested how, and which tests are red because of upstream itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, field
from msgspec.structs import replace

from patchtool.domain.errors import InputError
from patchtool.domain.release import Release
from patchtool.domain.toml import RuleError, Table, invalid, read_toml
from patchtool.matrix.cell import Mode, Tier
from patchtool.matrix.planning.served_models import Seconds, ServedConfig, ServedModel, Subsets, check_releases

if TYPE_CHECKING:
    from pathlib import Path as FilePath

    from patchtool.domain.toml import Path as KeyPath

PIN = "pin"
"""Stands for the pinned release."""
Requires = Mapping[str, Sequence[str]]
"""What each patch of the series requires, in series order."""
_Releases = Annotated[tuple[str, ...], Meta(min_length=1)]


class Timeouts(Table, frozen=True):
    """Seconds a cell of each tier may take; on the npu tier a cell is a measurement, which takes hours."""

    static: Seconds = 60.0
    emulated: Seconds = 60.0
    npu: Seconds = 14400.0

    def of(self, tier: Tier) -> float:
        """Return the seconds of a tier."""
        seconds: float = getattr(self, tier.value)
        return seconds


class MatrixRow(Table, frozen=True):
    """One row of the matrix.

    Args:
        tiers: What to run on.
        releases: Versions, or ``pin``.
        plan: ``proofs`` (pristine, each patch alone, the whole series) or ``ablation`` (every subset).
        patches: Subsets of the series to run on, instead of a plan.
        modes: Tests of these modes, and those of no mode.
        timeout: Seconds a cell may take; 0 for the tier's.
    """

    tiers: Annotated[tuple[Tier, ...], Meta(min_length=1)]
    releases: _Releases
    plan: Literal["proofs", "ablation", ""] = ""
    patches: Subsets = ()
    modes: Annotated[tuple[Mode, ...], Meta(min_length=1)] = tuple(Mode)
    timeout: Seconds = 0.0

    def __post_init__(self) -> None:
        check_releases(text for text in self.releases if text != PIN)
        if self.plan and self.patches:
            raise RuleError("plan", "a row has a plan or patches, not both", "make two rows of it")
        if not self.plan and not self.patches:
            hint = 'plan = "proofs", plan = "ablation", or patches = [[], ["one_patch", "another"]]'
            raise RuleError("plan", "a row needs a plan or patches", hint)

    @property
    def versions(self) -> tuple[Release, ...]:
        """The releases other than the pin."""
        return tuple(Release.parse(text) for text in self.releases if text != PIN)

    def covers(self, release: Release, pin: Release) -> bool:
        """Report whether the row is to be run on a release."""
        return release in self.versions or (PIN in self.releases and release == pin)


class KnownRed(Table, frozen=True):
    """Tests that are red on some releases because of upstream, whatever the series does.

    Args:
        tests: Their names.
        releases: Versions.
        reason: What is wrong upstream.
    """

    tests: Annotated[tuple[str, ...], Meta(min_length=1)]
    releases: _Releases
    reason: str

    def __post_init__(self) -> None:
        check_releases(self.releases)
        if not self.reason.strip():
            raise RuleError("reason", "a known red needs a reason")

    def covers(self, release: Release, test: str) -> bool:
        """Report whether a test is known to be red on a release."""
        return test in self.tests and release in map(Release.parse, self.releases)


class Matrix(Table, frozen=True):
    """The whole file.

    Args:
        rows: What to run.
        known_red: Tests that upstream itself makes red.
        timeout: Seconds a cell may take, for all tiers or for each.
        served: Models that the npu tier serves.
    """

    rows: tuple[MatrixRow, ...] = ()
    known_red: tuple[KnownRed, ...] = ()
    timeout: Seconds | Timeouts = field(default_factory=Timeouts)
    served: ServedConfig = field(default_factory=ServedConfig)

    def known_red_on(self, release: Release) -> tuple[KnownRed, ...]:
        """Return the known reds; a release after all that rows name has those of the last one."""
        named = {each for row in self.rows for each in row.versions}
        last = max(named, default=release)
        if release <= last or not release.version:
            return self.known_red
        return tuple(
            replace(red, releases=(str(release.version),), reason=f"{red.reason} (as on {last})")
            for red in self.known_red
            if last in map(Release.parse, red.releases)
        )

    def timeout_of(self, tier: Tier) -> float:
        """Return the seconds that a cell of a tier may take."""
        return self.timeout.of(tier) if isinstance(self.timeout, Timeouts) else self.timeout


def read_matrix(path: FilePath, requires: Requires) -> Matrix:
    """Read a matrix file.

    Args:
        path: The file.
        requires: What each patch of the series requires, in series order.

    Returns:
        The matrix, every subset in series order and once.

    Raises:
        InputError: The file is missing or not TOML, a key or value is invalid, a patch is not in the series, or a
            subset lacks a patch that another one requires; names the line.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path.name} does not exist") from None
    matrix = read_toml(data, path.name, Matrix)

    def ordered(subsets: Subsets, *at: str | int) -> Subsets:
        for number, subset in enumerate(subsets):
            _check_subset(subset, requires, data, path.name, (*at, "patches", number))
        return tuple(dict.fromkeys(tuple(name for name in requires if name in subset) for subset in subsets))

    def before(model: ServedModel, *at: str | int) -> tuple[str, ...]:
        _check_subset(model.before, requires, data, path.name, (*at, "before"))
        return tuple(name for name in requires if name in model.before)

    rows = tuple(replace(row, patches=ordered(row.patches, "rows", n)) for n, row in enumerate(matrix.rows))
    models = tuple(
        replace(model, patches=ordered(model.patches, "served", "model", n), before=before(model, "served", "model", n))
        for n, model in enumerate(matrix.served.model)
    )
    return replace(matrix, rows=rows, served=replace(matrix.served, model=models))


def _check_subset(subset: Sequence[str], requires: Requires, data: bytes, where: str, at: KeyPath) -> None:
    for name in subset:
        if name not in requires:
            hint = f"the series has {', '.join(requires)}"
            raise invalid(data, where, at, f"there is no patch {name!r} in the series", hint)
    for name in subset:
        lacking = [need for need in requires[name] if need not in subset]
        if lacking:
            complete = ", ".join(f'"{each}"' for each in requires if each in (*subset, *lacking))
            rule = f"{name} requires {' and '.join(lacking)}, which the subset does not have"
            raise invalid(data, where, at, rule, f"[{complete}]; a patch that upstream has is left out")


PROOFS = Matrix(rows=(MatrixRow(tiers=(Tier.STATIC, Tier.EMULATED), releases=(PIN,), plan="proofs"),))
"""The matrix of a project that has no file: the proofs of its patches on the pin."""

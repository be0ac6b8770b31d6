"""What a run is made of: tests, the cells they are run in, and what came of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from patchtool.domain.release import Release


class Tier(str, Enum):
    """What a cell runs on."""

    STATIC = "static"
    EMULATED = "emulated"
    NPU = "npu"


class Mode(str, Enum):
    """How a step of the model is executed."""

    EAGER = "eager"
    GRAPH = "graph"


class Subsystem(str, Enum):
    """How much of upstream a test runs: what a worker imports first, and what a cell costs."""

    BACKENDS = "backends"
    SCHEDULER = "scheduler"


class Outcome(str, Enum):
    """What came of a cell."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    TIMEOUT = "timeout"

    @property
    def ran(self) -> bool:
        """Whether the asserted values were compared at all."""
        return self in (Outcome.PASSED, Outcome.FAILED)


class Colour(str, Enum):
    """What a test says of a tree, or is expected to say."""

    RED = "red"
    GREEN = "green"

    @property
    def outcome(self) -> Outcome:
        """The outcome that shows this colour."""
        return Outcome.FAILED if self is Colour.RED else Outcome.PASSED


class Verdict(str, Enum):
    """A cell's outcome held against what was expected of it."""

    AS_EXPECTED = "as-expected"
    UNEXPECTED = "unexpected"
    COULD_NOT_RUN = "could-not-run"


@dataclass(frozen=True)
class Test:
    """One test function, as planning sees it.

    Args:
        name: ``<group>::<function>``; the group is the patch's name or the suite's.
        path: Its file.
        function: The function's name in that file.
        owner: The patch whose behaviour it proves, or empty.
        needs: Patches without which it is red.
        mode: The one it is about; None where it makes no difference.
        tiers: Where it can run.
        devices: NPUs it needs, on the npu tier.
        gate: Whether it tests the kernel references: nothing else counts on a release where it is not green.
        drives: What of upstream it runs.
    """

    name: str
    __test__: ClassVar[bool] = False  # pytest would take it for a test

    path: str
    function: str
    owner: str = ""
    needs: tuple[str, ...] = ()
    mode: Mode | None = None
    tiers: tuple[Tier, ...] = (Tier.EMULATED,)
    devices: int = 1
    gate: bool = False
    drives: Subsystem = Subsystem.BACKENDS

    def runs_in(self, modes: Iterable[Mode]) -> bool:
        """Whether the test says anything of one of these modes."""
        return self.mode is None or self.mode in modes


@dataclass(frozen=True)
class Cell:
    """One test on one tree.

    Args:
        release: The tree's release.
        patches: The subset of the series that is applied, in series order.
        tier: What it runs on.
        test: The test.
        expected: The colour it must show, or None where nothing is known.
        reason: Why, where that is not plain from the subset.
        timeout: Seconds it may take; 0 where the executor says it.
    """

    release: Release
    patches: tuple[str, ...]
    tier: Tier
    test: Test
    expected: Colour | None = None
    reason: str = ""
    timeout: float = 0.0

    @property
    def id(self) -> str:
        """Unique within a run, and the same in every run."""
        subset = "+".join(self.patches) or "pristine"
        return f"{self.release}/{self.tier.value}/{subset}/{self.test.name}"


@dataclass(frozen=True)
class CellResult:
    """What came of one cell.

    Args:
        cell: The cell.
        outcome: What happened.
        seconds: Wall clock, without the imports that cells share.
        detail: The asserted values that differed, or why the cell could not run.
        numbers: What the test measured.
        looked_at: Attributes of stand-ins that have no reference and that upstream named, but did not call.
    """

    cell: Cell
    outcome: Outcome
    seconds: float = 0.0
    detail: str = ""
    numbers: Mapping[str, float | str] = field(default_factory=dict)
    looked_at: tuple[str, ...] = ()

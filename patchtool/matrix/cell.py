"""What a run consists of: tests, the cells they run in, and the results.

A cell is one test on one tree: a release with a subset of the series applied. Everything here is a value that can be
pickled, because cells and results travel to other machines.
"""

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
    """Which part of upstream a test exercises: this decides what its worker imports, and what a cell costs."""

    BACKENDS = "backends"
    SCHEDULER = "scheduler"


class Outcome(str, Enum):
    """How the run of a cell ended."""

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
    """Red or green, as in test-driven development: a test that fails on a tree, or passes."""

    RED = "red"
    GREEN = "green"

    @property
    def outcome(self) -> Outcome:
        """The outcome of a test of this colour."""
        return Outcome.FAILED if self is Colour.RED else Outcome.PASSED


class Verdict(str, Enum):
    """A cell's outcome compared with the expected one."""

    AS_EXPECTED = "as-expected"
    UNEXPECTED = "unexpected"
    COULD_NOT_RUN = "could-not-run"


@dataclass(frozen=True)
class Test:
    """One test function, as planning reads it.

    Args:
        name: ``<group>::<function>``; the group is the patch's name, or that of the suite's file.
        path: Its file.
        function: The function's name in that file.
        owner: The patch whose behaviour it tests, or empty.
        needs: Patches without which it is red.
        mode: The mode it is about; None when it runs in both.
        tiers: Where it can run.
        devices: Number of NPUs that it needs on the npu tier.
        gate: Whether it tests the reference kernels: unless it is green, no other result on that release counts.
        drives: The part of upstream that it exercises.
    """

    name: str
    __test__: ClassVar[bool] = False  # pytest would collect it

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
        """Report whether the test is to be run when these modes are selected."""
        return self.mode is None or self.mode in modes


@dataclass(frozen=True)
class Cell:
    """One test on one tree.

    Args:
        release: The tree's release.
        patches: The subset of the series that is applied, in series order.
        tier: What it runs on.
        test: The test.
        expected: The colour it must have; None when that cannot be predicted.
        reason: Why it is expected, for a known red.
        timeout: Seconds; 0 for the executor's default.
        before: The subset whose measurement its own is compared with; none for the unmodified release.
    """

    release: Release
    patches: tuple[str, ...]
    tier: Tier
    test: Test
    expected: Colour | None = None
    reason: str = ""
    timeout: float = 0.0
    before: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Unique within a run, and the same in every run."""
        subset = "+".join(self.patches) or "pristine"
        return f"{self.release}/{self.tier.value}/{subset}/{self.test.name}"


@dataclass(frozen=True)
class CellResult:
    """The result of one cell.

    Args:
        cell: The cell.
        outcome: How it ended.
        seconds: Wall clock, without the imports that cells share.
        detail: The asserted values that differed, or why the cell could not run.
        numbers: What the test measured.
        loaded: The upstream files that it ran, in the git layout, sorted; empty where that is not known.
    """

    cell: Cell
    outcome: Outcome
    seconds: float = 0.0
    detail: str = ""
    numbers: Mapping[str, float | str] = field(default_factory=dict)
    loaded: tuple[str, ...] = ()

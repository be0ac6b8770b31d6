"""Numbers of the patched tree held against thresholds and against those of the unmodified release, of the same run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from patchtool.matrix.cell import Outcome
from patchtool.matrix.npu.faults import StepFault

if TYPE_CHECKING:
    from collections.abc import Mapping

    from patchtool.matrix.npu.speed import Pace
    from patchtool.matrix.planning.served import Accuracy, Speed


@dataclass(frozen=True)
class Compared:
    """What a comparison came to."""

    outcome: Outcome
    detail: str = ""
    numbers: Mapping[str, float | str] = field(default_factory=dict)


def compare_scores(asked: Accuracy, pristine: float | StepFault | None, patched: float | StepFault) -> Compared:
    """Hold a score against its threshold and the unmodified release.

    Args:
        asked: The thresholds.
        pristine: The unmodified release's; a fault is no failure, it may be what the patches are for. None where
            nothing is patched.
        patched: The tree's under test.
    """
    if isinstance(patched, StepFault):
        return Compared(patched.outcome, f"tree under test: {patched.detail}", _known(pristine=pristine))
    numbers = {"patched": patched, "threshold": asked.threshold, **_known(pristine=pristine)}
    if patched < asked.threshold:
        detail = f"{asked.dataset}: got {patched:g}, want at least {asked.threshold:g}"
        return Compared(Outcome.FAILED, detail, numbers)
    if isinstance(pristine, StepFault):
        return Compared(Outcome.PASSED, f"held against the threshold only, pristine: {pristine.detail}", numbers)
    # scores have four digits; what binary fractions add is no drop
    if pristine is not None and patched < round(pristine - asked.drop, 6):
        detail = f"{asked.dataset}: got {patched:g}, pristine {pristine:g}, a drop of at most {asked.drop:g} passes"
        return Compared(Outcome.FAILED, detail, numbers)
    return Compared(Outcome.PASSED, "", numbers)


def compare_paces(asked: Speed, pristine: Pace | StepFault | None, patched: Pace | StepFault) -> Compared:
    """Hold a pace against the unmodified release's.

    Args:
        asked: The ratios that pass.
        pristine: The unmodified release's; without it there is nothing to say.
        patched: The tree's under test.
    """
    if isinstance(patched, StepFault):
        return Compared(patched.outcome, f"tree under test: {patched.detail}")
    numbers: dict[str, float | str] = {"ttft_ms": patched.ttft, "tokens_per_s": patched.throughput}
    if patched.accepted:
        numbers["accepted_length"] = patched.accepted
    if pristine is None:
        return Compared(Outcome.PASSED, "nothing is patched, so there is nothing to compare with", numbers)
    if isinstance(pristine, StepFault):
        return Compared(Outcome.ERROR, f"nothing to compare with, pristine: {pristine.detail}", numbers)
    numbers |= {"pristine_ttft_ms": pristine.ttft, "pristine_tokens_per_s": pristine.throughput}
    ttft, throughput = patched.ttft / pristine.ttft, patched.throughput / pristine.throughput
    wrong = []
    if ttft > asked.ttft:
        wrong.append(f"time to first token is {ttft:.3f} of pristine, want at most {asked.ttft:g}")
    if throughput < asked.throughput:
        wrong.append(f"throughput is {throughput:.3f} of pristine, want at least {asked.throughput:g}")
    return Compared(Outcome.FAILED if wrong else Outcome.PASSED, "; ".join(wrong), numbers)


def _known(**values: float | StepFault | None) -> dict[str, float | str]:
    return {name: value for name, value in values.items() if isinstance(value, float)}

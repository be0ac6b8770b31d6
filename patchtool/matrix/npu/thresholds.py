"""Comparing measurements of the patched tree with thresholds, and with the pristine release in the same run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from patchtool.matrix.cell import Outcome
from patchtool.matrix.npu.errors import MeasurementError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from patchtool.matrix.npu.speed import SpeedResult
    from patchtool.matrix.planning.served_models import Accuracy, Speed


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison."""

    outcome: Outcome
    detail: str = ""
    numbers: Mapping[str, float | str] = field(default_factory=dict)


def compare_accuracy(
    benchmark: Accuracy, pristine: float | MeasurementError | None, patched: float | MeasurementError
) -> Comparison:
    """Compare a score with its threshold and with the pristine release.

    Args:
        benchmark: The thresholds.
        pristine: Score of the pristine release. An error is no failure, because the patches may be the fix for it;
            None when the tree itself is pristine.
        patched: Score of the tree under test.
    """
    known: dict[str, float | str] = {"pristine": pristine} if isinstance(pristine, float) else {}
    if isinstance(patched, MeasurementError):
        return Comparison(patched.outcome, f"tree under test: {patched.detail}", known)
    numbers = {"patched": patched, "threshold": benchmark.threshold, **known}
    if patched < benchmark.threshold:
        detail = f"{benchmark.dataset}: got {patched:g}, want at least {benchmark.threshold:g}"
        return Comparison(Outcome.FAILED, detail, numbers)
    if isinstance(pristine, MeasurementError):
        return Comparison(Outcome.PASSED, f"compared with the threshold only, pristine: {pristine.detail}", numbers)
    # scores have four digits; rounding removes what binary fractions add
    if pristine is not None and patched < round(pristine - benchmark.drop, 6):
        allowed = f"a drop of at most {benchmark.drop:g} passes"
        detail = f"{benchmark.dataset}: got {patched:g}, pristine {pristine:g}, {allowed}"
        return Comparison(Outcome.FAILED, detail, numbers)
    return Comparison(Outcome.PASSED, "", numbers)


def compare_speed(
    benchmark: Speed, pristine: SpeedResult | MeasurementError | None, patched: SpeedResult | MeasurementError
) -> Comparison:
    """Compare a speed with that of the pristine release.

    Args:
        benchmark: The ratios that pass.
        pristine: Speed of the pristine release; None when the tree itself is pristine.
        patched: Speed of the tree under test.
    """
    if isinstance(patched, MeasurementError):
        return Comparison(patched.outcome, f"tree under test: {patched.detail}")
    numbers: dict[str, float | str] = {"ttft_ms": patched.ttft, "tokens_per_s": patched.throughput}
    if patched.accepted:
        numbers["accepted_length"] = patched.accepted
    if pristine is None:
        return Comparison(Outcome.PASSED, "not compared: the tree is pristine", numbers)
    if isinstance(pristine, MeasurementError):
        return Comparison(Outcome.ERROR, f"nothing to compare with, pristine: {pristine.detail}", numbers)
    numbers |= {"pristine_ttft_ms": pristine.ttft, "pristine_tokens_per_s": pristine.throughput}
    ttft, throughput = patched.ttft / pristine.ttft, patched.throughput / pristine.throughput
    problems = []
    if ttft > benchmark.ttft:
        problems.append(f"time to first token is {ttft:.3f} of pristine, want at most {benchmark.ttft:g}")
    if throughput < benchmark.throughput:
        problems.append(f"throughput is {throughput:.3f} of pristine, want at least {benchmark.throughput:g}")
    return Comparison(Outcome.FAILED if problems else Outcome.PASSED, "; ".join(problems), numbers)

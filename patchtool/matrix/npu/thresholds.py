"""Comparing the measurements of a tree with thresholds, and with those of the tree before in the same run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING

from patchtool.matrix.cell import Outcome
from patchtool.matrix.npu.accuracy import Score
from patchtool.matrix.npu.errors import MeasurementError
from patchtool.matrix.npu.speed import SpeedResult
from patchtool.matrix.npu.statistics import Interval, change_by_question, mean_ratio
from patchtool.matrix.planning.served_models import Accuracy, Speed

if TYPE_CHECKING:
    from collections.abc import Mapping

Runs = Sequence[Score | SpeedResult] | MeasurementError
"""The runs of one benchmark on one tree, or why there are none."""
_DIGITS = 6
"""Of a score; rounding removes what binary fractions add."""


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison."""

    outcome: Outcome
    detail: str = ""
    numbers: Mapping[str, float | str] = field(default_factory=dict)


def compare(benchmark: Accuracy | Speed, before: Runs | None, after: Runs) -> Comparison:
    """Compare the runs of a benchmark with its thresholds, and with those on the tree before.

    Args:
        benchmark: The thresholds, and what was published.
        before: Runs on the tree before; None when the tree under test is that tree.
        after: Runs on the tree under test.
    """
    if isinstance(after, MeasurementError):
        found = Comparison(after.outcome, f"tree under test: {after.detail}", _known(before))
    elif isinstance(benchmark, Accuracy):
        found = _compare_scores(benchmark, before, _scores(after))
    else:
        found = _compare_speeds(benchmark, before, _speeds(after))
    return Comparison(found.outcome, found.detail, {**found.numbers, **_published(benchmark)})


def _compare_scores(benchmark: Accuracy, before: Runs | None, after: Sequence[Score]) -> Comparison:
    """A tree before without a score is no failure, because the patches may be the fix for it."""
    score = round(fmean(run.score for run in after), _DIGITS)
    known = _known(before)
    numbers: dict[str, float | str] = {"after": score, "threshold": benchmark.threshold, "runs": len(after), **known}
    scores = _scores(before)
    if scores and (change := change_by_question([run.questions for run in scores], [run.questions for run in after])):
        numbers |= {**_interval("change", change[0]), "questions": change[1]}
    if score < benchmark.threshold:
        detail = f"{benchmark.dataset}: got {score:g}, want at least {benchmark.threshold:g}"
        return Comparison(Outcome.FAILED, detail, numbers)
    if isinstance(before, MeasurementError):
        return Comparison(Outcome.PASSED, f"compared with the threshold only, before: {before.detail}", numbers)
    if scores and score < round(float(known["before"]) - benchmark.drop, _DIGITS):
        allowed = f"a drop of at most {benchmark.drop:g} passes"
        detail = f"{benchmark.dataset}: got {score:g}, before {known['before']:g}, {allowed}"
        return Comparison(Outcome.FAILED, detail, numbers)
    return Comparison(Outcome.PASSED, "", numbers)


def _compare_speeds(benchmark: Speed, before: Runs | None, after: Sequence[SpeedResult]) -> Comparison:
    numbers: dict[str, float | str] = {
        "ttft_ms": _mean([run.ttft for run in after]),
        "tokens_per_s": _mean([run.throughput for run in after]),
        "runs": len(after),
    }
    if accepted := [run.accepted for run in after if run.accepted]:
        numbers["accepted_length"] = _mean(accepted)
    if before is None:
        return Comparison(Outcome.PASSED, "not compared: it is the tree that others are compared with", numbers)
    if isinstance(before, MeasurementError):
        return Comparison(Outcome.ERROR, f"nothing to compare with, before: {before.detail}", numbers)
    old = _speeds(before)
    ttft = mean_ratio([run.ttft for run in old], [run.ttft for run in after])
    throughput = mean_ratio([run.throughput for run in old], [run.throughput for run in after])
    numbers |= {**_known(before), **_interval("ttft_ratio", ttft), **_interval("throughput_ratio", throughput)}
    problems = []
    if ttft.mean > benchmark.ttft:
        problems.append(f"time to first token is {ttft.mean:.3f} of that before, want at most {benchmark.ttft:g}")
    if throughput.mean < benchmark.throughput:
        problems.append(f"throughput is {throughput.mean:.3f} of that before, want at least {benchmark.throughput:g}")
    return Comparison(Outcome.FAILED if problems else Outcome.PASSED, "; ".join(problems), numbers)


def _scores(runs: Runs | None) -> list[Score]:
    return [] if runs is None or isinstance(runs, MeasurementError) else [run for run in runs if isinstance(run, Score)]


def _speeds(runs: Runs | None) -> list[SpeedResult]:
    known = [] if runs is None or isinstance(runs, MeasurementError) else runs
    return [run for run in known if isinstance(run, SpeedResult)]


def _known(before: Runs | None) -> dict[str, float | str]:
    """What was measured of the tree before."""
    if scores := _scores(before):
        return {"before": round(fmean(run.score for run in scores), _DIGITS)}
    if not (speeds := _speeds(before)):
        return {}
    return {
        "before_ttft_ms": _mean([run.ttft for run in speeds]),
        "before_tokens_per_s": _mean([run.throughput for run in speeds]),
    }


def _published(benchmark: Accuracy | Speed) -> dict[str, float | str]:
    found: dict[str, float | str] = {}
    if isinstance(benchmark, Accuracy):
        if benchmark.published:
            found["published_before"], found["published_after"] = benchmark.published
        return found
    if benchmark.published_ttft:
        found["published_ttft_ratio_low"], found["published_ttft_ratio_high"] = benchmark.published_ttft
    if benchmark.published_throughput:
        found["published_throughput_ratio"] = benchmark.published_throughput
    return found


def _interval(name: str, interval: Interval) -> dict[str, float | str]:
    """A mean, and its ends where they are known."""
    ends = {f"{name}_low": interval.low, f"{name}_high": interval.high} if interval.known else {}
    return {name: round(interval.mean, _DIGITS), **{end: round(value, _DIGITS) for end, value in ends.items()}}


def _mean(values: Sequence[float]) -> float:
    return round(fmean(values), 3)

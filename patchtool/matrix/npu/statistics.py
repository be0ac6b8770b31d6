"""Means of measurements with 95 % confidence intervals."""

from __future__ import annotations

import math
from statistics import fmean, stdev
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""The 97.5 % quantiles of Student's distribution for 1 to 10 degrees of freedom."""
_NORMAL, _SLOPE = 1.96, 2.5
"""For more of them the quantile is about 1.96 + 2.5 / degrees, with an error below 0.01."""


class Interval(NamedTuple):
    """A mean, and the interval that has the true one with a confidence of 95 %; of one value it is not known."""

    mean: float
    low: float = math.nan
    high: float = math.nan

    @property
    def known(self) -> bool:
        """Whether there are ends."""
        return not math.isnan(self.low)


def mean_interval(values: Sequence[float]) -> Interval:
    """Return the mean of independent values with its interval, by Student's distribution.

    Args:
        values: At least one.
    """
    mean = fmean(values)
    if len(values) == 1:
        return Interval(mean)
    degrees = len(values) - 1
    quantile = _T[degrees - 1] if degrees <= len(_T) else _NORMAL + _SLOPE / degrees
    half = quantile * stdev(values) / math.sqrt(len(values))
    return Interval(mean, mean - half, mean + half)


def change_by_question(
    before: Sequence[Mapping[str, float]], after: Sequence[Mapping[str, float]]
) -> tuple[Interval, int] | None:
    """Return the mean change of a score, and of how many questions.

    Questions differ much more than runs do, so each question is compared with itself, averaged over the runs of a tree.

    Args:
        before: Scores by question of each run.
        after: The same of the other tree.

    Returns:
        None when no question is in all runs.
    """
    questions = set.intersection(*(set(run) for run in (*before, *after)))
    if not questions:
        return None
    changes = [fmean(run[name] for run in after) - fmean(run[name] for run in before) for name in sorted(questions)]
    return mean_interval(changes), len(questions)


def mean_ratio(before: Sequence[float], after: Sequence[float]) -> Interval:
    """Return the mean ratio of two trees' runs, the n-th of each compared with one another.

    Args:
        before: A positive number of each run.
        after: The same of the other tree, equally many.
    """
    logs = mean_interval([math.log(new / old) for old, new in zip(before, after, strict=True)])
    return Interval(*map(math.exp, logs))

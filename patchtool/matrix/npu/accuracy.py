"""The scores that evalscope writes. Written for evalscope 1.14; never run on a real NPU."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from patchtool.matrix.cell import Outcome
from patchtool.matrix.npu.errors import MeasurementError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True)
class Score:
    """The result of one run of a dataset.

    Args:
        score: 0 to 1.
        questions: The score of each question; empty where evalscope did not write them.
    """

    score: float
    questions: Mapping[str, float] = field(default_factory=dict)


def read_score(folder: Path, dataset: str, step: str) -> Score:
    """Read the score from evalscope's report, ``reports/<model>/<dataset>.json``, and those of its questions.

    Args:
        folder: evalscope's work folder.
        dataset: The dataset.
        step: The name of the measurement in messages.

    Raises:
        MeasurementError: There is no report, or it has no score.

    Source: evalscope 1.14 ``report/report.py``: schema 2 names its primary metric, earlier ones have ``score``.
    """
    reports = sorted(folder.glob(f"reports/**/{dataset}.json"))
    if len(reports) != 1:
        raise MeasurementError(Outcome.ERROR, f"{step}: expected one report, got {len(reports)}")
    try:
        report = json.loads(reports[0].read_bytes())
        score = float(_primary_score(report))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise MeasurementError(Outcome.ERROR, f"{step}: the report has no score: {error!r}") from error
    if not (math.isfinite(score) and 0 <= score <= 1):
        raise MeasurementError(Outcome.ERROR, f"{step}: {score} is not a score from 0 to 1")
    return Score(score, read_questions(folder, dataset))


def read_questions(folder: Path, dataset: str) -> dict[str, float]:
    """Read the score of each question, by subset and index; of lines that are something else, none.

    Args:
        folder: evalscope's work folder.
        dataset: The dataset.

    Source: evalscope 1.14 ``api/evaluator/cache.py``: ``reviews/<model>/<dataset>_<subset>.jsonl``, a line per
        question; ``api/metric/scorer.py``: of several values ``main_score_name`` or the first is the score.
    """
    questions: dict[str, float] = {}
    for file in sorted(folder.glob(f"reviews/**/{dataset}_*.jsonl")):
        for line in file.read_bytes().splitlines():
            try:
                review = json.loads(line)
                score = review["sample_score"]["score"]
                values = score["value"]
                value = float(values[score.get("main_score_name") or next(iter(values))])
                index = int(review["index"])
            except (ValueError, TypeError, KeyError, AttributeError, StopIteration):
                continue
            if math.isfinite(value):
                questions[f"{file.stem}/{index}"] = value
    return questions


def _primary_score(report: Mapping[str, Any]) -> Any:
    if "primary_metric_identity" not in report:
        return report["score"]
    identity = report["primary_metric_identity"]
    (metric,) = [metric for metric in report["metrics"] if metric["identity"] == identity]
    return metric["score"]

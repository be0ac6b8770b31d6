"""Accuracy, measured by evalscope. Written for evalscope 1.14; never run on a real NPU."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from patchtool.matrix.cell import Outcome
from patchtool.matrix.npu.errors import MeasurementError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from patchtool.matrix.npu.server import Client
    from patchtool.matrix.planning.served_models import Accuracy


def measure_accuracy(client: Client, benchmark: Accuracy) -> float:
    """Run a dataset against a server.

    Args:
        client: evalscope.
        benchmark: The dataset and its settings.

    Returns:
        The score, 0 to 1.

    Raises:
        MeasurementError: There is no score.
    """
    step, folder = f"evalscope {benchmark.dataset}", client.folder / benchmark.dataset
    generation: dict[str, Any] = {
        "temperature": 0.0,
        "max_tokens": benchmark.max_tokens,
        "extra_body": {"chat_template_kwargs": {"enable_thinking": benchmark.thinking}},
    }
    options = {
        "--model": client.model,
        "--api-url": f"{client.server.url}/v1",
        "--api-key": "EMPTY",
        "--eval-type": "openai_api",
        "--datasets": benchmark.dataset,
        "--generation-config": json.dumps(generation),
        "--work-dir": str(folder),
        **({"--limit": str(benchmark.limit)} if benchmark.limit else {}),
    }
    arguments = ["eval", *(text for option in options.items() for text in option), "--no-timestamp"]
    client.run(step, arguments, f"{benchmark.dataset}.log")
    return read_score(folder, benchmark.dataset, step)


def read_score(folder: Path, dataset: str, step: str) -> float:
    """Read the score from evalscope's report, ``reports/<model>/<dataset>.json``.

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
    return score


def _primary_score(report: Mapping[str, Any]) -> Any:
    if "primary_metric_identity" not in report:
        return report["score"]
    identity = report["primary_metric_identity"]
    (metric,) = [metric for metric in report["metrics"] if metric["identity"] == identity]
    return metric["score"]

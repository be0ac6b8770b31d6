"""Accuracy: evalscope asks the server a dataset's questions. Written after evalscope 1.14; never run on a real NPU."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from patchtool.matrix.cell import Outcome
from patchtool.matrix.npu.faults import StepFault
from patchtool.matrix.npu.processes import finish

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from patchtool.matrix.npu.server import ServerProcess
    from patchtool.matrix.planning.served import Accuracy


def score(
    command: Sequence[str],
    server: ServerProcess,
    model: str,
    asked: Accuracy,
    folder: Path,
    environment: Mapping[str, str],
    timeout: float,
) -> float:
    """Run a dataset against a server.

    Args:
        command: evalscope's.
        server: The server.
        model: The name it serves under.
        asked: The dataset and its settings.
        folder: For reports and logs.
        environment: All variables of the client.
        timeout: Seconds it may take.

    Returns:
        The score, 0 to 1.

    Raises:
        StepFault: It does not come to a score.
    """
    step = f"evalscope {asked.dataset}"
    log = folder / f"{asked.dataset}.log"
    argv = [*command, *_arguments(server, model, asked, folder / asked.dataset)]
    finish(step, argv, log, environment, timeout, server.alive)
    return read_score(folder / asked.dataset, asked.dataset, step)


def _arguments(server: ServerProcess, model: str, asked: Accuracy, folder: Path) -> list[str]:
    generation: dict[str, Any] = {
        "temperature": 0.0,
        "max_tokens": asked.max_tokens,
        "extra_body": {"chat_template_kwargs": {"enable_thinking": asked.thinking}},
    }
    words = {
        "--model": model,
        "--api-url": f"{server.url}/v1",
        "--api-key": "EMPTY",
        "--eval-type": "openai_api",
        "--datasets": asked.dataset,
        "--generation-config": json.dumps(generation),
        "--work-dir": str(folder),
    }
    limit = ["--limit", str(asked.limit)] if asked.limit else []
    return ["eval", *(word for pair in words.items() for word in pair), "--no-timestamp", *limit]


def read_score(folder: Path, dataset: str, step: str) -> float:
    """Read the score from evalscope's report, ``reports/<model>/<dataset>.json``.

    Args:
        folder: evalscope's work folder.
        dataset: The dataset.
        step: What ran, for messages.

    Raises:
        StepFault: There is no report, or it holds no score.

    Source: evalscope 1.14 ``report/report.py``: schema 2 names its primary metric, earlier ones have ``score``.
    """
    reports = sorted(folder.glob(f"reports/**/{dataset}.json"))
    if len(reports) != 1:
        raise StepFault(Outcome.ERROR, f"{step} left {len(reports)} reports, not one")
    try:
        report = json.loads(reports[0].read_bytes())
        found = float(_primary(report))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StepFault(Outcome.ERROR, f"{step}: the report holds no score: {error!r}") from error
    if not (math.isfinite(found) and 0 <= found <= 1):
        raise StepFault(Outcome.ERROR, f"{step}: {found} is no score from 0 to 1")
    return found


def _primary(report: Mapping[str, Any]) -> Any:
    if "primary_metric_identity" not in report:
        return report["score"]
    named = report["primary_metric_identity"]
    (metric,) = [each for each in report["metrics"] if each["identity"] == named]
    return metric["score"]

"""The speed that the tree's own ``bench_serving`` writes. Written for that of 0.5.13; never run on a real NPU."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from patchtool.matrix.cell import Outcome
from patchtool.matrix.npu.errors import MeasurementError

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class SpeedResult:
    """The result of one load.

    Args:
        ttft: Mean time to first token, ms.
        throughput: Output tokens per second.
        accepted: Mean accepted length of speculation; 0 when the server does not report it.
    """

    ttft: float
    throughput: float
    accepted: float = 0.0


def read_speed(output: Path, prompts: int) -> SpeedResult:
    """Read the numbers of the last run from a file of JSON lines.

    Args:
        output: The file.
        prompts: Number of requests that must have been completed.

    Raises:
        MeasurementError: There are no numbers, or requests are missing: the speed of a part is not comparable.
    """
    try:
        last = json.loads(output.read_bytes().strip().splitlines()[-1])
        speed = SpeedResult(last["mean_ttft_ms"], last["output_throughput"], last.get("accept_length") or 0.0)
        valid = all(math.isfinite(value) and value > 0 for value in (speed.ttft, speed.throughput))
        completed = int(last["completed"])
    except (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise MeasurementError(Outcome.ERROR, f"bench_serving wrote no numbers: {error!r}") from error
    if completed != prompts:
        raise MeasurementError(Outcome.ERROR, f"bench_serving completed {completed} of {prompts} requests")
    if not valid:
        detail = f"bench_serving measured ttft {speed.ttft} ms, throughput {speed.throughput}"
        raise MeasurementError(Outcome.ERROR, detail)
    return speed

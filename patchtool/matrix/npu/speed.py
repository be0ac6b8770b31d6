"""Speed: the tree's own ``bench_serving`` loads the server. Written after 0.5.13's; never run on a real NPU."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from patchtool.matrix.cell import Outcome
from patchtool.matrix.npu.faults import StepFault
from patchtool.matrix.npu.processes import finish

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from patchtool.matrix.npu.server import ServerProcess
    from patchtool.matrix.planning.served import Speed


@dataclass(frozen=True)
class Pace:
    """What was measured.

    Args:
        ttft: Mean time to the first token, ms.
        throughput: Output tokens per second.
        accepted: Mean accepted length of speculation; 0 where the server does not say.
    """

    ttft: float
    throughput: float
    accepted: float = 0.0


def pace(
    command: Sequence[str],
    server: ServerProcess,
    model: str,
    asked: Speed,
    folder: Path,
    environment: Mapping[str, str],
    timeout: float,
) -> Pace:
    """Put a load on a server.

    Args:
        command: ``bench_serving``'s.
        server: The server.
        model: The name it serves under.
        asked: The load.
        folder: For the output and logs.
        environment: All variables of the client.
        timeout: Seconds it may take.

    Raises:
        StepFault: It does not come to numbers.
    """
    output = folder / "speed.jsonl"
    words = {
        "--backend": "sglang",
        "--host": "127.0.0.1",
        "--port": str(server.port),
        "--model": model,
        "--dataset-name": "random",
        "--random-range-ratio": "1",
        "--num-prompts": str(asked.prompts),
        "--random-input-len": str(asked.input_tokens),
        "--random-output-len": str(asked.output_tokens),
        "--max-concurrency": str(asked.concurrency),
        "--seed": "1",
        "--output-file": str(output),
    }
    argv = [*command, *(word for pair in words.items() for word in pair), "--disable-tqdm"]
    finish("bench_serving", argv, folder / "speed.log", environment, timeout, server.alive)
    return read_pace(output, asked.prompts)


def read_pace(output: Path, prompts: int) -> Pace:
    """Read the numbers of the last run in a file of JSON lines.

    Args:
        output: The file.
        prompts: How many requests must have been completed.

    Raises:
        StepFault: There are none, or requests are missing: the pace of a part says nothing.
    """
    try:
        last = json.loads(output.read_bytes().strip().splitlines()[-1])
        found = Pace(last["mean_ttft_ms"], last["output_throughput"], last.get("accept_length") or 0.0)
        good = all(math.isfinite(value) and value > 0 for value in (found.ttft, found.throughput))
        completed = int(last["completed"])
    except (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise StepFault(Outcome.ERROR, f"bench_serving left no numbers: {error!r}") from error
    if completed != prompts:
        raise StepFault(Outcome.ERROR, f"bench_serving completed {completed} of {prompts} requests")
    if not good:
        raise StepFault(Outcome.ERROR, f"bench_serving measured ttft {found.ttft} ms, throughput {found.throughput}")
    return found

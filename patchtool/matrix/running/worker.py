"""The process that imports a tree once and runs cells in forks of itself; started by ``local``, speaks JSON lines.

It reads one job per line from stdin and answers each with one line. The first line describes the tree.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Job = Mapping[str, Any]

Answer = dict[str, object]
_HOW = {
    "torch": ": pip install 'sglang-patchtool[emulated]'",
    # its dependency on triton would take the place of triton-ascend
    "xgrammar": ": pip install --no-deps xgrammar",
}


def main(prepare: Callable[[Job], str] | None = None, run: Callable[[Job], Answer] | None = None) -> int:
    """Serve until stdin ends.

    Args:
        prepare: Imports what every cell needs, by the description of the tree; why not, or nothing.
        run: Runs one cell in this process.
    """
    prepare, run = prepare or _prepare, run or _run
    _end_with_parent()
    # what upstream prints must not get between the answers
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    setup = json.loads(sys.stdin.readline())
    started = time.monotonic()
    fault = prepare(setup)
    _say(answers, {"ready": not fault, "detail": fault, "seconds": time.monotonic() - started})
    if fault:
        return 1
    for line in sys.stdin:
        job = json.loads(line)
        _say(answers, _in_fork(job, run) if setup["fork"] else run(job))
    return 0


def _say(answers: TextIO, answer: Answer) -> None:
    answers.write(json.dumps(answer) + "\n")


def _prepare(setup: Job) -> str:
    """Import what every cell needs, with one thread and no tensor operation; why not, or nothing."""
    try:
        import torch

        torch.set_num_threads(1)
        from patchtool.emulation import (
            decoding,  # noqa: F401  every fork needs them
            runner,  # noqa: F401  every fork needs them
        )
        from patchtool.emulation.install import install_emulation

        install_emulation(Path(setup["tree"]))
        if setup["drives"] == "scheduler":
            from patchtool.emulation.serving.install import install_server_emulation

            install_server_emulation()
        if setup["fork"]:
            from patchtool.emulation.preload import preload_upstream

            preload_upstream(setup["replaced"], setup["drives"])
            gc.freeze()  # a collection in a fork would copy every page
    except ModuleNotFoundError as error:
        return f"{error.name} is not installed, and this release imports it{_HOW.get(error.name or '', '')}"
    except Exception as error:  # noqa: BLE001  whatever upstream raises while it is imported is the answer
        return f"{type(error).__name__}: {error}"
    return ""


def _in_fork(job: Job, run: Callable[[Job], Answer]) -> Answer:
    """Run one cell in a child, killed when its time is over; what it started ends with the worker."""
    started = time.monotonic()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _end_with_parent()
        os.close(reading)
        with os.fdopen(writing, "w") as out:
            json.dump(run(job), out)
        os._exit(0)
    os.close(writing)
    heard = _hear(reading, float(str(job["timeout"])))
    os.close(reading)
    if heard is None:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    seconds = time.monotonic() - started
    if heard is None:
        return {"outcome": "timeout", "detail": f"no answer within {job['timeout']} s", "seconds": seconds}
    if not heard:
        code = os.waitstatus_to_exitcode(status)
        return {"outcome": "error", "detail": f"the cell's process ended with {code}", "seconds": seconds}
    answer: Answer = json.loads(heard)
    return answer


def _end_with_parent() -> None:
    """Be killed when the parent is: nobody else watches this process's time."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _hear(reading: int, timeout: float) -> bytes | None:
    """Everything the child writes until it closes its end, or None when time is over."""
    heard = b""
    until = time.monotonic() + timeout
    while (left := until - time.monotonic()) > 0:
        if not select.select([reading], [], [], left)[0]:
            return None
        part = os.read(reading, 1 << 16)
        if not part:
            return heard
        heard += part
    return None


def _run(job: Job) -> Answer:
    from patchtool.emulation.runner import run_test

    return run_test(Path(str(job["tree"])), Path(str(job["overlay"])), Path(str(job["file"])), str(job["function"]))


if __name__ == "__main__":
    sys.exit(main())

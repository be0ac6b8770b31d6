"""A worker without torch: the protocol and forks of the real one, with tests that import nothing of upstream."""

import os
import runpy
import sys
import time
from collections.abc import Mapping
from typing import Any

from patchtool.matrix.running import worker


def prepare(setup: Mapping[str, Any]) -> str:
    # recorded before the forks: a test that asked for its parent later might get the process that adopted it
    os.environ["WORKER"] = str(os.getpid())
    os.environ.setdefault("TASK", str(os.getppid()))  # that of the first process, not of its branches
    sys.path.insert(0, setup["tree"])
    import sglang

    return getattr(sglang, "FAULT", "")


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    started = time.monotonic()
    outcome, detail = "passed", ""
    os.environ["OVERLAY"] = job["overlay"]
    try:
        runpy.run_path(job["file"])[job["function"]]()
    except AssertionError as error:
        outcome, detail = "failed", str(error)
    return {
        "outcome": outcome,
        "detail": detail,
        "seconds": time.monotonic() - started,
        "numbers": {"pid": os.getpid()},
    }


if __name__ == "__main__":
    worker.main(prepare, run)

"""A process that imports a tree once and runs cells in forks of itself; ``local`` starts it.

It reads JSON lines from stdin and answers each with one. The first describes the tree, every other one is a cell. It
runs on the cells' interpreter, so it may import nothing but the standard library, the emulation and what is as small.
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

from patchtool import DISTRIBUTION
from patchtool.matrix.running.own_time import OwnTime

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Message = Mapping[str, Any]

Reply = dict[str, object]
_INSTALL_HINTS = {
    # PyPI's torch for Linux depends on CUDA packages of several GB
    "torch": f": pip install torch --index-url https://download.pytorch.org/whl/cpu, then '{DISTRIBUTION}[emulated]'",
    # its dependency on triton would replace triton-ascend
    "xgrammar": ": pip install --no-deps xgrammar",
}
_CHUNK = 1 << 16
_POLL = 0.2
_LONGEST_REPLY = 16 << 20
_LARGEST_FILE = 4 << 30
_OUTCOMES = ("passed", "failed", "error", "skipped", "timeout")


def main(prepare: Callable[[Message], str] | None = None, run: Callable[[Message], Reply] | None = None) -> int:
    """Serve until stdin ends.

    Args:
        prepare: Imports what every cell needs; returns why that failed, or nothing.
        run: Runs one cell in this process.
    """
    prepare, run = prepare or _prepare, run or _run
    _end_with_parent()
    # what upstream prints must not mix with the replies
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    setup = json.loads(sys.stdin.readline())
    started = time.monotonic()
    fault = prepare(setup)
    _send(replies, {"ready": not fault, "detail": fault, "seconds": time.monotonic() - started})
    if fault:
        return 1
    for line in sys.stdin:
        job = json.loads(line)
        _send(replies, _run_in_fork(job, run) if setup["fork"] else run(job))
    return 0


def _send(replies: TextIO, reply: Reply) -> None:
    replies.write(json.dumps(reply) + "\n")


def _prepare(setup: Message) -> str:
    """Import what every cell needs, without a tensor operation: the threads it starts would not survive a fork."""
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
        return f"{error.name} is not installed, and this release imports it{_INSTALL_HINTS.get(error.name or '', '')}"
    except Exception as error:  # noqa: BLE001  whatever upstream raises while it is imported is the answer
        return f"{type(error).__name__}: {error}"
    return ""


def _run_in_fork(job: Message, run: Callable[[Message], Reply]) -> Reply:
    """Run one cell in a child process, and kill it after its timeout; its own children end with the worker."""
    started = time.monotonic()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _end_with_parent()
        _limit()
        os.close(reading)
        with os.fdopen(writing, "w") as pipe:
            json.dump(run(job), pipe)
        os._exit(0)
    os.close(writing)
    output = _read_all(reading, OwnTime(child), float(job["timeout"]))
    os.close(reading)
    if output is None or len(output) > _LONGEST_REPLY:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    seconds = time.monotonic() - started
    if output is None:
        return {"outcome": "timeout", "detail": f"no answer within {job['timeout']:g} s", "seconds": seconds}
    code = os.waitstatus_to_exitcode(status)
    detail = f"the cell's process ended with {code}" if not output else _problem(output)
    return {"outcome": "error", "detail": detail, "seconds": seconds} if detail else _reply(output)


def _reply(output: bytes) -> Reply:
    reply: Reply = json.loads(output)
    return reply


def _problem(output: bytes) -> str:
    """Why the answer of a cell, whose code may write to any of its files, is none; empty where it is one."""
    if len(output) > _LONGEST_REPLY:
        return f"the cell answered with more than {_LONGEST_REPLY} bytes"
    try:
        reply = _reply(output)
        outcome, detail = reply["outcome"], reply["detail"]
        numbers, loaded, seconds = reply.get("numbers", {}), reply.get("loaded", []), reply.get("seconds", 0.0)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return "the cell's answer is damaged"
    known = outcome in _OUTCOMES and isinstance(detail, str) and isinstance(seconds, (int, float))
    listed = isinstance(numbers, dict) and isinstance(loaded, list) and all(isinstance(each, str) for each in loaded)
    return "" if known and listed else "the cell's answer is damaged"


def _limit() -> None:
    """Bound what one cell takes of the machine; its time is bounded by who waits for it.

    A limit of the address space would hit torch, which reserves more than it uses; this one counts what is written.
    """
    import resource

    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 3 // 4
    for kind, most in (
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_FSIZE, _LARGEST_FILE),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _end_with_parent() -> None:
    """Have the kernel kill this process when its parent ends: nobody else would stop it."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _read_all(reading: int, own_time: OwnTime, timeout: float) -> bytes | None:
    """Read until the child closes its end; None on a timeout."""
    output = b""
    while not own_time.exceeds(timeout):
        if not select.select([reading], [], [], min(_POLL, timeout))[0]:
            continue
        chunk = os.read(reading, _CHUNK)
        if not chunk:
            return output
        output += chunk
        if len(output) > _LONGEST_REPLY:
            return output
    return None


def _run(job: Message) -> Reply:
    from patchtool.emulation.runner import run_test

    return run_test(Path(str(job["tree"])), Path(str(job["overlay"])), Path(str(job["file"])), str(job["function"]))


if __name__ == "__main__":
    sys.exit(main())

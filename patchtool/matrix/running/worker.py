"""A process that imports a tree once, and forks of it that run cells; ``local`` starts it.

The imports take seconds and a cell takes a fraction of one. The first process imports what all cells need, a branch of
it adds what a subsystem needs, a branch of that adds the files of one overlay, and each cell is a fork of such a
branch. All answer messages on channels. They run on the cells' interpreter, so this may import nothing but the standard
library, the emulation and what is as small.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from patchtool import DISTRIBUTION
from patchtool.matrix.running.channel import Channel
from patchtool.matrix.running.huge_pages import use_huge_pages
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


def main(prepare: Callable[[Message], str] | None = None, run: Callable[[Message], Reply] | None = None) -> NoReturn:
    """Serve the channel that is this process's stdin until it is closed.

    Args:
        prepare: Imports what the cells of a setup need; returns why that failed, or nothing.
        run: Runs one cell in this process.
    """
    _end_with_parent()
    channel = Channel(socket.socket(fileno=os.dup(sys.stdin.fileno())))
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), sys.stdin.fileno())
    code = _serve(channel, prepare or _prepare, run or _run)
    os._exit(code)  # Python's own end frees what was imported, one copied page after another


def _serve(channel: Channel, prepare: Callable[[Message], str], run: Callable[[Message], Reply]) -> int:
    """Answer one message after another; a branch is a fork that goes on with a setup and a channel of its own."""
    while (message := channel.receive()) is not None:
        if "branch" in message:
            if os.fork():
                os.close(message["file"])
                _reap()
                continue
            _end_with_parent()
            channel.close()
            channel = Channel(socket.socket(fileno=message["file"]))
            channel.send({"pid": os.getpid()})
        if setup := message.get("setup") or message.get("branch"):
            started = time.monotonic()
            fault = prepare(setup)
            seconds = time.monotonic() - started
            channel.send({"ready": not fault, "detail": fault, "seconds": seconds, "loaded": _IMPORTED.files})
            if fault:
                return 1
        elif job := message.get("job"):
            channel.send(_run_in_fork(job, run, channel) if job["fork"] else run(job))
    return 0


def _reap() -> None:
    """Let go of branches that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


@dataclass
class _Imported:
    """What was imported before the cells.

    Attributes:
        files: The files of the tree, relative to it.
        last: The module that was imported last.
    """

    files: list[str] = field(default_factory=list)
    last: str = ""


_IMPORTED = _Imported()


def _prepare(setup: Message) -> str:
    """Import what every cell needs, without a tensor operation: the threads it starts would not survive a fork."""
    try:
        _STEPS[setup["step"]](setup)
    except ModuleNotFoundError as error:
        return f"{error.name} is not installed, and this release imports it{_INSTALL_HINTS.get(error.name or '', '')}"
    except Exception as error:  # noqa: BLE001  whatever upstream raises while it is imported is the answer
        return f"{type(error).__name__}: {error}"
    return ""


def _prepare_tree(setup: Message) -> None:
    """Make this process an emulated host, and import the backends of the tree."""
    import torch

    torch.set_num_threads(1)
    from patchtool.emulation import (
        decoding,  # noqa: F401  every fork needs them
        runner,  # noqa: F401  every fork needs them
    )
    from patchtool.emulation.install import install_emulation
    from patchtool.emulation.serving.install import install_server_emulation

    install_emulation(Path(setup["tree"]))
    install_server_emulation()
    if setup["fork"]:
        _preload({**setup, "drives": "backends"})


def _preload(setup: Message) -> None:
    """Import the modules of a subsystem."""
    from patchtool.emulation.preload import preload_upstream

    preload_upstream(setup["drives"])
    gc.freeze()  # a collection in a fork would copy every page
    use_huge_pages()


def _prepare_overlay(setup: Message) -> None:
    """Import again what an overlay changes; where that fails, each cell imports it for itself and reports why."""
    from patchtool.emulation.preload import preload_upstream, put_overlay_first
    from patchtool.emulation.runner import loaded_files

    os.environ |= dict.fromkeys(("HOME", "TMPDIR"), str(setup["home"]))
    os.chdir(setup["home"])
    tempfile.tempdir = None
    tree, overlay = Path(setup["tree"]), Path(setup["overlay"])
    put_overlay_first(overlay, tree)
    if setup["import"]:
        preload_upstream(setup["drives"])
    gc.freeze()
    _IMPORTED.files, _IMPORTED.last = loaded_files(tree, overlay), next(reversed(sys.modules))


_STEPS = {"tree": _prepare_tree, "subsystem": _preload, "overlay": _prepare_overlay}


def _run_in_fork(job: Message, run: Callable[[Message], Reply], channel: Channel) -> Reply:
    """Run one cell in a child process, and kill it after its timeout; its own children end with the worker."""
    started = time.monotonic()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _end_with_parent()
        _limit()
        os.close(reading)
        channel.close()
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

    tree, overlay, file = (Path(str(job[name])) for name in ("tree", "overlay", "file"))
    return run_test(tree, overlay, file, str(job["function"]), _IMPORTED.last)


if __name__ == "__main__":
    main()

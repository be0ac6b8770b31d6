"""Programs with all they start, none of which outlives its step."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from patchtool.matrix.cell import Outcome
from patchtool.matrix.npu.faults import StepFault, tail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

_TICK = 0.1
_GENTLE = 10.0
_HURRIED = 1.0
"""Seconds to end in when a person interrupts: somebody waits for the prompt."""


@contextmanager
def group(
    argv: Sequence[str], log: Path, environment: Mapping[str, str], gentle: float = _GENTLE
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program in a process group of its own, and end the whole group.

    Args:
        argv: The command.
        log: Gets what it writes.
        environment: All of its variables.
        gentle: Seconds it gets to end by itself when asked to.

    Raises:
        StepFault: There is no such program.
    """
    with log.open("wb") as out:
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                cwd=log.parent,
                start_new_session=True,
            )
        except OSError as error:
            raise StepFault(Outcome.ERROR, f"{argv[0]} cannot be started: {error.strerror}") from error
    try:
        yield process
    except KeyboardInterrupt:
        gentle = min(gentle, _HURRIED)
        raise
    finally:
        _end(process, gentle)


def finish(
    step: str, argv: Sequence[str], log: Path, environment: Mapping[str, str], timeout: float, alive: Callable[[], None]
) -> None:
    """Run a program to its end.

    Args:
        step: What it is, for messages.
        argv: The command.
        log: Gets what it writes.
        environment: All of its variables.
        timeout: Seconds it may take.
        alive: Raises when what the program needs is gone; asked while waiting.

    Raises:
        StepFault: It takes too long, ends with another code than 0, or what it needs is gone.
    """
    until = time.monotonic() + timeout
    with group(argv, log, environment) as process:
        while process.poll() is None:
            alive()
            if time.monotonic() > until:
                raise StepFault(Outcome.TIMEOUT, f"{step} did not end within {timeout:g} s: {tail(log)}")
            time.sleep(_TICK)
    if process.returncode:
        alive()  # a client also fails when its server is gone, and then that is the reason
        raise StepFault(Outcome.ERROR, f"{step} ended with {process.returncode}: {tail(log)}")


def _end(process: subprocess.Popen[bytes], gentle: float) -> None:
    """Ask the group to end, then make it; its leader may be gone while others are not."""
    try:
        _signal(process.pid, signal.SIGTERM)
        until = time.monotonic() + gentle
        while time.monotonic() < until and (process.poll() is None or _lives(process.pid)):
            time.sleep(_TICK)
    finally:  # a second interrupt may cut the waiting short, not leave a server behind
        _signal(process.pid, signal.SIGKILL)
        process.wait()


def _signal(leader: int, which: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(leader, which)


def _lives(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    return True

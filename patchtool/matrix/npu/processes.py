"""Programs in process groups of their own, none of which outlives its measurement."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from patchtool.matrix.cell import Outcome
from patchtool.matrix.npu.errors import MeasurementError
from patchtool.matrix.npu.failures import with_cause

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

_POLL = 0.1
_GRACE = 10.0
"""Seconds between SIGTERM and SIGKILL."""
_GRACE_ON_INTERRUPT = 1.0
"""The same after Ctrl-C, when the user waits for the prompt."""


@contextmanager
def process_group(argv: Sequence[str], log: Path, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program in a process group of its own, and end the whole group afterwards.

    Args:
        argv: The command.
        log: File for its output.
        environment: All of its variables.

    Raises:
        MeasurementError: The program cannot be started.
    """
    with log.open("wb") as output:
        try:
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                cwd=log.parent,
                start_new_session=True,
            )
        except OSError as error:
            raise MeasurementError(Outcome.ERROR, f"{argv[0]} cannot be started: {error.strerror}") from error
    grace = _GRACE
    try:
        yield process
    except KeyboardInterrupt:
        grace = _GRACE_ON_INTERRUPT
        raise
    finally:
        _end(process, grace)


def run_to_end(
    step: str, argv: Sequence[str], log: Path, environment: Mapping[str, str], timeout: float, check: Callable[[], None]
) -> None:
    """Run a program to its end.

    Args:
        step: Its name in messages.
        argv: The command.
        log: File for its output.
        environment: All of its variables.
        timeout: Seconds it may take.
        check: Called while waiting; raises when the program can no longer succeed.

    Raises:
        MeasurementError: It times out, or ends with another code than 0, or the check raises.
    """
    deadline = time.monotonic() + timeout
    with process_group(argv, log, environment) as process:
        while process.poll() is None:
            check()
            if time.monotonic() > deadline:
                raise MeasurementError(Outcome.TIMEOUT, f"{step} did not end within {timeout:g} s: {with_cause(log)}")
            time.sleep(_POLL)
    if process.returncode:
        check()  # a client also fails when its server has ended, and then that is the reason
        cause = with_cause(log, process.returncode)
        raise MeasurementError(Outcome.ERROR, f"{step} ended with {process.returncode}: {cause}")


def _end(process: subprocess.Popen[bytes], grace: float) -> None:
    """Terminate the group, then kill it; other members may still run when the leader has ended."""
    try:
        _signal(process.pid, signal.SIGTERM)
        deadline = time.monotonic() + grace
        while time.monotonic() < deadline and (process.poll() is None or _signal(process.pid, 0)):
            time.sleep(_POLL)
    finally:  # a second interrupt may shorten the wait, but not leave a server behind
        _signal(process.pid, signal.SIGKILL)
        process.wait()


def _signal(group: int, number: int) -> bool:
    """Send a signal to a group, and report whether the group exists."""
    with suppress(ProcessLookupError):
        os.killpg(group, number)
        return True
    return False

"""Running what a patch's author wrote: what it prints stays out of the report, and it ends."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT = 60.0
"""Seconds, of the clock: a codemod may also wait for something. A transformer takes less than one for a long file."""


class CodemodEnded(BaseException):
    """A codemod ran for too long or ended the process; none of its ``except Exception`` catches this."""


@contextmanager
def running_author_code(limit: float | None = None) -> Iterator[None]:
    """Run a codemod's own code: its stdout, and that of its processes, is stderr, and its time is limited.

    Args:
        limit: Seconds, `LIMIT` by default. It holds in the main thread, where signals arrive.

    Raises:
        CodemodEnded: It took longer, or called ``sys.exit`` or ``os._exit``.
    """
    with _stdout_to_stderr(), _no_exit(), _time_limit(LIMIT if limit is None else limit):
        try:
            yield
        except SystemExit as error:
            raise CodemodEnded(f"it calls sys.exit({error.code!r})") from error


@contextmanager
def _no_exit() -> Iterator[None]:
    """Let ``os._exit``, which would end the run without a word, raise; a process that a codemod forks may end by it."""
    own, really_exit = os.getpid(), os._exit

    def refuse(status: int) -> NoReturn:
        if os.getpid() != own:
            really_exit(status)
        raise CodemodEnded(f"it calls os._exit({status!r})")

    os._exit = refuse
    try:
        yield
    finally:
        os._exit = really_exit


@contextmanager
def _stdout_to_stderr() -> Iterator[None]:
    """Keep stdout for the report, which may be JSON."""
    with suppress(OSError, ValueError):  # closed
        sys.stdout.flush()
    try:
        kept = os.dup(1)
    except OSError:
        yield
        return
    try:
        with suppress(OSError):
            os.dup2(2, 1)
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: object) -> None:
        raise CodemodEnded(f"it did not end within {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # again each second: the code may catch everything
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

"""Progress on stderr: only on a terminal, one line that is erased at the end."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from patchtool.cli.reports.words import visible

if TYPE_CHECKING:
    from patchtool.workflow.session import Progress

_INTERVAL = 0.1
_MEGABYTE = 1_000_000


def progress(*, quiet: bool) -> Progress:
    """Give a function that shows what is under way, and how much of it is done.

    Args:
        quiet: Whether to show nothing.
    """
    if quiet or not sys.stderr.isatty():
        return lambda *_: None
    return _Line().show


class _Line:
    """One line that is rewritten, and erased at the end."""

    def __init__(self) -> None:
        self.what = ""
        self.shown = 0.0
        self.width = 0

    def show(self, what: str, done: int, total: int, unit: str) -> None:
        """Rewrite the line; the first step of what is under way is shown at once, because a step may take long."""
        now = time.monotonic()
        if done >= total:
            self._write("")
            self.what = ""
        elif what != self.what or now - self.shown > _INTERVAL:
            self.what, self.shown = what, now
            self._write(f"{visible(what)}: {_amount(done, total, unit)}")

    def _write(self, line: str) -> None:
        """Replace the line by spaces and carriage returns, which every terminal has."""
        erased = f"\r{' ' * self.width}\r" if self.width else ""
        sys.stderr.write(erased + line)
        sys.stderr.flush()
        self.width = len(line)


def _amount(done: int, total: int, unit: str) -> str:
    if unit == "bytes":
        return f"{done / _MEGABYTE:.1f} of {total / _MEGABYTE:.1f} MB"
    return f"{done} of {total} {unit}"

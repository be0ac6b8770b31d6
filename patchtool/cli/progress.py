"""Progress on stderr: only on a terminal, and only for what takes more than a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from patchtool.cli.reports.words import visible

_DELAY = 1.0
_INTERVAL = 0.1


def progress(*, quiet: bool) -> Callable[[str, int, int], None]:
    """Give a function that shows progress, called with a label, what is done and the total, in bytes or items.

    Args:
        quiet: Whether to show nothing.
    """
    if quiet or not sys.stderr.isatty():
        return lambda *_: None
    return _Line().show


class _Line:
    """One line that is rewritten, and erased at the end."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.shown = 0.0

    def show(self, label: str, done: int, total: int) -> None:
        now = time.monotonic()
        if done >= total:
            if self.shown:
                sys.stderr.write("\r\x1b[K")
            self.started, self.shown = now, 0.0
        elif now - self.started > _DELAY and now - self.shown > _INTERVAL:
            self.shown = now
            sys.stderr.write(f"\r\x1b[K{visible(label)} {100 * done // max(total, 1)}%")
            sys.stderr.flush()

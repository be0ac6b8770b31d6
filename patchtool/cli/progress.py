"""Progress on stderr, only on a terminal and only for what takes over a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

_PATIENCE = 1.0


def progress(*, quiet: bool) -> Callable[[str, int, int], None]:
    """A function to tell progress to: what is done, how much, of how much; bytes or items.

    Args:
        quiet: Show nothing.
    """
    if quiet or not sys.stderr.isatty():
        return _nothing
    return _Bar().tell


def _nothing(what: str, done: int, total: int) -> None:
    del what, done, total


class _Bar:
    """One line that is rewritten, and taken away at the end."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.shown = 0.0

    def tell(self, what: str, done: int, total: int) -> None:
        """Show how far it is."""
        now = time.monotonic()
        if done >= total:
            if self.shown:
                sys.stderr.write("\r\x1b[K")
            self.started, self.shown = now, 0.0
        elif now - self.started > _PATIENCE and now - self.shown > 0.1:
            self.shown = now
            sys.stderr.write(f"\r\x1b[K{what} {100 * done // max(total, 1)}%")
            sys.stderr.flush()

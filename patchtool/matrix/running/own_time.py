"""The time that a process takes by itself: what it computes and sleeps, not what it waits for a CPU or a disk.

On a busy machine a cell takes many times as long on the clock. A limit on its own time ends a cell that computes or
sleeps for too long, and no other.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ASLEEP = ("S", "T", "t", "Z", "X", "I")
_STATE, _USER, _SYSTEM = 0, 11, 12
"""Positions in ``/proc/PID/stat`` after the name."""
SLOWEST = 50
"""Where nothing is known of a process, and where it waits for ever: so many times longer on the clock is too long."""


class OwnTime:
    """Measures the own time of a process and its descendants, from now on.

    Args:
        pid: The process.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._started = self._sampled = time.monotonic()
        self._computed, _ = _activity(pid)
        self._spent = 0.0

    def exceeds(self, limit: float) -> bool:
        """Take a sample, and report whether the process took longer than a limit.

        Each call adds what happened since the last one: the time on the clock if everything sleeps now, and what was
        computed if something does not.

        Args:
            limit: Seconds.
        """
        now = time.monotonic()
        computed, asleep = _activity(self._pid)
        passed = now - self._sampled
        self._spent += passed if asleep else min(passed, max(0.0, computed - self._computed))
        self._sampled, self._computed = now, computed
        return self._spent > limit or now - self._started > SLOWEST * limit


def _activity(pid: int) -> tuple[float, bool]:
    """Return the CPU seconds of a process and its descendants, and whether all of them sleep."""
    if not Path("/proc/self/stat").exists():  # not Linux: all that passes counts
        return 0.0, True
    ticks, asleep = 0, True
    for each in _family(pid):
        for task in _entries(f"/proc/{each}/task"):
            try:
                fields = Path(f"/proc/{each}/task/{task}/stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has just ended
                continue
            ticks += int(fields[_USER]) + int(fields[_SYSTEM])
            asleep = asleep and fields[_STATE] in _ASLEEP
    return ticks / os.sysconf("SC_CLK_TCK"), asleep


def _family(pid: int) -> Iterator[int]:
    yield pid
    for task in _entries(f"/proc/{pid}/task"):
        try:
            children = Path(f"/proc/{pid}/task/{task}/children").read_text().split()
        except OSError:
            continue
        for child in children:
            yield from _family(int(child))


def _entries(folder: str) -> list[str]:
    try:
        return [path.name for path in Path(folder).iterdir()]
    except OSError:
        return []

"""Speed as ratios in one run, as whole processes, against the real alternative on the same files."""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PATCHTOOL = [sys.executable, "-m", "patchtool"]


@dataclass(frozen=True)
class Figure:
    """One measured pair.

    Args:
        name: What was measured.
        ours: Seconds of each run of ours.
        theirs: Seconds of each run of the alternative.
        limit: The ratio that must not be passed.
    """

    name: str
    ours: list[float]
    theirs: list[float]
    limit: float

    @property
    def ratio(self) -> float:
        """The median of the ratios, pair by pair: the machine's drift falls out."""
        return statistics.median(a / b for a, b in zip(self.ours, self.theirs))

    def __str__(self) -> str:
        mark = "ok" if self.ratio <= self.limit else "TOO SLOW"
        ours, theirs = statistics.median(self.ours), statistics.median(self.theirs)
        return f"{self.name:<44} {ours:7.3f} s / {theirs:7.3f} s = {self.ratio:5.2f}  (limit {self.limit:g})  {mark}"


def pairs(
    runs: int,
    ours: Callable[[], Sequence[str]],
    theirs: Callable[[], Sequence[str]],
) -> tuple[list[float], list[float]]:
    """Run both in turn; what prepares a run is not timed."""
    a, b = [], []
    for _ in range(runs + 1):
        a.append(timed(ours()))
        b.append(timed(theirs()))
    return a[1:], b[1:]


def timed(command: Sequence[str]) -> float:
    """Wall seconds of a whole process that must succeed."""
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {done.stderr.decode()}")
    return seconds


def git(*args: str, cwd: Path) -> str:
    """Run git and give its output."""
    return subprocess.run(["git", *args], cwd=cwd, check=True, capture_output=True, text=True).stdout.strip()

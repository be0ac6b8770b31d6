"""The error of a measurement that gives no number."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from patchtool.matrix.cell import Outcome

_LINES = 8
_BYTES = 1 << 16


class MeasurementError(Exception):
    """A measurement failed; this becomes its cell's outcome and never leaves this package.

    Args:
        outcome: ``error`` or ``timeout``.
        detail: Which step failed, and how.
    """

    def __init__(self, outcome: Outcome, detail: str) -> None:
        super().__init__(detail)
        self.outcome = outcome
        self.detail = detail


def tail(log: Path) -> str:
    """Return the last lines of a log in one line."""
    if not log.exists():
        return "no output"
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _BYTES))
        lines = [line.strip() for line in file.read().decode(errors="replace").split("\n")]
    return " | ".join([line for line in lines if line][-_LINES:]) or "no output"

"""How a step of a served run can end without a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from patchtool.matrix.cell import Outcome

_LINES = 8
_BYTES = 1 << 16


class StepFault(Exception):
    """A step did not come to a number; it becomes the cell's outcome and never leaves this package.

    Args:
        outcome: ``error`` or ``timeout``.
        detail: Which step, and what was seen.
    """

    def __init__(self, outcome: Outcome, detail: str) -> None:
        super().__init__(detail)
        self.outcome = outcome
        self.detail = detail


def tail(log: Path) -> str:
    """The last lines of a log, in one line."""
    if not log.exists():
        return "nothing was written"
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _BYTES))
        lines = file.read().decode(errors="replace").split("\n")
    said = [line.strip() for line in lines if line.strip()]
    return " | ".join(said[-_LINES:]) or "nothing was written"

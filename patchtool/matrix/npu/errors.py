"""The error of a measurement that gives no number."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from patchtool.matrix.cell import Outcome


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

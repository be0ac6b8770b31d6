"""Why an edit must not be written."""

from __future__ import annotations


class CannotWrite(Exception):
    """An edit that must not be written; the file stays as it is.

    Args:
        reason: A short code.
        detail: One sentence.
    """

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail

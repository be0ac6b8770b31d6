"""What keeps a patch's template from being found in code that is like it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from patchtool.domain import document_parts


class Mismatch(NamedTuple):
    """Why a rule has no site, or one of its goals is not met.

    Args:
        rule: The rule.
        what: ``site``, or ``goal: `` or ``given: `` with a name.
        reason: One sentence.
        path: The file that has the nearest code, in the git layout; empty where nothing is like it.
        line: One-based line of the first difference, or of the code where its text is not what differs.
        column: One-based, in characters.
        symbol: Qualified name of its scope.
        similarity: 0 to 1.
        expected: What the template has there.
        found: What the code has there.
    """

    rule: str
    what: str
    reason: str = ""
    path: str = ""
    line: int = 0
    column: int = 0
    symbol: str = ""
    similarity: float = 0.0
    expected: str = ""
    found: str = ""

    def to_json(self) -> document_parts.Mismatch:
        """Return an entry of ``why_not``."""
        place: document_parts.Place = {"path": self.path, "line": self.line, "column": self.column or 1}
        return {
            "rule": self.rule,
            "what": self.what,
            "reason": self.reason,
            "place": place if self.path else None,
            "symbol": self.symbol,
            "similarity": self.similarity,
            "expected": self.expected,
            "found": self.found,
        }

"""Numbers, lists and foreign text in sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence

# A terminal or a text renderer obeys these instead of showing them: controls, bidirectional overrides, zero widths.
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def visible(text: str) -> str:
    """Upstream's text on one line, with invisible and control characters spelled out."""
    return _INVISIBLE.sub(lambda match: f"<U+{ord(match[0]):04X}>", text.replace("\n", " ").replace("\t", " "))


def counted(number: int, noun: str) -> str:
    """``1 cell``, ``2 cells``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(parts: Sequence[str]) -> str:
    """``a``, ``a and b``, or ``a, b and c``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"

"""Members of classes that one side takes out and the other uses anew."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from patchtool.textual.guards import Complaint

if TYPE_CHECKING:
    from patchtool.textual.source import Source

_MEMBER = re.compile(r"\b(?:self|cls)\.(\w+)")
_DEFINED = re.compile(r"^[ \t]+(?:(?:async +)?def +(\w+)|(\w+)[ \t]*(?::[^=\n]+)?=(?!=))", re.MULTILINE)


def missing_member(base: Source, patched: Source, target: Source, result: Source) -> Complaint | None:
    """Find a member of a class that a result uses, and that one side took out while the other came to use it.

    Args:
        base: What the patch was made for.
        patched: With the patch.
        target: The file that the patch is carried to.
        result: What came of it.
    """
    used = [Counter(_MEMBER.findall(source.text)) for source in (base, patched, target, result)]
    for ours, theirs, other in ((used[1], patched, target), (used[2], target, patched)):
        anew = [name for name in ours if ours[name] > used[0][name] and used[3][name]]
        candidates = [name for name in anew if name not in _words(other.text)]
        if not candidates:
            continue
        known, left = _defined(base), _defined(result)
        gone = [name for name in candidates if name in known and name in _defined(theirs) and name not in left]
        if gone:
            return Complaint("name-gone", f"`{min(gone)}` is used, and defined nowhere by now")
    return None


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def _defined(source: Source) -> set[str]:
    return {name for found in _DEFINED.findall(source.text) for name in found if name}

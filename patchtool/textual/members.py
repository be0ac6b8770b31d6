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
    for theirs, other in ((patched, target), (target, patched)):
        candidates = [n for n in _used_anew(base, theirs) if not _has_word(other, n) and _uses(result, n)]
        if not candidates:
            continue
        known, left = _defined(base), _defined(result)
        gone = [name for name in candidates if name in known and name in _defined(theirs) and name not in left]
        if gone:
            return Complaint("name-gone", f"`{min(gone)}` is used, and defined nowhere by now")
    return None


def _used_anew(before: Source, after: Source) -> Counter[str]:
    """The members that a file uses more often than another one: lines that both have tell nothing."""
    lines = Counter(before.lines), Counter(after.lines)
    more, less = (
        Counter(_MEMBER.findall("".join(side.elements()))) for side in (lines[1] - lines[0], lines[0] - lines[1])
    )
    return more - less


def _uses(source: Source, name: str) -> bool:
    return any(_has_word(source, f"{owner}.{name}") for owner in ("self", "cls"))


def _has_word(source: Source, word: str) -> bool:
    """Whether a word is in a file; no pattern that begins with the end of a word is as fast."""
    text, at = source.text, -1
    while (at := text.find(word, at + 1)) >= 0:
        if not (_is_part(text[at - 1 : at]) or _is_part(text[at + len(word) : at + len(word) + 1])):
            return True
    return False


def _is_part(character: str) -> bool:
    return character == "_" or character.isalnum()


def _defined(source: Source) -> set[str]:
    return {name for found in _DEFINED.findall(source.text) for name in found if name}

"""Numbers, lists and foreign text in sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence

# A terminal or a text renderer obeys these instead of showing them: controls, bidirectional overrides, zero widths,
# fillers and variation selectors; Unicode's Default_Ignorable_Code_Point, and Braille's blank.
UNSEEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""For a character class of a regular expression."""
_INVISIBLE = re.compile(f"[{UNSEEN}]")
# Where the locale is C, Python reads each byte of a path such as `ü` as one of these.
_UNDECODED = re.compile("[\udc80-\udcff]{2,}")
# The colours that reports use; see `tinted`.
_SHOWN = re.compile(rf"(?P<color>\x1b\[(?:0|2|31|32|33|36)m)|{_INVISIBLE.pattern}")


def visible(text: str) -> str:
    """Upstream's text on one line, with invisible and control characters spelled out."""
    return shown(text.replace("\n", " ").replace("\t", " "))


def shown(text: str, *, color: bool = False) -> str:
    """Text of several lines as it may go to a terminal: what a terminal would obey is spelled out.

    Args:
        text: Of a report or an error; whoever wrote a part of it.
        color: Whether the colours of reports stay.
    """
    return (_SHOWN if color else _INVISIBLE).sub(_spelled, _UNDECODED.sub(_decoded, text))


def _decoded(match: re.Match[str]) -> str:
    return match[0].encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def _spelled(match: re.Match[str]) -> str:
    return match.groupdict().get("color") or f"<U+{ord(match[0]):04X}>"


def is_plain(text: str) -> bool:
    """Whether a terminal shows the text as it is."""
    return _INVISIBLE.search(text) is None


def escaped(text: str, kept: str = "\n\t") -> str:
    """Text for files and logs, with escapes for what is not printable, except for the characters that are kept."""
    return "".join(c if (c.isprintable() and is_plain(c)) or c in kept else _escape(c) for c in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode()


def without_commands(text: str) -> str:
    """Text for the log of a CI system, none of whose lines is taken for a workflow command of GitHub.

    Source: GitHub's workflow commands, ``::name::`` at the start of a line and the older ``##[name]`` anywhere.
    """
    return re.sub(r"^(\s*):(?=:)", r"\1: ", text, flags=re.MULTILINE).replace("##[", "# #[")


def counted(number: int, noun: str) -> str:
    """``1 cell``, ``2 cells``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(parts: Sequence[str]) -> str:
    """``a``, ``a and b``, or ``a, b and c``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"

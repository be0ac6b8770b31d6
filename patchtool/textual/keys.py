"""Names that lines of a text file give to something, such as a variable, a macro or a key of a mapping."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_KEY = re.compile(
    rb"""(\s*) (?:
        \#[ \t]*define\s+ (?P<macro>\w+)
      | (?:set|option|function|macro|add_\w+)\(\s* (?P<command>[\w.-]+)
      | (?:export[ ]+|readonly[ ]+|local[ ]+)? ["']? (?P<key>[A-Za-z_][\w.-]*) ["']? \s* (?:\+?=(?!=)|[:?]=|:(?![:/]))
      | (?:[A-Za-z_][\w:<>,*&]*\s+[*&]*)+ (?P<function>\w+) \( [^;]* \{ \s* $
    )""",
    re.VERBOSE,
)


def keys_of(lines: Iterable[bytes]) -> set[bytes]:
    """Tell what lines name, each name with the indentation of its line."""
    found = (_KEY.match(line) for line in lines)
    return {match.group(1) + match.group(match.lastgroup) for match in found if match and match.lastgroup}


def key_twice(base: bytes, patched: bytes, target: bytes) -> str:
    """Find a name that a patch and upstream both give, and that is new: two of it would be one too many.

    Args:
        base: What the patch was made for.
        patched: With the patch.
        target: The file that it is carried to.

    Returns:
        It; empty if there is none.
    """
    old, ours, theirs = (data.splitlines() for data in (base, patched, target))
    known = set(old)
    new = [keys_of(line for line in side if line not in known) for side in (ours, theirs)]
    both = new[0] & new[1]
    twice = sorted(both - keys_of(old)) if both else []
    return twice[0].decode(errors="replace").strip() if twice else ""

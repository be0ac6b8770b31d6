"""``patches/series``: the patches and their order, in the format of quilt's series file."""

from __future__ import annotations

import re
from typing import NamedTuple

from patchtool.domain.errors import InputError

_NAME = re.compile(r"[a-z][a-z0-9_]*")


class SeriesEntry(NamedTuple):
    """The name of a patch and its line in the series."""

    name: str
    line: int


def parse_series(text: str, where: str) -> tuple[SeriesEntry, ...]:
    """Parse a series file.

    Args:
        text: The whole file.
        where: Its name, for messages.

    Raises:
        InputError: A name is malformed or listed twice.
    """
    entries: list[SeriesEntry] = []
    for number, raw in enumerate(text.splitlines(), start=1):
        line = re.sub(r"(^|\s)#.*$", "", raw).strip()
        if not line:
            continue
        if not _NAME.fullmatch(line):
            raise InputError(
                f"{where}:{number}: {line!r} is not a patch name",
                hint="a patch's name is its folder's: lower-case letters, digits and underscores",
            )
        for entry in entries:
            if entry.name == line:
                raise InputError(f"{where}:{number}: {line!r} is listed twice, first on line {entry.line}")
        entries.append(SeriesEntry(line, number))
    return tuple(entries)

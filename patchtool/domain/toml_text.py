"""Parsing TOML, and finding the line of a value in it.

Apart from `patchtool.domain.toml`, because `status` reads ``patch.toml`` and the lock and must start without msgspec:
loading it is 8 % of the run (ADR 0015).

No parser of TOML keeps the lines of values. They are looked up for an error message only, by parsing ever longer
beginnings of the file until one holds the value.
"""

from __future__ import annotations

import functools
import operator
import re
import sys
from typing import Any

from patchtool.domain.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Path = tuple["str | int", ...]
"""Where a value is in a document: keys, and zero-based positions in arrays."""


def parse_toml(data: bytes, where: str) -> dict[str, Any]:
    """Read a TOML file as plain values.

    Args:
        data: The file's bytes.
        where: Its name, for messages.

    Raises:
        InputError: Not UTF-8 or not TOML; names the line.
    """
    try:
        document: dict[str, Any] = tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{where}:{line}: not UTF-8", cause=str(error)) from None
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else len(data.splitlines()) or 1  # else it is at the end of the document
        raise InputError(f"{where}:{line}: not TOML", cause=str(error)) from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, arrays of a thousand levels
        raise InputError(f"{where} has a value that cannot be read", cause=str(error)) from None
    return document


def invalid(data: bytes, where: str, path: Path, rule: str, hint: str | None = None) -> InputError:
    """Make the error for a value of a TOML file.

    Args:
        data: The file's bytes, valid TOML.
        where: Its name.
        path: The value's path; for a missing value, that of its table.
        rule: What is wrong.
        hint: What to write instead.
    """
    return InputError(f"{where}:{_line(data.decode(), path)}: {rule}", hint=hint)


def _line(text: str, path: Path) -> int:
    """The line of the statement that defines a value, or else its table; for a table, that of its header."""
    while not _holds(tomllib.loads(text), path):
        path = path[:-1]
    lines, start = text.split("\n"), 0
    for end in range(1, len(lines) + 1):
        try:
            beginning = tomllib.loads("\n".join(lines[:end]) + "\n")
        except tomllib.TOMLDecodeError:  # cut within an array or a string of several lines
            continue
        if _holds(beginning, path):
            break
        start = end
    return start + 1


def _holds(document: Any, path: Path) -> bool:
    try:
        functools.reduce(operator.getitem, path, document)
    except (KeyError, IndexError, TypeError):
        return False
    return True

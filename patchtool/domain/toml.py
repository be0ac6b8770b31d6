"""TOML, whichever Python: the one place that knows where its reader comes from."""

from __future__ import annotations

import re
import sys
from typing import Any

from patchtool.domain.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def parse_toml(data: bytes, where: str) -> dict[str, Any]:
    """Read TOML.

    Args:
        data: A file's bytes.
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
        line = int(found[1]) if found else len(data.splitlines()) or 1  # else it stands at the end of the document
        raise InputError(f"{where}:{line}: not TOML", cause=str(error)) from None
    return document

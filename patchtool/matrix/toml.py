"""Reading the matrix's TOML files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from patchtool.domain.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read_table(path: Path, where: str) -> dict[str, Any]:
    """Read a TOML file.

    Args:
        path: The file.
        where: Its name, for messages.

    Raises:
        InputError: It is missing or not TOML.
    """
    try:
        table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{where} does not exist") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{where}: not TOML", cause=str(error)) from None
    return table

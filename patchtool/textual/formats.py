"""What must hold of a merged file of settings, whatever merged it: it can be read, and has no entry twice."""

from __future__ import annotations

import configparser
import json
import re
from collections import Counter
from typing import TYPE_CHECKING

from patchtool.domain.errors import InputError
from patchtool.domain.toml_text import parse_toml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_REQUIREMENT = re.compile(r"^([A-Za-z0-9][\w.-]*)", re.MULTILINE)


def unreadable(path: str, data: bytes) -> str:
    """Tell why a file of settings cannot be read.

    Args:
        path: In the git layout; it tells the format.
        data: Its bytes.

    Returns:
        The problem; empty for a sound file, and for one of another format.
    """
    read = _reader(path)
    try:
        if read is not None:
            read(data.decode())
    except (ValueError, configparser.Error, RecursionError, InputError) as error:
        return str(getattr(error, "cause", None) or error).split("\n")[0]
    return ""


def is_known(path: str) -> bool:
    """Tell whether the format of a file is one that is read."""
    return _reader(path) is not None


def _reader(path: str) -> Callable[[str], None] | None:
    name = path.lower().rpartition("/")[2]
    if name.startswith("requirements") and name.endswith((".txt", ".in")):
        return _requirements
    return _READERS.get(name[name.rfind(".") :])


def _toml(text: str) -> None:
    parse_toml(text.encode(), "it")


def _json(text: str) -> None:
    json.loads(text, object_pairs_hook=lambda pairs: _once(key for key, _ in pairs))


def _ini(text: str) -> None:
    configparser.RawConfigParser(strict=True).read_string(text)


def _requirements(text: str) -> None:
    _once(name.lower() for name in _REQUIREMENT.findall(text))


def _once(names: Iterable[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise ValueError(f"`{name}` is there {count} times")


_READERS: dict[str, Callable[[str], None]] = {".toml": _toml, ".json": _json, ".cfg": _ini, ".ini": _ini}

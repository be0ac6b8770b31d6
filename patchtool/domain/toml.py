"""TOML files read into msgspec structs, with errors that name file, line, key and rule.

msgspec says where in a document a value is wrong, but not on which line. The line is looked up afterwards, only for
the message, by parsing ever longer beginnings of the file until one holds the value.
"""

from __future__ import annotations

import functools
import operator
import re
import sys
from typing import Any, TypeVar

import msgspec

from patchtool.domain.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Path = tuple["str | int", ...]
"""Where a value is in a document: keys, and zero-based positions in arrays."""
_T = TypeVar("_T")
_STEP = re.compile(r"\.(?P<key>[\w-]+)|\[(?P<position>\d+)\]")
_FIELD = re.compile(r"Object (?P<problem>contains unknown|missing required) field `(?P<key>.*)`")
_TYPES = re.compile(r"`([a-z| ]*?)(?: \| null)?`")
_TERMS = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "object": "table"}


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """Base of the tables of a file; a field ``max_tokens`` is the key ``max-tokens``, unknown keys are rejected.

    Subclasses repeat ``frozen=True``, for type checkers.

    A rule about a value that its type cannot express is checked in ``__post_init__``, which raises `RuleError`.
    """


class RuleError(ValueError):
    """A value of a table breaks a rule.

    Args:
        key: The key of the value, as in the file.
        rule: What is wrong with it.
        hint: What to write instead.
    """

    def __init__(self, key: str, rule: str, hint: str | None = None) -> None:
        super().__init__(rule)
        self.key = key
        self.hint = hint


def read_toml(data: bytes, where: str, kind: type[_T]) -> _T:
    """Read a TOML file as one type.

    Args:
        data: The file's bytes.
        where: Its name, for messages.
        kind: A subclass of `Table`, or another type that msgspec converts to.

    Raises:
        InputError: Not UTF-8, not TOML, or not what the type says; names the line and the key.
    """
    document = parse_toml(data, where)
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        raise _explain(error, data, where, kind) from None


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


def _explain(error: msgspec.ValidationError, data: bytes, where: str, kind: Any) -> InputError:
    """Word an error of msgspec for a TOML file, and add what is allowed there."""
    rule, _, place = str(error).partition(" - at `$")
    path: Path = tuple(step["key"] or int(step["position"]) for step in _STEP.finditer(place))
    broken, field = error.__cause__, _FIELD.fullmatch(rule)
    if isinstance(broken, RuleError):
        return invalid(data, where, (*path, broken.key), str(broken), broken.hint)
    if field and field["problem"] == "missing required":
        return invalid(data, where, path, f"{field['key']} is missing")
    allowed = ", ".join(_allowed(msgspec.inspect.type_info(kind), path))
    if field:
        key = field["key"]
        return invalid(data, where, (*path, key), f"unknown key {key!r}", hint=f"known keys here: {allowed}")
    rule = _TYPES.sub(lambda types: " or ".join(_TERMS.get(name, name) for name in types[1].split(" | ")), rule)
    hint = f"one of: {allowed}" if rule.startswith("Invalid enum value") else None
    return invalid(data, where, path, f"{_name(path)}: {rule[:1].lower()}{rule[1:]}", hint)


def _name(path: Path) -> str:
    """The last key of a path, with the positions after it."""
    last = max((number for number, step in enumerate(path) if isinstance(step, str)), default=0)
    return "".join(f"[{step}]" if isinstance(step, int) else step for step in path[last:])


def _allowed(kind: Any, path: Path) -> list[str]:
    """The keys, or the values of an enumeration, that a type has at a path."""
    if isinstance(kind, msgspec.inspect.UnionType):
        return [name for each in kind.types for name in _allowed(each, path)]
    if isinstance(kind, msgspec.inspect.DictType):  # msgspec leaves its keys out of the path
        return _allowed(kind.value_type, path)
    if path and hasattr(kind, "item_type"):
        return _allowed(kind.item_type, path[1:])
    if isinstance(kind, msgspec.inspect.EnumType):
        return [str(member.value) for member in kind.cls]
    if isinstance(kind, msgspec.inspect.LiteralType):
        return list(map(str, kind.values))
    fields = {field.encode_name: field.type for field in getattr(kind, "fields", ())}
    return _allowed(fields[path[0]], path[1:]) if path and path[0] in fields else list(fields)

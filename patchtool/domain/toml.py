"""TOML files read into msgspec structs, with errors that name file, line, key and rule."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

from patchtool.domain.errors import InputError
from patchtool.domain.toml_text import Path, invalid, parse_toml

__all__ = ["Path", "RuleError", "Table", "invalid", "parse_toml", "read_toml"]

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

"""TOML tables that know where they stand, so that a complaint can name file and line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from patchtool.domain.errors import InputError
from patchtool.domain.toml import parse_toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_HEADER = re.compile(r"\s*\[\[?\s*([A-Za-z0-9_.\"'-]+)\s*\]\]?")
_T = TypeVar("_T")
_WORDS = {str: "text", bool: "true or false", float: "a number", int: "a whole number", list: "a list of texts"}


class Table:
    """A table of a file, read key by key; what nobody asked for is an unknown key.

    Args:
        values: Its content.
        where: The file's name.
        lines: The file's lines.
        at: Index of the line from which on its keys are looked for.
        name: The table's dotted name, empty for the whole file.
    """

    def __init__(self, values: Mapping[str, Any], where: str, lines: list[str], at: int = 0, name: str = "") -> None:
        self._values = values
        self._where = where
        self._lines = lines
        self._at = at
        self._name = name
        self._asked: set[str] = set()

    @classmethod
    def parse(cls, data: bytes, where: str) -> Table:
        """Read a whole file.

        Raises:
            InputError: Not UTF-8 or not TOML; names the line.
        """
        values = parse_toml(data, where)
        return cls(values, where, data.decode("utf-8").splitlines())

    def get(self, key: str, kind: type[_T], default: _T | None = None) -> _T:
        """One value.

        Args:
            key: Its name.
            kind: ``str``, ``bool``, ``int``, ``float`` (whole numbers too) or ``list`` (of texts).
            default: What it is when it is not there; None where it has to be.

        Raises:
            InputError: Missing, or of another kind.
        """
        self._asked.add(key)
        value = self._values.get(key, default)
        if value is None:
            raise self.wrong(None, f"{key} is missing")
        if kind is float and type(value) is int:
            value = float(value)
        good = type(value) is kind and (
            kind is not list or all(isinstance(item, str) for item in self._values.get(key, default))
        )
        if not good:
            raise self.wrong(key, f"{key} must be {_WORDS[kind]}")
        return value  # type: ignore[no-any-return]

    def raw(self, key: str) -> Any:
        """A value of any kind, or None."""
        self._asked.add(key)
        return self._values.get(key)

    def tables(self, key: str) -> Iterator[Table]:
        """The tables of an array ``[[key]]``.

        Raises:
            InputError: It is something else.
        """
        found = self.raw(key)
        for number, values in enumerate([] if found is None else found if isinstance(found, list) else [found]):
            if not isinstance(values, dict):
                raise self.wrong(key, f"{key} must be tables, each under a line [[{self._dotted(key)}]]")
            at = self._header(self._dotted(key), number)
            yield Table(values, self._where, self._lines, at, self._dotted(key))

    def only(self) -> None:
        """Be done.

        Raises:
            InputError: There is a key that nobody asked for.
        """
        for key in self._values:
            if key not in self._asked:
                known = ", ".join(sorted(self._asked))
                raise self.wrong(key, f"unknown key {key!r}", hint=f"known keys here: {known}")

    def wrong(self, key: str | None, problem: str, hint: str | None = None) -> InputError:
        """An error that names file and line.

        Args:
            key: The key it is about; None for the table.
            problem: What is wrong.
            hint: What to do.
        """
        return InputError(f"{self._where}:{self._line(key) + 1}: {problem}", hint=hint)

    def _dotted(self, key: str) -> str:
        return f"{self._name}.{key}" if self._name else key

    def _header(self, name: str, number: int) -> int:
        headers = [at for at in range(self._at, len(self._lines)) if _named(self._lines[at]) == name]
        return headers[number] if number < len(headers) else self._at

    def _line(self, key: str | None) -> int:
        start = self._at + (1 if self._name else 0)
        for at in range(start, len(self._lines)):
            named = _named(self._lines[at])
            if key is not None and (
                named == self._dotted(key) or re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]", self._lines[at])
            ):
                return at
            if named and self._name and not named.startswith(f"{self._name}."):
                break
        return self._at


def _named(line: str) -> str:
    found = _HEADER.match(line)
    return found[1] if found else ""

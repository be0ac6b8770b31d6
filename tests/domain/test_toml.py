"""TOML files are read into types, and an error names the file, the line and the key."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Literal

import msgspec
import pytest

from patchtool.domain.errors import InputError
from patchtool.domain.toml import RuleError, Table, invalid, parse_toml, read_toml


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Row(Table, frozen=True):
    name: str
    max_tokens: Annotated[int, msgspec.Meta(ge=1)] = 1
    words: tuple[str, ...] = ()
    colours: tuple[Colour, ...] = ()
    mode: Literal["eager", "graph"] = "eager"

    def __post_init__(self) -> None:
        if self.name == self.mode:
            raise RuleError("mode", "the mode is the name", hint="choose another name")


class File(Table, frozen=True):
    rows: tuple[Row, ...] = ()
    named: dict[str, Row] = {}
    timeout: float | dict[str, float] | None = None
    single: Row | None = None


def test_parse_toml_returns_plain_values() -> None:
    assert parse_toml("a = 1\n[b]\nc = 'ä'\n".encode(), "x.toml") == {"a": 1, "b": {"c": "ä"}}


def test_read_toml_converts_tables() -> None:
    data = b'timeout = 1\n[[rows]]\nname = "a"\nmax-tokens = 2\ncolours = ["blue"]\n[single]\nname = "b"\n'
    row = Row(name="a", max_tokens=2, colours=(Colour.BLUE,))
    assert read_toml(data, "x.toml", File) == File(rows=(row,), timeout=1.0, single=Row(name="b"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"a = 1\nb = \n", "x.toml:2: not TOML", id="no value"),
        pytest.param(b"a = 1\na = 2\nb = 3\n", "x.toml:2: not TOML", id="duplicate key"),
        pytest.param(b"a = 1\nb = [\n", "x.toml:2: not TOML", id="array not closed"),
        pytest.param(b"a = 1\n\nb = '\xff'\n", "x.toml:3: not UTF-8", id="encoding"),
    ],
)
def test_malformed_toml_is_rejected_with_its_line(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_toml(data, "x.toml", File)
    assert error.value.message == message
    assert error.value.cause


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        pytest.param(
            "\nx = 1", "2: unknown key 'x'", "known keys here: rows, named, timeout, single", id="unknown-key"
        ),
        pytest.param(
            "[[rows]]\nname = 'a'\n[[rows]]\n# c\n\nno = 1\nname = 'b'\n",
            "6: unknown key 'no'",
            "known keys here: name, max-tokens, words, colours, mode",
            id="unknown-key-in-second-table",
        ),
        pytest.param(
            "[single]\nname = 'a'\nno = 1\n",
            "3: unknown key 'no'",
            "known keys here: name, max-tokens, words, colours, mode",
            id="unknown-key-in-optional-table",
        ),
        pytest.param(
            "[named.a]\nname = 'a'\n\n[named.b]\nno = 1\nname = 'b'\n",
            "1: unknown key 'no'",
            "known keys here: name, max-tokens, words, colours, mode",
            id="unknown-key-in-named-table",
        ),
        pytest.param("\n\n[[rows]]\nmode = 'graph'\n", "3: name is missing", None, id="missing-key"),
        pytest.param("[[rows]]\nname = 1", "2: name: expected string, got integer", None, id="type"),
        pytest.param("[[rows]]\n'name' = true", "2: name: expected string, got boolean", None, id="quoted-key"),
        pytest.param(
            "rows = [\n{name = 'a'},\n{name = 2}]", "1: name: expected string, got integer", None, id="inline"
        ),
        pytest.param("rows = 1", "1: rows: expected array, got integer", None, id="no-array-of-tables"),
        pytest.param("[rows]\nname = 'a'", "1: rows: expected array, got table", None, id="table-for-array"),
        pytest.param("timeout = 'a'", "1: timeout: expected number or table, got string", None, id="union"),
        pytest.param(
            "timeout.a = 1\ntimeout.b = 'c'", "1: timeout: expected number, got string", None, id="dict-value"
        ),
        pytest.param("single = 1", "1: single: expected table, got integer", None, id="optional-table"),
        pytest.param(
            "[[rows]]\nname = 'a'\nmax-tokens = 0", "3: max-tokens: expected integer >= 1", None, id="constraint"
        ),
        pytest.param(
            '[[rows]]\nname = """\nwords = 1\n"""\nwords = [\n\'a\',\n2]',
            "5: words[1]: expected string, got integer",
            None,
            id="key-name-within-text",
        ),
        pytest.param(
            "[[rows]]\nname = 'a'\ncolours = ['green']",
            "3: colours[0]: invalid enum value 'green'",
            "one of: red, blue",
            id="enum",
        ),
        pytest.param(
            "[[rows]]\nname = 'a'\nmode = 'npu'",
            "3: mode: invalid enum value 'npu'",
            "one of: eager, graph",
            id="literal",
        ),
        pytest.param(
            "[[rows]]\nname = 'graph'\n\nmode = 'graph'",
            "4: the mode is the name",
            "choose another name",
            id="own-rule",
        ),
        pytest.param(
            "\n[[rows]]\nname = 'eager'", "2: the mode is the name", "choose another name", id="own-rule-on-default"
        ),
    ],
)
def test_wrong_value_is_rejected_with_line_key_and_rule(text: str, message: str, hint: str | None) -> None:
    for newline in ("\n", "\r\n"):
        with pytest.raises(InputError) as error:
            read_toml(text.replace("\n", newline).encode(), "x.toml", File)
        assert (error.value.message, error.value.hint) == (f"x.toml:{message}", hint)


@pytest.mark.parametrize(
    ("path", "line"),
    [((), 1), (("rows",), 3), (("rows", 0), 3), (("rows", 1, "name"), 6), (("rows", 1, "absent"), 5), (("absent",), 1)],
)
def test_invalid_locates_the_value_or_its_table(path: tuple[str | int, ...], line: int) -> None:
    data = b'# rows\n\n[[rows]]\nname = "a"\n[[rows]]\nname = "b"\n'
    error = invalid(data, "x.toml", path, "rule", hint="hint")
    assert (error.message, error.hint) == (f"x.toml:{line}: rule", "hint")


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 5000 + "]" * 5000, "{a=" * 5000])
def test_value_that_python_cannot_read_is_an_error_of_ours(value: str) -> None:
    with pytest.raises(InputError, match=r"x\.toml") as caught:
        parse_toml(f"a = {value}".encode(), "x.toml")
    assert len(caught.value.message) < 200

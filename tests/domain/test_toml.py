"""TOML that cannot be read is named with its line."""

import pytest

from patchtool.domain.errors import InputError
from patchtool.domain.toml import parse_toml


def test_what_is_read() -> None:
    assert parse_toml("a = 1\n[b]\nc = 'ä'\n".encode(), "x.toml") == {"a": 1, "b": {"c": "ä"}}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"a = 1\nb = \n", "x.toml:2: not TOML", id="no value"),
        pytest.param(b"a = 1\na = 2\nb = 3\n", "x.toml:2: not TOML", id="twice"),
        pytest.param(b"a = 1\nb = [\n", "x.toml:2: not TOML", id="not closed"),
        pytest.param(b"a = 1\n\nb = '\xff'\n", "x.toml:3: not UTF-8", id="bytes"),
    ],
)
def test_what_is_not(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as error:
        parse_toml(data, "x.toml")
    assert error.value.message == message
    assert error.value.cause

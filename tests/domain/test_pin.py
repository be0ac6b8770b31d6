"""The pin file: accepted layouts, errors with their line, and the format that is written."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchtool.domain.errors import InputError
from patchtool.domain.pin import Pin, parse_pin
from patchtool.domain.release import Release

HASH = "a" * 64
OTHER = "b" * 64


@pytest.mark.parametrize(
    ("text", "line", "rule"),
    [
        pytest.param("", 1, "empty", id="empty"),
        pytest.param("# only a comment\n\n", 1, "empty", id="comments-only"),
        pytest.param(f"a==1 --hash=sha256:{HASH}\nb==2 --hash=sha256:{HASH}\n", 2, "exactly one", id="two"),
        pytest.param("sglang==0.5.13\n", 1, "no hash", id="no-hash"),
        pytest.param("sglang==0.5.13 \\\n    --hash=sha256:abc\n", 2, "64", id="short-hash"),
        pytest.param(f"sglang==0.5.13 \\\n    --hash=sha256:{HASH.upper()}\n", 2, "lower-case", id="upper-hash"),
        pytest.param(f"sglang==0.5.13 \\\n    --hash=md5:{HASH}\n", 2, "sha256", id="md5"),
        pytest.param(f"sglang>=0.5.13 --hash=sha256:{HASH}\n", 1, "exact", id="range"),
        pytest.param(f"sglang --hash=sha256:{HASH}\n", 1, "exact", id="no-version"),
        pytest.param(f"sglang==0.5.* --hash=sha256:{HASH}\n", 1, "not a release", id="wildcard"),
        pytest.param(f"sglang==0.5.13 ; python_version<'4' --hash=sha256:{HASH}\n", 1, "exact", id="marker"),
        pytest.param(f"sglang==0.5.13 --index-url=x --hash=sha256:{HASH}\n", 1, "only --hash", id="option"),
    ],
)
def test_malformed_pin_is_rejected_with_line_and_example(text: str, line: int, rule: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_pin(text, "upstream-pin.txt")
    assert caught.value.message.startswith(f"upstream-pin.txt:{line}: ")
    assert rule in caught.value.message
    assert "sglang==0.5.13" in (caught.value.hint or "")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"sglang==0.5.13 \\\n    --hash=sha256:{HASH} \\\n    --hash=sha256:{OTHER}\n", id="ours"),
        pytest.param(f"sglang==0.5.13 --hash=sha256:{OTHER} --hash=sha256:{HASH}", id="one-line"),
        pytest.param(f"# why\nsglang==0.5.13 \\\r\n  --hash=sha256:{HASH} \\\r\n --hash=sha256:{OTHER}\r\n", id="crlf"),
    ],
)
def test_layouts_of_a_requirements_file_are_accepted(text: str) -> None:
    assert parse_pin(text, "p") == Pin("sglang", Release("0.5.13"), (HASH, OTHER))


@given(
    version=st.from_regex(r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{1,2}(\.post[0-9])?", fullmatch=True),
    hashes=st.sets(st.from_regex(r"[0-9a-f]{64}", fullmatch=True), min_size=1, max_size=9),
)
def test_parse_inverts_format(version: str, hashes: set[str]) -> None:
    pin = Pin("sglang", Release.parse(version), tuple(sorted(hashes)))
    assert parse_pin(pin.format(), "p") == pin


def test_renovate_extractor_matches_the_file() -> None:
    """Its extractor takes each line up to the backslash for a requirement, and hashin rewrites the joined lines.

    Source: Renovate's pip_requirements manager, extract and artifacts.
    """
    text = Pin("sglang", Release("0.5.13"), (HASH, OTHER)).format()
    package = r"[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9._-]*[a-zA-Z0-9]"
    first = text.splitlines()[0].split("#")[0].strip().split(";")[0].strip().split(" \\")[0]
    found = re.fullmatch(rf"({package})(==\s*[\w.]+)", first)
    assert found
    assert (found[1], found[2]) == ("sglang", "==0.5.13")
    joined = text.replace("\\\n", "")
    constraint = re.search(r"^\s*(sglang\s*==.*?\S)\s+--hash=", joined, re.MULTILINE)
    assert constraint
    assert constraint[1] == "sglang==0.5.13"

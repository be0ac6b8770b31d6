"""Releases: spelling and order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from patchtool.domain.errors import InputError
from patchtool.domain.release import Release

numbers = st.lists(st.integers(0, 20), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))
suffix = st.sampled_from(
    ["", "rc1", "rc12", "a1", "b2", ".post1", ".post12", ".dev3", "rc1.dev2", ".post1.dev2", "rc1.post2"]
)
versions = st.builds(lambda body, tail: body + tail, numbers, suffix)


@given(versions, versions)
def test_order_follows_pep_440(one: str, other: str) -> None:
    assert (Release.parse(one) < Release.parse(other)) == (Version(one) < Version(other))


@given(versions)
def test_leading_v_does_not_matter(version: str) -> None:
    assert Release.parse(f"v{version}") == Release.parse(version)
    assert str(Release.parse(version)) == f"v{version}"


@pytest.mark.parametrize(
    ("text", "version"),
    [(" v0.5.13\n", "0.5.13"), ("0.5.13-RC1", "0.5.13rc1"), ("0.5.12-1", "0.5.12.post1"), ("00.5", "0.5")],
)
def test_parse_normalizes_the_spelling(text: str, version: str) -> None:
    assert Release.parse(text) == Release(version)


@pytest.mark.parametrize("text", ["", "v", "latest", "0.5.x", "0..5", "1!2.0", "0.5.13+cu12", "0.5.13 --evil"])
def test_text_that_is_not_a_public_version_is_rejected(text: str) -> None:
    with pytest.raises(InputError) as caught:
        Release.parse(text)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("version", "final"), [("0.5.13", True), ("0.5.12.post1", True), ("0.5.14rc1", False), ("1.dev1", False)]
)
def test_pre_releases_are_not_final(version: str, final: bool) -> None:
    assert Release(version).is_final is final

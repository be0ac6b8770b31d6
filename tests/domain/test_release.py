"""Releases: spelling and order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from patchtool.domain.errors import InputError
from patchtool.domain.release import Release

numbers = st.lists(st.integers(0, 20), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))
local = st.sampled_from(["", "", "+npu.1", "+npu.2", "+g1a2b3c4", "+cu124"])
suffix = st.sampled_from(
    ["", "rc1", "rc12", "a1", "b2", ".post1", ".post12", ".dev3", "rc1.dev2", ".post1.dev2", "rc1.post2"]
)
versions = st.builds(lambda body, tail, build: body + tail + build, numbers, suffix, local)


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


@pytest.mark.parametrize("text", ["", "v", "latest", "0.5.x", "0..5", "1!2.0", "0.5.13+", "main", "0.5.13 --evil"])
def test_text_that_is_neither_a_version_nor_a_commit_is_rejected(text: str) -> None:
    with pytest.raises(InputError) as caught:
        Release.parse(text)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("version", "final"), [("0.5.13", True), ("0.5.12.post1", True), ("0.5.14rc1", False), ("1.dev1", False)]
)
def test_pre_releases_are_not_final(version: str, final: bool) -> None:
    assert Release(version).is_final is final


COMMIT = "1a2b3c4d5e" * 4


@pytest.mark.parametrize(
    ("name", "version", "text"),
    [
        ("", "", "1a2b3c4d5e"),
        ("main", "", "main@1a2b3c4d5e"),
        ("feature/0.5.14", "", "feature/0.5.14@1a2b3c4d5e"),
        ("v0.5.14", "0.5.14", "v0.5.14@1a2b3c4d5e"),
        ("v0.5.10-npu.rc1", "0.5.10", "v0.5.10-npu.rc1@1a2b3c4d5e"),
        ("v0.5.14-37-g1a2b3c4d5e", "0.5.14", "v0.5.14-37-g1a2b3c4d5e"),
        ("gateway-v0.2.1", "", "gateway-v0.2.1@1a2b3c4d5e"),
    ],
)
def test_commit_has_the_version_that_its_name_says(name: str, version: str, text: str) -> None:
    release = Release.of_commit(COMMIT, name)
    assert (release.version, str(release), release.is_final) == (version, text, False)
    for spelling in (release.tag, release.key):
        assert Release.parse(spelling) == release
        assert Release.parse(spelling).name == name


def test_commit_is_itself_whatever_its_name() -> None:
    named, bare = Release.of_commit(COMMIT, "v0.5.14"), Release.parse(COMMIT)
    assert (named == bare, hash(named) == hash(bare), named == Release("0.5.14")) == (True, True, False)


def test_commit_of_an_unknown_version_is_older_than_no_release() -> None:
    assert not Release.of_commit(COMMIT, "main") < Release("999")
    assert Release.of_commit(COMMIT, "v0.5.9-3-g1a2b3c4d5e") < Release("0.5.10")


@pytest.mark.parametrize(
    ("version", "commit"),
    [("0.5.14.dev1154+g1a2b3c4", "1a2b3c4"), ("0.5.14+cu126.g1a2b3c4d5.d20260101", "1a2b3c4d5"), ("0.5.14+npu.1", "")],
)
def test_nightly_build_says_which_commit_it_was_built_from(version: str, commit: str) -> None:
    assert Release.parse(version).built_from == commit

from __future__ import annotations

import os
import subprocess

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from patchtool.adapters.git.plumbing import Git
from patchtool.adapters.store.members import PathCheck


@pytest.mark.parametrize(
    "path",
    [
        "sglang/__init__.py",
        "sglang/E=32,N=1792,device_name=NVIDIA_H100.json",
        "sglang/.gitignore",
        "sglang/.github/x",
        "sglang/a b/é.py",
        "sglang/...",
        "sglang/git~10",
        'sglang/"quoted".py',
    ],
)
def test_ordinary_paths_are_accepted(path: str) -> None:
    assert PathCheck().add(path) is None


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        pytest.param("", "component ''", id="empty"),
        pytest.param("/etc/passwd", "absolute", id="absolute"),
        pytest.param("sglang//a", "component ''", id="empty component"),
        pytest.param("sglang/./a", "component '.'", id="dot"),
        pytest.param("sglang/../../a", "component '..'", id="dot dot"),
        pytest.param("sglang/.git/config", "git's own", id="git"),
        pytest.param("sglang/.GIT/config", "git's own", id="git in capitals"),
        pytest.param("sglang/GIT~1/config", "git's own", id="git as NTFS short name"),
        pytest.param("sglang/.git./config", "git's own", id="git with a trailing dot"),
        pytest.param("sglang/.git . /config", "git's own", id="git with trailing spaces and dots"),
        pytest.param("sglang/.git::$INDEX_ALLOCATION/config", "git's own", id="git as NTFS stream"),
        pytest.param("sglang/.g\u200cit/config", "invisible", id="git for HFS+"),
        pytest.param("sglang/\ufeff.git/config", "invisible", id="git for HFS+ with a BOM"),
        pytest.param("sglang\\a", "backslash", id="backslash"),
        pytest.param("sglang/a\nb", "control", id="line break"),
        pytest.param("sglang/a\0b", "control", id="NUL"),
        pytest.param("sglang/a\x7f", "control", id="delete"),
        pytest.param("sglang/a\u202eb", "invisible", id="right to left"),
        pytest.param("sglang/\udcff", "invisible", id="not UTF-8"),
        pytest.param("sglang/" + "x" * 256, "longer", id="long"),
    ],
)
def test_dangerous_paths_are_refused(path: str, reason: str) -> None:
    assert reason in (PathCheck().add(path) or "")


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        pytest.param("a/b", "a/b", "twice", id="twice"),
        pytest.param("a/b", "a/b/c", "file and a folder", id="file, then folder"),
        pytest.param("a/b/c", "a/b", "file and a folder", id="folder, then file"),
        pytest.param("a/b", "a/B", "only in case", id="case"),
        pytest.param("A/b", "a/c", "only in case", id="case of a folder"),
        pytest.param("a/stra\u00dfe", "a/STRASSE", "only in case", id="case folding"),
        pytest.param("a/\u00e9", "a/e\u0301", "Unicode form", id="composed and decomposed"),
    ],
)
def test_paths_that_collide_are_refused(first: str, second: str, reason: str) -> None:
    check = PathCheck()
    assert check.add(first) is None
    assert reason in (check.add(second) or "")


def test_folder_entries_may_be_repeated() -> None:
    check = PathCheck()
    assert [check.add("a", folder=True), check.add("a/b"), check.add("a", folder=True)] == [None] * 3
    assert check.add("a/b", folder=True) is not None


# Pieces that provoke the rules, beside whatever else Unicode has.
tricky = st.sampled_from(
    [
        "a",
        "A",
        ".git",
        "git~1",
        ".",
        "..",
        "",
        " ",
        '"',
        "\t",
        "\\",
        "é",
        "e\u0301",
        "\u200c",
        "\\303",
        "-",
        ":",
        "*",
        "#",
        "~",
    ]
)
component = st.lists(tricky | st.text(min_size=1, max_size=3), min_size=1, max_size=3).map("".join)
paths = st.lists(st.lists(component, min_size=1, max_size=3).map("/".join), min_size=1, max_size=8)


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@example(['"a', "b ", " c", "d\\303\\251", "é/e"])
@given(listed=paths)
def test_accepted_paths_are_stored_unchanged_by_git(
    tmp_path_factory: pytest.TempPathFactory, listed: list[str]
) -> None:
    check = PathCheck()
    accepted = [path for path in listed if check.add(path) is None]
    assume(accepted)
    repository = tmp_path_factory.mktemp("law") / "r.git"
    Git(None).run("init", "-q", "--bare", "--template=", str(repository))
    git = Git(repository)
    stream = "commit refs/heads/main\ncommitter a <a> 1 +0000\ndata 1\nx\n"
    stream += "".join(f"M 100644 inline python/{path}\ndata 1\nx\n" for path in accepted)
    git.run("fast-import", "--quiet", stdin=stream.encode())
    listing = git.run("ls-tree", "-r", "-z", "--name-only", "main").stdout.decode().split("\0")[:-1]
    assert sorted(listing) == sorted(f"python/{path}" for path in accepted)
    strict = ("-c", "core.protectNTFS=true", "-c", "core.protectHFS=true")
    index = {**os.environ, "GIT_INDEX_FILE": str(repository / "index")}
    # Git's own strictest rules find nothing either.
    subprocess.run(["git", *strict, f"--git-dir={repository}", "read-tree", "main"], check=True, env=index)

"""A new patch: scaffolded, or drafted from a diff or a commit, and applied as drafted."""

# ruff: noqa: E501

import difflib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.small_upstream import CACHE, SOURCE, Outcome, SmallUpstream

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

AFTER = SOURCE.replace("        return total\n", "        self.filled = total\n        return total\n")


def diff_of(before: str, after: str, path: str) -> str:
    return "".join(difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"a/{path}", f"b/{path}"))


def test_check_rejects_a_bare_scaffold(upstream: SmallUpstream) -> None:
    created = upstream.run("new", "my_change")
    assert created.code == 0, created.err
    assert (upstream.project / "patches/series").read_text().endswith("tracking\nmy_change\n")
    assert "TODO" in (upstream.project / "patches/my_change/codemod.py").read_text()
    checked = upstream.run("check")
    assert checked.code == 1
    assert "patches/my_change" in checked.out


@pytest.mark.parametrize("path", [CACHE, CACHE.removeprefix("python/")])
def test_draft_from_a_diff_applies(upstream: SmallUpstream, path: str) -> None:
    source = upstream.folder / "my.patch"
    source.write_text(diff_of(SOURCE, AFTER, path))
    created = upstream.run("new", "my_change", "--from", str(source))
    assert created.code == 0, created.err
    checked = upstream.run("check")
    assert "my_change" not in checked.out, checked.out
    states = upstream.run("status", "--json").states()
    assert states["my_change"] == "applied", (upstream.project / "patches/my_change/codemod.py").read_text()
    shown = upstream.run("diff", "--patch", "my_change").out
    assert [line for line in shown.splitlines() if line[:1] == "+" and line[:3] != "+++"] == [
        "+        self.filled = total"
    ]


def test_draft_from_a_commit_applies(upstream: SmallUpstream, tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    file = checkout / CACHE
    file.parent.mkdir(parents=True)
    env = {**os.environ, **{f"GIT_{w}_{p}": "t" for w in ("AUTHOR", "COMMITTER") for p in ("NAME", "EMAIL")}}

    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=checkout, check=True, env=env, capture_output=True)

    git("init", "-q")
    for text in (SOURCE, AFTER):
        file.write_text(text)
        git("add", ".")
        git("commit", "-qm", "x")
    created = upstream.run("new", "my_change", "--from", "HEAD", "--tree", str(checkout))
    assert created.code == 0, created.err
    assert upstream.run("status", "--json").states()["my_change"] == "applied"
    metadata = tomllib.loads((upstream.project / "patches/my_change/patch.toml").read_text())
    assert (metadata["title"], metadata["author"]) == ("x", "t <t>")


UTILS = "python/sglang/srt/utils.py"
UTILS_BEFORE = "def align(value):\n    return value\n"
UTILS_AFTER = "def align(value):\n    return value + 1\n"
CLOCK = "python/sglang/srt/clock.py"
CLOCK_TEXT = '"""A clock."""\n\n\ndef now():\n    return 0\n'
MAIL = """\
From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001
From: =?UTF-8?q?J=C3=B6rg?= <joerg@example.org>
Date: Tue, 3 Feb 2026 10:00:00 +0100
Subject: [PATCH 1/2] cache: remember how
 much is "filled"

Two lines
of reason.
---
 2 files changed

"""


def created(path: str, text: str) -> str:
    lines = "".join(f"+{line}" for line in text.splitlines(True))
    header = f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
    return f"{header}@@ -0,0 +1,{lines.count(chr(10))} @@\n{lines}"


@pytest.fixture
def wide(upstream: SmallUpstream) -> SmallUpstream:
    """A release with more files."""
    files = {
        CACHE: SOURCE,
        UTILS: UTILS_BEFORE,
        "python/sglang/srt/old.py": "x = 1\n",
        "python/sglang/srt/a.yaml": "a: 1\n",
    }
    upstream.release("2.0", files)
    upstream.pin("2.0")
    return upstream


def drafted(upstream: SmallUpstream, diff: str | bytes, *words: str) -> Outcome:
    source = upstream.folder / "my.patch"
    source.write_bytes(diff if isinstance(diff, bytes) else diff.encode())
    return upstream.run("new", "my_change", "--from", str(source), *words)


def test_draft_of_several_files_gives_the_tree_of_git_apply(wide: SmallUpstream) -> None:
    diff = diff_of(SOURCE, AFTER, CACHE) + diff_of(UTILS_BEFORE, UTILS_AFTER, UTILS) + created(CLOCK, CLOCK_TEXT)
    diff += DELETED
    made = drafted(wide, diff)
    assert made.code == 0, made.err
    assert "not stated" not in made.out
    assert wide.faults("my_change") == []
    applied = wide.run("apply", "--only", "my_change")
    assert applied.code == 0, applied.err
    output = next((wide.project / "build").glob("sglang-*"))
    assert (output / CACHE).read_text() == AFTER
    assert (output / UTILS).read_text() == UTILS_AFTER
    assert (output / CLOCK).read_text() == CLOCK_TEXT
    assert not (output / OLD).exists()


def test_draft_of_a_renamed_file_deletes_one_and_creates_the_other(wide: SmallUpstream) -> None:
    head = f"diff --git a/{UTILS} b/{CLOCK}\nsimilarity index 50%\nrename from {UTILS}\nrename to {CLOCK}\n"
    made = drafted(wide, head + diff_of(UTILS_BEFORE, UTILS_AFTER, UTILS).replace(f"b/{UTILS}", f"b/{CLOCK}"))
    assert made.code == 0, made.err
    assert "not stated" not in made.out
    assert wide.faults("my_change") == []
    assert wide.run("apply", "--only", "my_change").code == 0
    output = next((wide.project / "build").glob("sglang-*"))
    assert not (output / UTILS).exists()
    assert (output / CLOCK).read_text() == UTILS_AFTER


def test_mail_without_a_message_has_no_reason(wide: SmallUpstream) -> None:
    mail = MAIL.replace("Two lines\nof reason.\n", "")
    assert "\n\n---\n" in mail
    made = drafted(wide, mail + "diff --git a/x b/x\n" + diff_of(SOURCE, AFTER, CACHE))
    assert made.code == 0, made.err
    metadata = tomllib.loads((wide.project / "patches/my_change/patch.toml").read_text())
    assert metadata["title"] == 'cache: remember how much is "filled"'
    assert "---" not in metadata["reason"]
    assert wide.run("export", "quilt", "--output", str(wide.folder / "export")).code == 0


def test_mail_gives_title_reason_author_and_date(wide: SmallUpstream) -> None:
    made = drafted(wide, MAIL + "diff --git a/x b/x\n" + diff_of(SOURCE, AFTER, CACHE) + "-- \n2.40.0\n")
    assert made.code == 0, made.err
    metadata = tomllib.loads((wide.project / "patches/my_change/patch.toml").read_text())
    assert metadata == {
        "title": 'cache: remember how much is "filled"',
        "reason": "Two lines\nof reason.",
        "author": "J\u00f6rg <joerg@example.org>",
        "targets": [CACHE],
        "last-update": "2026-02-03",
    }


YAML = "--- a/python/sglang/srt/a.yaml\n+++ b/python/sglang/srt/a.yaml\n@@ -1 +1 @@\n-a: 1\n+a: 2\n"
CPP = "--- a/sgl-kernel/csrc/x.cpp\n+++ b/sgl-kernel/csrc/x.cpp\n@@ -3,1 +3,2 @@\n int a;\n+int b;\n"
OLD = "python/sglang/srt/old.py"
DELETED = f"diff --git a/{OLD} b/{OLD}\ndeleted file mode 100644\n--- a/{OLD}\n+++ /dev/null\n@@ -1 +0,0 @@\n-x = 1\n"
BINARY = "diff --git a/python/sglang/srt/b.py b/python/sglang/srt/b.py\nindex 1..2 100644\nBinary files a/python/sglang/srt/b.py and b/python/sglang/srt/b.py differ\n"
ABSENT = "--- a/python/sglang/srt/absent.py\n+++ b/python/sglang/srt/absent.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n"
COMMENT = diff_of(UTILS_BEFORE, "# new\n" + UTILS_BEFORE, UTILS)


@pytest.mark.parametrize(
    ("part", "listed"),
    [
        pytest.param(YAML, "python/sglang/srt/a.yaml:1 @@ -1 +1 @@: is no Python file", id="yaml"),
        pytest.param(CPP, "sgl-kernel/csrc/x.cpp:4 @@ -3,1 +3,2 @@: is outside of python/sglang", id="cpp"),
        pytest.param(BINARY, "python/sglang/srt/b.py:1: is binary", id="binary"),
        pytest.param(ABSENT, "the pinned release does not have this file", id="absent"),
        pytest.param(COMMENT, f"{UTILS}:1 @@ -1,2 +1,3 @@: differs in comments, blank lines or layout", id="comment"),
        pytest.param(
            diff_of(UTILS_BEFORE.replace("value", "other"), UTILS_AFTER, UTILS), "does not apply", id="does not apply"
        ),
    ],
)
def test_what_is_not_stated_is_listed_by_hunk_with_its_reason(wide: SmallUpstream, part: str, listed: str) -> None:
    made = drafted(wide, part + diff_of(SOURCE, AFTER, CACHE))
    assert made.code == 0, made.err
    assert f"not stated: {listed}" in made.out or listed in made.out
    assert wide.faults("my_change") == []
    (wide.project / "patches/series").write_text("dense\ntracking\n")
    shutil.rmtree(wide.project / "patches/my_change")
    document = drafted(wide, part + diff_of(SOURCE, AFTER, CACHE), "--json").document
    (hunk,) = document["unstated"]
    assert hunk["reason"] in made.out


@pytest.mark.parametrize("part", [YAML, CPP, BINARY, ABSENT, COMMENT, YAML + CPP])
def test_change_of_which_nothing_can_be_stated_is_refused_with_the_reasons(wide: SmallUpstream, part: str) -> None:
    refused = drafted(wide, part)
    assert refused.code == 2
    assert "can be drafted" in refused.err
    assert "not stated: " in refused.err
    assert not (wide.project / "patches/my_change").exists()


def crlf(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode()


def test_crlf_diff_of_lf_files_says_so(wide: SmallUpstream) -> None:
    refused = drafted(wide, crlf(diff_of(SOURCE, AFTER, CACHE)))
    assert refused.code == 2
    assert "the diff has CRLF line endings, the file has LF" in refused.err


@pytest.mark.parametrize("header", [True, False], ids=["headers too", "content only"])
def test_crlf_diff_of_crlf_files_is_drafted(upstream: SmallUpstream, header: bool) -> None:
    upstream.release("2.0", {CACHE: SOURCE.replace("\n", "\r\n")})
    upstream.pin("2.0")
    lines = crlf(diff_of(SOURCE, AFTER, CACHE)).splitlines(True)
    diff = b"".join(
        line if header or line[:1] == b" " or line[:2] == b"+ " else line.replace(b"\r", b"") for line in lines
    )
    made = drafted(upstream, diff)
    assert made.code == 0, made.err
    assert "not stated" not in made.out, made.out
    assert upstream.faults("my_change") == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("dense",), "already", id="taken"),
        pytest.param(("My-Fix",), "not a patch name", id="no-name"),
        pytest.param(("x", "--from", "no-such-commit"), "neither a file nor a commit", id="no-source"),
    ],
)
def test_refused_patch_writes_nothing(
    upstream: SmallUpstream, arguments: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path / "empty")], check=True)
    monkeypatch.chdir(tmp_path / "empty")
    before = sorted(upstream.project.rglob("*"))
    refused = upstream.run("new", *arguments)
    assert refused.code == 2
    assert message in refused.err
    assert sorted(upstream.project.rglob("*")) == before


def test_diff_that_does_not_apply_is_refused(upstream: SmallUpstream) -> None:
    source = upstream.folder / "my.patch"
    source.write_text(diff_of(SOURCE.replace("total = len(rows)", "total = 1"), AFTER.replace("len(rows)", "2"), CACHE))
    refused = upstream.run("new", "my_change", "--from", str(source))
    assert refused.code == 2
    assert "does not apply" in refused.err
    source.write_text("this is no diff\n")
    assert upstream.run("new", "my_change", "--from", str(source)).code == 2

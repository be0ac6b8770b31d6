"""``import``: a fork's commits, mails, folders and quilt series become text patches that leave the same tree."""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

import base64
import re
import subprocess
from binascii import b2a_qp
from codecs import BOM_UTF8
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands.small_upstream import CACHE, SmallUpstream
from tests.commands.text_series import (
    KINDS,
    ROOT,
    File,
    files_after,
    files_before,
    publish,
    read,
    without_semantic,
    write,
)
from tests.commands.trees import git
from tests.exporters.consumers import require

PACKAGE = files_before() | {f"{ROOT}{folder}__init__.py": File(b"") for folder in ("", "srt/")}


@pytest.fixture
def fork(upstream: SmallUpstream) -> Path:
    """A clone of the release with one commit for each kind of file; its branch has a merge and an empty commit."""
    without_semantic(upstream)
    publish(upstream, "1.0", files_before())
    upstream.pin("1.0")
    clone = upstream.folder / "fork"
    write(clone, PACKAGE)
    git(clone, "init", "-q", "-b", "npu")
    git(clone, "config", "core.autocrlf", "false")
    git(clone, "add", "-A")
    git(clone, "commit", "-qm", "1.0")
    git(clone, "tag", "v1.0")
    for number, (name, kind) in enumerate(KINDS.items()):
        for path in kind.before:
            (clone / ROOT / path).unlink()
        write(clone, {ROOT + path: file for path, file in kind.after.items()})
        git(clone, "add", "-A")
        author = f"--author=Zoë {number} <zoe{number}@example.org>"
        git(
            clone,
            "commit",
            "-qm",
            f"{name}: änd\n\nWhy.\n--- a/x\n+++ b/x",
            author,
            f"--date=2024-05-06T07:{number:02}:09+02:00",
        )
    git(clone, "commit", "-q", "--allow-empty", "-m", "nothing")
    return clone


def applied(upstream: SmallUpstream) -> dict[str, File]:
    """What the series leaves of the package."""
    output = upstream.folder / "output"
    assert upstream.run("apply", "--output", str(output)).code == 0
    return {path: file for path, file in read(output).items() if path in files_before() | files_after()}


def log(folder: Path, *revisions: str) -> list[str]:
    return git(folder, "log", "--reverse", "--no-merges", "--format=%an <%ae>|%aI|%s", *revisions).splitlines()


def test_commits_of_every_kind_of_file_leave_the_same_tree(upstream: SmallUpstream, fork: Path) -> None:
    done = upstream.run("import", "--tree", str(fork), "--range", "v1.0..npu")
    assert done.code == 0, done.err
    assert f"imported {len(KINDS)} patches: " in done.out
    assert "not imported, it changes no file: " in done.out
    assert "files are as you have them" in done.out
    assert applied(upstream) == files_after()
    assert log(upstream.folder / "output")[1:] == log(fork, "v1.0..npu~1")
    assert "Why.\n--- a/x" in git(upstream.folder / "output", "log", "--format=%b")


def test_importing_again_adds_only_what_is_new(upstream: SmallUpstream, fork: Path) -> None:
    assert upstream.run("import", "--tree", str(fork), "--range", "v1.0..npu~3").code == 0
    before = (upstream.project / "patches" / "series").read_text()
    git(fork, "rebase", "-q", "--force-rebase", "v1.0")  # other ids, the same changes
    assert upstream.run("import", "--tree", str(fork), "--range", "v1.0..npu").code == 0
    after = (upstream.project / "patches" / "series").read_text()
    assert after.startswith(before)
    assert len(after.splitlines()) == len(KINDS)
    assert "nothing to import" in upstream.run("import", "--tree", str(fork), "--range", "v1.0..npu").out


def test_a_commit_that_was_amended_since_is_told(upstream: SmallUpstream, fork: Path) -> None:
    assert upstream.run("import", "--tree", str(fork), "--range", "v1.0..npu").code == 0
    git(fork, "reset", "-q", "--hard", "npu~1")
    (fork / ROOT / "a name.txt").write_text("another\n")
    git(fork, "commit", "-qa", "--amend", "--no-edit")
    told = upstream.run("import", "--tree", str(fork), "--range", "v1.0..npu")
    assert (told.code, "was imported before, and changes something else now" in told.err) == (2, True)


def test_commits_of_one_title_are_different_patches(upstream: SmallUpstream, fork: Path) -> None:
    git(fork, "checkout", "-q", "-b", "fixes", "v1.0")
    for number in range(3):
        write(fork, {f"{ROOT}fix{number}.py": File(b"x = 1\n")})
        git(fork, "add", "-A")
        git(fork, "commit", "-qm", "fix")
        done = upstream.run("import", "--tree", str(fork), "--range", "v1.0..fixes")
        assert done.code == 0, done.err
    assert (upstream.project / "patches" / "series").read_text().split() == ["fix", "fix_2", "fix_3"]


def test_merges_are_told_and_what_they_bring_is_not_lost_in_silence(upstream: SmallUpstream, fork: Path) -> None:
    git(fork, "checkout", "-q", "-b", "side", "v1.0")
    (fork / CACHE).write_text((fork / CACHE).read_text() + "side = 1\n")
    git(fork, "commit", "-qam", "side")
    git(fork, "checkout", "-q", "npu")
    git(fork, "merge", "-q", "--no-ff", "-m", "merged", "side")
    done = upstream.run("import", "--tree", str(fork), "--range", "v1.0..npu")
    assert done.code == 0, done.err
    assert "not imported, a merge: " in done.out
    assert applied(upstream)[CACHE].data == (fork / CACHE).read_bytes()


def test_what_a_merge_itself_changes_refuses_the_import(upstream: SmallUpstream, fork: Path) -> None:
    git(fork, "checkout", "-q", "-b", "side", "v1.0")
    git(fork, "commit", "-q", "--allow-empty", "-m", "side")
    git(fork, "checkout", "-q", "npu")
    git(fork, "merge", "-q", "--no-ff", "--no-commit", "side")
    (fork / CACHE).write_text("evil = 1\n")
    git(fork, "commit", "-qam", "merged")
    refused = upstream.run("import", "--tree", str(fork), "--range", "v1.0..npu")
    assert refused.code != 0
    assert f"{CACHE} would not be as you have it; nothing was written" in refused.err
    assert (upstream.project / "patches" / "series").read_text() == ""


def _mails(fork: Path, folder: Path) -> Path:
    mails = folder / "all.mbox"
    mails.write_bytes(_bytes(fork, "format-patch", "--stdout", "--binary", "v1.0..npu~1"))
    return mails


def _folder(fork: Path, folder: Path) -> Path:
    git(fork, "format-patch", "-q", "--binary", "-o", str(folder), "v1.0..npu~1")
    return folder


def _bytes(where: Path, *args: str) -> bytes:
    return subprocess.run(["git", *args], cwd=where, check=True, capture_output=True).stdout


@pytest.mark.parametrize("form", [_mails, _folder])
def test_mails_leave_the_same_tree(upstream: SmallUpstream, fork: Path, tmp_path: Path, form) -> None:
    done = upstream.run("import", str(form(fork, tmp_path)), "--tree", str(fork))
    assert done.code == 0, done.err
    assert "files are as you have them" in done.out
    assert applied(upstream) == files_after()
    assert log(upstream.folder / "output")[1:] == log(fork, "v1.0..npu~1")


def _encoded(mail: bytes, encoding: str) -> bytes:
    """A mail as a server that passes on seven bits sends it."""
    head, _, body = mail.partition(b"\n\n")
    lines = [line for line in head.split(b"\n") if not line.lower().startswith(b"content-")]
    quoted = b"\n".join(b2a_qp(line, istext=False) for line in body.split(b"\n"))
    coded = quoted if encoding == "quoted-printable" else base64.encodebytes(body)
    kind = [b"MIME-Version: 1.0", b"Content-Type: text/plain; charset=UTF-8"]
    return b"\n".join([*lines, *kind, b"Content-Transfer-Encoding: " + encoding.encode(), b"", coded])


def _plain(mail: bytes) -> bytes:
    """A mail without an mbox's separator."""
    return mail.partition(b"\n")[2]


TRANSPORTS: dict[str, Callable[[bytes], bytes]] = {
    "plain": _plain,
    "from-first": lambda mail: re.sub(
        rb"\A(.*?)^(From: [^\n]*\n)", rb"\2\1", _plain(mail), flags=re.DOTALL | re.MULTILINE
    ),
    "byte-order-mark": lambda mail: BOM_UTF8 + _plain(mail),
    "mbox-with-byte-order-mark": lambda mail: BOM_UTF8 + mail,
    "blank-lines-first": lambda mail: b"\n \r\n" + _plain(mail),
    "crlf": lambda mail: _plain(mail).replace(b"\n", b"\r\n"),
    "mbox-with-crlf": lambda mail: mail.replace(b"\n", b"\r\n"),
    "received": lambda mail: b"Return-Path: <x@example.org>\nReceived: from a\n\tby b; Mon\n" + _plain(mail),
    "quoted-printable": lambda mail: _encoded(_plain(mail), "quoted-printable"),
    "base64": lambda mail: _encoded(_plain(mail), "base64"),
}


@pytest.mark.parametrize("suffix", [".eml", ".patch", ""])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_mails_are_read_however_they_were_saved(
    upstream: SmallUpstream, fork: Path, tmp_path: Path, transport: str, suffix: str
) -> None:
    (folder := tmp_path / "mails").mkdir()
    (folder / "README.txt").write_bytes(b"From: us\nno mail\n")
    (folder / "utf-16.txt").write_text("x", encoding="utf-16")
    for file in _folder(fork, tmp_path / "patches").iterdir():
        (folder / f"{file.stem}{suffix}").write_bytes(TRANSPORTS[transport](file.read_bytes()))
    done = upstream.run("import", str(folder), "--tree", str(fork))
    assert done.code == 0, done.err
    assert "files are as you have them" in done.out
    assert applied(upstream) == files_after()
    assert log(upstream.folder / "output")[1:] == log(fork, "v1.0..npu~1")


@pytest.mark.parametrize("transport", [*TRANSPORTS, "diff"])
def test_one_mail_or_diff_is_imported(upstream: SmallUpstream, fork: Path, tmp_path: Path, transport: str) -> None:
    git(fork, "checkout", "-q", "-B", "one", "v1.0")
    (fork / CACHE).write_text((fork / CACHE).read_text() + "one = 1\n")
    git(fork, "commit", "-qam", "one more")
    mail = _bytes(fork, "format-patch", "--stdout", "-1")
    file = tmp_path / "one"
    file.write_bytes(_bytes(fork, "diff", "v1.0..one") if transport == "diff" else TRANSPORTS[transport](mail))
    done = upstream.run("import", str(file), "--tree", str(fork))
    assert (done.code, "files are as you have them" in done.out) == (0, True), done.err
    assert applied(upstream)[CACHE].data == (fork / CACHE).read_bytes()


NO_PATCH = {
    "mail-without-a-diff": (
        b"From: A <a@example.org>\nSubject: hello\n\nHow are you?\n",
        "no file is changed by hello",
    ),
    "text": (b"hello\n", "is not an mbox, a mail or a diff"),
    "empty": (b"", "is not an mbox, a mail or a diff"),
    "headers-of-no-mail": (b"Name: x\nVersion: 1\n\n", "is not an mbox, a mail or a diff"),
    "separator-without-a-mail": (b"From here on it is prose\n", "is not an mbox, a mail or a diff"),
    "utf-16": ("From: A <a@example.org>\nSubject: x\n\ny\n".encode("utf-16"), "is UTF-16"),
}


@pytest.mark.parametrize(("data", "words"), NO_PATCH.values(), ids=NO_PATCH)
def test_what_is_no_patch_is_told(upstream: SmallUpstream, tmp_path: Path, data: bytes, words: str) -> None:
    (tmp_path / "file").write_bytes(data)
    refused = upstream.run("import", str(tmp_path / "file"))
    assert (refused.code, words in refused.err, "hint: " in refused.err) == (2, True, True), refused.err


HEAD = """Description: {name} it
 Why.
 .
 More.
Author: Ada B <ada@example.org>
Origin: vendor
Last-Update: 2024-01-02
---
"""
FIELDS = (
    *('title = "a-first.diff it"', 'reason = "Why.\\n\\nMore."', 'author = "Ada B <ada@example.org>"'),
    *('origin = "vendor"', 'last-update = "2024-01-02"'),
)


def test_a_series_of_quilt_is_imported_in_its_order_with_its_fields(upstream: SmallUpstream, tmp_path: Path) -> None:
    require("quilt")
    without_semantic(upstream)
    publish(upstream, "1.0", files_before())
    upstream.pin("1.0")
    tree = tmp_path / "tree"
    write(tree, PACKAGE)
    for name, new in (("b-second", "x = 2\n"), ("a-first.diff", "y = 3\n")):
        for command in (["new", name], ["add", f"{ROOT}quilted.py"]):
            subprocess.run(["quilt", *command], cwd=tree, check=True, capture_output=True)
        (tree / ROOT / "quilted.py").write_text(new)
        head = HEAD.format(name=name)
        subprocess.run(["quilt", "header", "-r"], cwd=tree, check=True, capture_output=True, input=head.encode())
        subprocess.run(["quilt", "refresh"], cwd=tree, check=True, capture_output=True)
    (tree / "patches" / "series").write_text("# ours\nb-second\na-first.diff -p1\n")
    done = upstream.run("import", str(tree / "patches"), "--tree", str(tree))
    assert done.code == 0, done.err
    assert (upstream.project / "patches" / "series").read_text().split() == ["b_second", "a_first"]
    metadata = (upstream.project / "patches" / "a_first" / "patch.toml").read_text()
    for line in FIELDS:
        assert line in metadata.splitlines()
    stored = upstream.project / "patches" / "a_first" / "a_first.patch"
    assert stored.read_bytes() == (tree / "patches" / "a-first.diff").read_bytes()
    output = upstream.folder / "output"
    assert upstream.run("apply", "--output", str(output)).code == 0
    assert (output / ROOT / "quilted.py").read_text() == "y = 3\n"


def test_files_that_no_wheel_has_are_left_out_and_told(upstream: SmallUpstream, fork: Path) -> None:
    git(fork, "checkout", "-q", "-b", "mixed", "v1.0")
    write(fork, {"docs/guide.md": File(b"text\n"), f"{ROOT}kept.py": File(b"x = 1\n")})
    git(fork, "add", "-A")
    git(fork, "commit", "-qm", "both")
    done = upstream.run("import", "--tree", str(fork), "--range", "v1.0..mixed")
    assert done.code == 0, done.err
    assert "left out of both, the pin has no such files: docs/guide.md" in done.out
    assert b"docs" not in (upstream.project / "patches" / "both" / "both.patch").read_bytes()
    again = upstream.run("import", "--tree", str(fork), "--range", "v1.0..mixed")
    assert (again.code, "nothing to import" in again.out) == (0, True), again.err


REFUSED = {
    "neither": ((), "import takes a folder or a file of patches, or --range"),
    "no range": (("--range", "npu"), "'npu' is not a range of commits"),
    "no commit": (("--range", "nope..npu"), "has no commit 'nope'"),
    "an option": (("--range", "--output=x..npu"), "has no commit '--output=x'"),
    "no file": (("nothing.mbox",), "there is no file or folder"),
}


@pytest.mark.parametrize(("arguments", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_series_is_refused(upstream: SmallUpstream, fork: Path, arguments, words: str) -> None:
    refused = upstream.run("import", *arguments, "--tree", str(fork))
    assert (refused.code, words in refused.err) == (2, True), refused.err


ONE_LINE = b"--- a/FILE\n+++ b/FILE\n@@ -1 +1 @@\n-a\n+b\n"
LISTED = {
    "another depth": (b"one.patch -p0\n", "series:1: one.patch is applied with -p0"),
    "reversed": (b"one.patch -R\n", "is applied with -R"),
    "missing": (b"two.patch\n", "has no file two.patch"),
    "outside": (b"../one.patch\n", "'../one.patch' is not a path inside"),
}


@pytest.mark.parametrize(("series", "words"), LISTED.values(), ids=LISTED)
def test_a_series_that_would_mean_something_else_is_refused(
    upstream: SmallUpstream, tmp_path: Path, series: bytes, words: str
) -> None:
    (tmp_path / "q").mkdir()
    (tmp_path / "q" / "series").write_bytes(series)
    (tmp_path / "q" / "one.patch").write_bytes(ONE_LINE.replace(b"FILE", b"python/sglang/x.py"))
    refused = upstream.run("import", str(tmp_path / "q"))
    assert refused.code != 0
    assert words in refused.err


def test_a_patch_that_does_not_apply_to_the_pin_is_named(upstream: SmallUpstream, tmp_path: Path) -> None:
    (tmp_path / "x.patch").write_bytes(b"--- a/%b\n+++ b/%b\n@@ -1 +1 @@\n-a\n+b\n" % (CACHE.encode(), CACHE.encode()))
    refused = upstream.run("import", str(tmp_path))
    assert (refused.code, "x does not apply to v1.0 with the patches before it: " in refused.err) == (2, True), (
        refused.err
    )

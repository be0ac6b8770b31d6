"""The ``RECORD`` of an installed wheel: only the lines of changed files change, and undoing restores every byte."""

from __future__ import annotations

import csv
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchtool.adapters.worktree import open_worktree, recover, unapply, write
from patchtool.adapters.worktree.installed import RecordEntry, entry_of, updated
from patchtool.emulation import PACKAGE as SGLANG
from tests.adapters.worktree.conftest import BRANCH, Lab, die_at, patch, snapshot

NAMES = ["sglang/srt/a.py", "sglang/srt/with, comma.py", 'sglang/srt/with "quotes".py', "sglang/srt/ä.py", "a"]
LINES = st.lists(st.sampled_from(NAMES), unique=True, max_size=5)


def record(names: list[str], contents: dict[str, bytes], ending: str, *, final: bool = True) -> bytes:
    text = StringIO(newline="")
    writer = csv.writer(text, lineterminator=ending)
    writer.writerows([name, *entry_of(contents[name])] for name in names)
    writer.writerow(["sglang-1.dist-info/RECORD", "", ""])
    return text.getvalue().removesuffix("" if final else ending).encode()


def entries(content: bytes) -> dict[str, RecordEntry]:
    rows = csv.reader(StringIO(content.decode(), newline=""))
    return {name: RecordEntry(digest, size) for name, digest, size in rows}


@given(LINES, LINES, st.sampled_from(["\n", "\r\n"]), st.binary(max_size=5), st.booleans())
def test_changes_are_exact_and_can_be_undone(
    names: list[str], changed: list[str], ending: str, after: bytes, final: bool
) -> None:
    contents = {name: name.encode() for name in NAMES}
    before = record(names, contents, ending, final=final)
    changes = {
        name: (entry_of(contents[name]) if name in names else RecordEntry(), entry_of(after)) for name in changed
    }
    written = updated(before, changes)
    wanted = entries(before) | {name: entry_of(after) for name in changed}
    assert entries(written) == wanted
    assert updated(written, changes) == written, "can be repeated"
    assert updated(written, {name: pair[::-1] for name, pair in changes.items()}) == before


@pytest.mark.parametrize("line", [b"a,sha256=other,3\n", b"a,,\n", b"a\n", b"a,b,c,d\n", b'"a\n', b"\xff,\xff,\n", b""])
def test_lines_that_are_not_true_or_not_understood_stay(line: bytes) -> None:
    assert updated(line, {"a": (entry_of(b"one"), entry_of(b"two"))}) == line


def test_file_that_is_deleted_has_no_line() -> None:
    before = record(["a"], {"a": b"one"}, "\n")
    assert updated(before, {"a": (entry_of(b"one"), RecordEntry())}) == record([], {}, "\n")


@given(LINES, st.sets(st.sampled_from(NAMES)), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_lines_of_deleted_files_come_back_where_they_were(
    names: list[str], deleted: set[str], ending: str, last: bool
) -> None:
    contents = {name: name.encode() for name in NAMES}
    before = record(names, contents, ending)
    before = before if last else before.rstrip(b"\r\n")
    changes = {name: (entry_of(contents[name]), RecordEntry()) for name in deleted & set(names)}
    changes["new"] = (RecordEntry(), entry_of(b"new"))
    lines = enumerate(before.splitlines(keepends=True))
    places = {name: (number, line.decode()) for (number, line), name in zip(lines, names)}
    written = updated(before, changes, places)
    assert entries(written).keys() == {*names, "new", "sglang-1.dist-info/RECORD"} - changes.keys() | {"new"}
    back = updated(written, {name: pair[::-1] for name, pair in changes.items()}, places)
    assert back == before


@pytest.mark.parametrize("algorithm", ["sha256", "sha384", "sha512"])
def test_algorithm_of_the_installer_is_kept(algorithm: str) -> None:
    entry = entry_of(b"one", RecordEntry(f"{algorithm}=", "0"))
    assert entry.describes(b"one")
    assert entry_of(b"two", entry).hash.startswith(f"{algorithm}=")
    assert entry_of(b"two", RecordEntry("md5=x", "1")) == RecordEntry()


def _site(lab: Lab, name: str) -> Path:
    root = lab.package(lab.folder / name).parent
    info = root / "sglang-0.5.13.dist-info"
    info.mkdir()
    files = {file.relative_to(root).as_posix(): file.read_bytes() for file in sorted(root.rglob("*.py"))}
    (info / "RECORD").write_bytes(record(list(files), files, "\n"))
    return root


def _untrue(root: Path) -> list[str]:
    listed = entries((root / "sglang-0.5.13.dist-info/RECORD").read_bytes())
    return [name for name, entry in listed.items() if entry.hash and not entry.describes((root / name).read_bytes())]


def test_record_of_another_distribution_stays(lab: Lab) -> None:
    root = _site(lab, "site")
    other = root / "sglang_router-1.0.dist-info"
    other.mkdir()
    (other / "RECORD").write_bytes(b"sglang_router/__init__.py,,\n")
    path = "python/sglang/srt/new.py"
    write(
        open_worktree(root, SGLANG),
        [replace(patch("new", {path: b"new\n"}), added=frozenset({path}))],
        commit=False,
        branch=BRANCH,
    )
    assert b"sglang/srt/new.py" in (root / "sglang-0.5.13.dist-info/RECORD").read_bytes()
    assert (other / "RECORD").read_bytes() == b"sglang_router/__init__.py,,\n"


@pytest.mark.parametrize("verb", ["write", "unapply"])
def test_record_is_true_after_a_run_that_was_killed_at_any_step(lab: Lab, verb: str) -> None:
    for number in range(200):
        root = _site(lab, f"site{number}")
        before = snapshot(root)
        if verb == "unapply":
            write(open_worktree(root, SGLANG), lab.series(), commit=False, branch=BRANCH)
            assert _untrue(root) == []
        run = {
            "write": lambda root=root: write(open_worktree(root, SGLANG), lab.series(), commit=False, branch=BRANCH),
            "unapply": lambda root=root: unapply(open_worktree(root, SGLANG)),
        }[verb]
        ended = die_at(number, run)
        recover(open_worktree(root, SGLANG))
        assert _untrue(root) == []
        unapply(open_worktree(root, SGLANG))
        assert snapshot(root) == before
        if ended:
            return
    pytest.fail("the run did not end")

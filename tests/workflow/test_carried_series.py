"""Properties of a carried series, on random files and random diffs that git makes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from patchtool.adapters.git.patch_index import open_patch_index
from patchtool.domain.patch import PatchInfo
from patchtool.domain.state import State
from patchtool.domain.text_patch import FileChange, known_source
from patchtool.textual.kind import TextKind
from tests.semantic.trees import MemoryTree

LINE = st.sampled_from(
    [b"alpha", b"beta", b"", b"\tgamma", b"delta\r", b"caf\xe9", b"--- a/x", b"@@ -1 +1 @@", b"\\ No"]
)
TEXT = st.builds(lambda lines, end: b"\n".join(lines) + end, st.lists(LINE, max_size=12), st.sampled_from([b"", b"\n"]))
FILE = st.one_of(TEXT, TEXT, st.binary(max_size=40))
NAMES = st.sampled_from(["a.py", "b c.txt", "d/\u00e9.toml", 'quo"te.sh', "e.bin"])
TREE = st.dictionaries(NAMES, FILE, max_size=4)


@contextmanager
def repository() -> Iterator[Path]:
    with TemporaryDirectory() as folder:
        git(Path(folder), "init", "-q")
        yield Path(folder)


def git(where: Path, *args: str) -> bytes:
    person = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "core.autocrlf=false")
    return subprocess.run(["git", *person, *args], cwd=where, capture_output=True, check=True).stdout


def diff_between(where: Path, before: dict[str, bytes], after: dict[str, bytes]) -> bytes:
    for files in (before, after):
        git(where, "rm", "-rfq", "--cached", "--ignore-unmatch", ".")
        for path in [p for p in where.rglob("*") if p.is_file() and ".git" not in p.parts]:
            path.unlink()
        for name, data in files.items():
            (where / name).parent.mkdir(exist_ok=True)
            (where / name).write_bytes(data)
        git(where, "add", "-A")
        git(where, "commit", "-q", "--allow-empty", "-m", "x")
    return git(where, "diff", "--binary", "-M", "HEAD~", "HEAD")


@settings(max_examples=25)
@given(TREE, TREE)
def test_gits_diffs_are_read_as_what_they_change(before: dict[str, bytes], after: dict[str, bytes]) -> None:
    """The change of a diff leads from the files before to the files after, exactly, and carried to its base as well."""
    with repository() as where:
        diff = diff_between(where, before, after)
        if not diff:
            return
        with open_patch_index(where / ".git") as index:
            index.put({name: ("100644", data) for name, data in before.items()})
            change = index.apply(diff)
    assert change.problem == ""
    assert applied(before, change.files) == after
    info = PatchInfo("x", "x", "", "A <a@b.c>", (), source_file="x.patch", text=known_source("", change))
    on_base = TextKind().judge(info, MemoryTree(before), None)
    assert on_base.state is State.APPLIED
    result = {**before, **on_base.contents}
    assert {name: data for name, data in result.items() if data is not None} == after
    assert TextKind().judge(info, MemoryTree(after), None).state is State.LANDED


def applied(before: dict[str, bytes], changes: tuple[FileChange, ...]) -> dict[str, bytes]:
    files = dict(before)
    for change in changes:
        assert files.pop(change.source_path, None) == change.base
        if change.patched is not None:
            files[change.path] = change.patched
    return files


@settings(max_examples=25)
@given(TEXT, TEXT, st.binary(max_size=20))
def test_an_index_applies_all_of_a_diff_or_nothing(before: bytes, after: bytes, other: bytes) -> None:
    """On another file, git's refusal is told, and what was there stays."""
    with repository() as where:
        diff = diff_between(where, {"a": before, "b": b"1\n"}, {"a": after, "b": b"2\n"})
        with open_patch_index(where / ".git") as index:
            index.put({"a": ("100644", before), "b": ("100644", other)})
            change = index.apply(diff)
            if other != b"1\n":
                assert change.files == ()
                assert change.problem
                index.put({"b": ("100644", b"1\n")})
                change = index.apply(diff)
    assert change.problem == ""
    assert {file.path: file.patched for file in change.files}["b"] == b"2\n"

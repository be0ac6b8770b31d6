"""What forks' diffs do goes through the commands: new --from, check, and a diff that gives the tree of git apply."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream
from tests.semantic.drafting.changes import CHANGES, TREE, Change

STATED = [change for change in CHANGES if not change.reason]
SAMPLE = [
    change for number, change in enumerate(STATED) if number % 5 == 0 or len(change.edits) > 1 or "file" in change.name
]


def git(folder: Path, *words: str, stdin: str = "") -> str:
    run = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True, input=stdin)
    return run.stdout


def contents(folder: Path) -> dict[str, str]:
    return {file.relative_to(folder).as_posix(): file.read_text() for file in folder.rglob("*.py")}


def write(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def diff_of(change: Change, folder: Path) -> str:
    """The change as git shows it."""
    write(folder, TREE)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    before = git(folder, "write-tree").strip()
    for path, text in change.after.items():
        if text is None:
            (folder / path).unlink()
        else:
            write(folder, {path: text})
    git(folder, "add", "--all")
    return git(folder, "diff", before, git(folder, "write-tree").strip())


@pytest.fixture
def small(upstream: SmallUpstream) -> SmallUpstream:
    upstream.release("2.0", {**TREE, CACHE: SOURCE})
    upstream.pin("2.0")
    (upstream.project / "patches/series").write_text("")
    for name in ("dense", "tracking"):
        shutil.rmtree(upstream.project / "patches" / name)
    return upstream


@pytest.mark.parametrize("change", [pytest.param(change, id=change.name) for change in SAMPLE])
def test_drafted_patch_gives_the_tree_of_git_apply(change: Change, small: SmallUpstream, tmp_path: Path) -> None:
    source = tmp_path / "change.patch"
    source.write_text(diff_of(change, tmp_path / "changed"))
    made = small.run("new", "drafted", "--from", str(source))
    assert made.code == 0, made.err
    assert "not stated" not in made.out
    assert small.faults("drafted") == []
    shown = small.run("diff", "--patch", "drafted")
    assert shown.code == 0, shown.err
    for name, diff in (("ours", shown.out), ("theirs", source.read_text())):
        write(tmp_path / name, TREE)
        git(tmp_path / name, "apply", "-", stdin=diff)
    assert contents(tmp_path / "ours") == contents(tmp_path / "theirs")

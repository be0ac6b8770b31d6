"""A series in place of another is what it is on a fresh tree, and leaves the tree as it came when it is unapplied."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import pytest

from patchtool.adapters.worktree import open_worktree, unapply, write
from patchtool.emulation import PACKAGE as SGLANG
from tests.adapters.worktree.conftest import BRANCH, FILES, A, B, patch, snapshot
from tests.adapters.worktree.test_installed import record

if TYPE_CHECKING:
    from pathlib import Path

    from patchtool.adapters.git.commits import PatchCommit
    from tests.adapters.worktree.conftest import Lab

NEW, OTHER = "python/sglang/srt/more/new.py", "python/sglang/srt/latin.py"
SERIES: dict[str, list[PatchCommit]] = {
    "edits": [patch("first", {A: b"def alpha():\n    return 10\n"})],
    "others": [patch("second", {A: b"def alpha():\n    return 3\n", B: b"beta = 3\n"})],
    "creates": [replace(patch("third", {NEW: b"new = 1\n"}), added=frozenset({NEW}))],
    "deletes": [patch("fourth", {OTHER: None})],
    "both": [replace(patch("fifth", {OTHER: None, NEW: b"new = 2\n", B: b"b = 1\n"}), added=frozenset({NEW}))],
    "nothing": [],
}


def _tree(lab: Lab, kind: str, name: str) -> Path:
    if kind != "site":
        return lab.checkout(name)
    root = lab.package(lab.folder / name).parent
    info = root / "sglang-0.5.13.dist-info"
    info.mkdir()
    contents = {file: content for file, content in FILES.items() if content}
    (info / "RECORD").write_bytes(record(list(contents), contents, "\n"))
    return root


def _without_state(root: Path) -> dict[str, tuple[int, bytes]]:
    return {path: content for path, content in snapshot(root).items() if ".patchtool" not in path}


@pytest.mark.parametrize("kind", ["site", "commits", "files"])
def test_series_in_place_of_any_other_is_as_on_a_fresh_tree(lab: Lab, kind: str) -> None:
    commit = kind == "commits"
    fresh = {}
    for name, series in SERIES.items():
        root = _tree(lab, kind, name)
        pristine = snapshot(root)
        write(open_worktree(root, SGLANG), series, commit=commit, branch=BRANCH)
        fresh[name] = (_without_state(root), kind != "site" and lab.git(root, "for-each-ref"))
    root = _tree(lab, kind, "tree")
    for name in (name for pair in combinations(SERIES, 2) for name in pair):
        write(open_worktree(root, SGLANG), SERIES[name], commit=commit, branch=BRANCH)
        assert (_without_state(root), kind != "site" and lab.git(root, "for-each-ref")) == fresh[name]
    unapply(open_worktree(root, SGLANG))
    assert snapshot(root) == pristine


@pytest.mark.parametrize(("before", "after"), [(True, False), (False, True)])
def test_commits_and_files_replace_each_other(lab: Lab, *, before: bool, after: bool) -> None:
    root, fresh = lab.checkout(), lab.checkout("fresh")
    write(open_worktree(root, SGLANG), SERIES["both"], commit=before, branch=BRANCH)
    for tree in (root, fresh):
        write(open_worktree(tree, SGLANG), SERIES["others"], commit=after, branch=BRANCH)
    assert snapshot(root) == snapshot(fresh)
    for question in (("for-each-ref",), ("status", "--porcelain"), ("symbolic-ref", "HEAD"), ("ls-files", "-s")):
        assert lab.git(root, *question) == lab.git(fresh, *question)
    unapply(open_worktree(root, SGLANG))
    assert lab.git(root, "status", "--porcelain") == ""
    assert lab.git(root, "for-each-ref", "--format=%(refname)") == "refs/heads/main\nrefs/tags/v0.5.13"

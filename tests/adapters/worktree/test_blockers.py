"""Blockers are named, the exit code is 2, and nothing changes."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from patchtool.adapters.git.commits import PatchCommit
from patchtool.adapters.worktree import open_worktree, read_applied, unapply, write
from patchtool.domain.errors import ExitCode, InputError, RefusedError
from patchtool.emulation import PACKAGE as SGLANG
from tests.adapters.worktree.conftest import BRANCH, A, B, patch, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.adapters.worktree.conftest import Lab

OTHER = "python/pyproject.toml"


def _edit(root: Path, path: str) -> None:
    with (root / path).open("ab") as stream:
        stream.write(b"# mine\n")


def _two_sides(lab: Lab, root: Path) -> None:
    lab.git(root, "checkout", "-qb", "side")
    (root / OTHER).write_text("side\n")
    lab.git(root, "commit", "-qam", "side")
    lab.git(root, "checkout", "-q", "main")
    (root / OTHER).write_text("main\n")
    lab.git(root, "commit", "-qam", "main")


def _fails(lab: Lab, root: Path, *args: str) -> None:
    with suppress(subprocess.CalledProcessError):
        lab.git(root, *args)


def _dirty_target(lab: Lab, root: Path) -> None:
    _edit(root, B)


def _staged_target(lab: Lab, root: Path) -> None:
    _edit(root, A)
    lab.git(root, "add", A)


def _staged_and_undone(lab: Lab, root: Path) -> None:
    _staged_target(lab, root)
    (root / A).write_bytes(lab.git(root, "cat-file", "blob", f"HEAD:{A}").encode() + b"\n")


def _staged_other(lab: Lab, root: Path) -> None:
    _edit(root, OTHER)
    lab.git(root, "add", OTHER)


def _untracked_target(lab: Lab, root: Path) -> None:
    lab.git(root, "rm", "-q", "--cached", A)
    lab.git(root, "commit", "-qm", "without it")


def _merge(lab: Lab, root: Path) -> None:
    _two_sides(lab, root)
    _fails(lab, root, "merge", "side")
    lab.git(root, "checkout", "--theirs", OTHER)
    lab.git(root, "reset", "-q", OTHER)


def _unmerged(lab: Lab, root: Path) -> None:
    _two_sides(lab, root)
    (root / OTHER).write_text("stash\n")
    lab.git(root, "stash")
    (root / OTHER).write_text("again\n")
    lab.git(root, "commit", "-qam", "again")
    _fails(lab, root, "stash", "pop")


def _rebase(lab: Lab, root: Path) -> None:
    _two_sides(lab, root)
    _fails(lab, root, "rebase", "side")


def _cherry_pick(lab: Lab, root: Path) -> None:
    _two_sides(lab, root)
    _fails(lab, root, "cherry-pick", "side")


def _revert(lab: Lab, root: Path) -> None:
    _two_sides(lab, root)
    lab.git(root, "revert", "--no-commit", "HEAD")


def _bisect(lab: Lab, root: Path) -> None:
    lab.git(root, "bisect", "start")


def _symlink(lab: Lab, root: Path) -> None:
    (root / A).rename(root / "python/sglang/srt/real.py")
    (root / A).symlink_to("real.py")
    lab.git(root, "add", ".")
    lab.git(root, "commit", "-qm", "symlink")


def _symlinked_folder(lab: Lab, root: Path) -> None:
    (root / "python/sglang/srt").rename(root / "python/sglang/real")
    (root / "python/sglang/srt").symlink_to("real")
    lab.git(root, "add", ".")
    lab.git(root, "commit", "-qm", "symlink")


def _nested(lab: Lab, root: Path) -> None:
    lab.git(root / "python/sglang/srt", "init", "-q")


def _missing(lab: Lab, root: Path) -> None:
    (root / A).unlink()


def _other_case(lab: Lab, root: Path) -> None:
    (root / A).rename(root / A.replace("a.py", "A.py"))


def _assume_unchanged(lab: Lab, root: Path) -> None:
    lab.git(root, "update-index", "--assume-unchanged", A)
    _edit(root, A)


def _filter(lab: Lab, root: Path) -> None:
    (root / ".gitattributes").write_text("a.py filter=upper\n")
    lab.git(root, "config", "filter.upper.clean", "tr a-z A-Z")
    lab.git(root, "config", "filter.upper.smudge", "tr A-Z a-z")
    lab.git(root, "add", "--renormalize", ".gitattributes", A)
    lab.git(root, "commit", "-qm", "filter")


def _mixed(lab: Lab, root: Path) -> None:
    lab.git(root, "config", "core.autocrlf", "true")
    (root / A).write_bytes((root / A).read_bytes().replace(b"\n", b"\r\n", 1))
    lab.git(root, "add", A)


BLOCKERS = [
    pytest.param(_dirty_target, "lich.py has an uncommitted change", "restore", id="dirty-target"),
    pytest.param(_staged_target, "a.py has a change in the index", "unstage", id="staged-target"),
    pytest.param(_staged_and_undone, "a.py has a change in the index", "unstage", id="staged-and-undone"),
    pytest.param(_untracked_target, "a.py has an uncommitted change", "commit", id="untracked-target"),
    pytest.param(_merge, "a merge is in progress", "git merge", id="merge"),
    pytest.param(_unmerged, "pyproject.toml has a change in the index", "unstage", id="unmerged-index"),
    pytest.param(_rebase, "a rebase is in progress", "git rebase", id="rebase"),
    pytest.param(_cherry_pick, "a cherry-pick is in progress", "git cherry-pick", id="cherry-pick"),
    pytest.param(_revert, "a revert is in progress", "git revert", id="revert"),
    pytest.param(_bisect, "a bisect is in progress", "git bisect reset", id="bisect"),
    pytest.param(_symlink, "a.py is reached through the symlink", "--tree", id="symlink"),
    pytest.param(_symlinked_folder, "reached through the symlink .*srt", "--tree", id="symlinked-folder"),
    pytest.param(_nested, "in the nested repository .*srt", "--tree", id="nested-repository"),
    pytest.param(_missing, "a.py does not exist", "release", id="missing"),
    pytest.param(_other_case, "a.py does not exist", "release", id="other-case"),
    pytest.param(_assume_unchanged, "assume-unchanged", "update-index", id="assume-unchanged"),
    pytest.param(_filter, "passes a filter", "attribute", id="filter"),
    pytest.param(_mixed, "mixed line endings", "line ending", id="mixed-line-endings"),
]


@pytest.mark.parametrize(("make", "named", "hint"), BLOCKERS)
def test_blocker_is_named_and_nothing_changes(
    lab: Lab, make: Callable[[Lab, Path], None], named: str, hint: str
) -> None:
    root = lab.checkout()
    make(lab, root)
    before, refs = snapshot(root), lab.git(root, "for-each-ref")
    status = lab.git(root, "status", "--porcelain")
    worktree = open_worktree(root, SGLANG)
    with pytest.raises(RefusedError, match=named) as caught:
        write(worktree, lab.series(), commit=True, branch=BRANCH)
    assert caught.value.exit_code is ExitCode.USAGE
    assert hint in str(caught.value.hint)
    assert (snapshot(root), lab.git(root, "for-each-ref")) == (before, refs)
    assert lab.git(root, "status", "--porcelain") == status
    assert read_applied(open_worktree(root, SGLANG)) is None


def test_every_blocker_is_named_at_once(lab: Lab) -> None:
    root = lab.checkout()
    _unmerged(lab, root)
    _edit(root, A)
    _bisect(lab, root)
    with pytest.raises(RefusedError, match=r"bisect.*pyproject\.toml.*a\.py"):
        write(open_worktree(root, SGLANG), lab.series(), commit=True, branch=BRANCH)


@pytest.mark.parametrize("commit", [False, True])
def test_staged_changes_of_other_files_stay_staged(lab: Lab, commit: bool) -> None:
    root = lab.checkout()
    _staged_other(lab, root)
    assert write(open_worktree(root, SGLANG), lab.series(), commit=commit, branch=BRANCH).changed == (A, B)
    assert lab.git(root, "diff", "--cached", "--name-only") == OTHER
    assert OTHER not in lab.git(root, "log", "--format=", "--name-only", "main..HEAD").split()
    unapply(open_worktree(root, SGLANG))
    assert lab.git(root, "diff", "--cached", "--name-only") == OTHER


def test_worktrees_of_one_clone_at_one_commit_have_branches_of_their_own(lab: Lab, tmp_path: Path) -> None:
    root, linked = lab.checkout(), tmp_path / "linked"
    lab.git(root, "worktree", "add", "-q", "--detach", str(linked))
    names = [
        write(open_worktree(each, SGLANG), lab.series(), commit=True, branch=BRANCH).branch for each in (root, linked)
    ]
    assert names == [BRANCH, f"{BRANCH}@1"]
    for each in (root, linked):
        assert write(open_worktree(each, SGLANG), lab.series(), commit=True, branch=BRANCH).unchanged
    unapply(open_worktree(root, SGLANG))
    assert lab.git(root, "branch", "--show-current") == "main"
    assert lab.git(linked, "status", "--porcelain", "--branch") == f"## {BRANCH}@1"
    assert write(open_worktree(linked, SGLANG), lab.series(), commit=True, branch=BRANCH).unchanged
    unapply(open_worktree(linked, SGLANG))
    assert lab.git(root, "branch", "--format=%(refname:short)", "--list", "patchtool/*") == ""


def test_a_branch_that_another_worktree_stands_on_is_left_to_it(lab: Lab, tmp_path: Path) -> None:
    root, linked = lab.checkout(), tmp_path / "linked"
    write(open_worktree(root, SGLANG), lab.series(), commit=True, branch=BRANCH)
    lab.git(root, "worktree", "add", "-q", "--force", str(linked), BRANCH)
    unapply(open_worktree(root, SGLANG))
    assert lab.git(linked, "status", "--porcelain", "--branch") == f"## {BRANCH}"


def test_file_with_only_a_new_modification_time_does_not_block(lab: Lab) -> None:
    root = lab.checkout()
    os.utime(root / A, (1, 1))
    assert write(open_worktree(root, SGLANG), lab.series(), commit=True, branch=BRANCH).changed == (A, B)


@pytest.mark.parametrize(
    "path",
    [
        "python/sglang/../../out.py",
        "/etc/passwd",
        "python/sglang/.git/config",
        "README.md",
        "python/setup.py",
        "python",
    ],
)
def test_targets_outside_of_the_package_are_refused(lab: Lab, path: str) -> None:
    root = lab.package(lab.folder / "wheel").parent
    with pytest.raises(RefusedError, match="outside of python/sglang"):
        write(open_worktree(root, SGLANG), [patch("p", {path: b"x"})], commit=True, branch=BRANCH)
    assert not (root / ".patchtool").exists()


def test_symlink_into_a_cache_is_replaced_and_restored(lab: Lab) -> None:
    root = lab.package(lab.folder / "site-packages").parent
    file, cached = root / "sglang/srt/a.py", lab.folder / "cached.py"
    file.rename(cached)
    file.symlink_to(cached)
    before = cached.read_bytes()
    write(open_worktree(root, SGLANG), lab.series(), commit=True, branch=BRANCH)
    assert cached.read_bytes() == before != file.read_bytes()
    assert not file.is_symlink()
    assert unapply(open_worktree(root, SGLANG)) == [A, B]
    assert file.readlink() == cached


def test_symlink_is_restored_as_a_file_where_it_leads_to_other_bytes_by_now(lab: Lab) -> None:
    root = lab.package(lab.folder / "site-packages").parent
    file, cached = root / "sglang/srt/a.py", lab.folder / "cached.py"
    file.rename(cached)
    file.symlink_to(cached)
    before = cached.read_bytes()
    write(open_worktree(root, SGLANG), lab.series(), commit=True, branch=BRANCH)
    cached.write_bytes(b"other = 1\n")
    unapply(open_worktree(root, SGLANG))
    assert (file.is_symlink(), file.read_bytes(), cached.read_bytes()) == (False, before, b"other = 1\n")


def test_symlinked_folder_in_a_plain_folder_is_refused(lab: Lab) -> None:
    root = lab.package(lab.folder / "site-packages").parent
    (root / "sglang/srt").rename(lab.folder / "cached")
    (root / "sglang/srt").symlink_to(lab.folder / "cached")
    before = snapshot(lab.folder / "cached")
    assert open_worktree(root, SGLANG).read(A), "looking works"
    with pytest.raises(RefusedError, match="symlink"):
        write(open_worktree(root, SGLANG), lab.series(), commit=True, branch=BRANCH)
    assert snapshot(lab.folder / "cached") == before


@pytest.mark.parametrize(
    ("author", "subject"),
    [
        ("no address", "s"),
        ("A <a@b>\ncommit refs/heads/main", "s"),
        ("A <a@b>", "two\nlines"),
        ("A <a@b>", " "),
    ],
)
def test_author_and_subject_cannot_inject_fast_import_commands(author: str, subject: str) -> None:
    with pytest.raises(InputError):
        PatchCommit(subject, "", author, (), {})


def test_read_only_folder_is_refused(lab: Lab) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere; the next test covers root")
    root = lab.package(lab.folder / "site-packages").parent
    (root / "sglang/srt").chmod(0o555)
    try:
        _assert_read_only(lab, root)
    finally:
        (root / "sglang/srt").chmod(0o755)


def test_read_only_file_system_is_refused(lab: Lab) -> None:
    root = lab.package(lab.folder / "site-packages").parent
    commands = (["mount", "--bind", str(root), str(root)], ["mount", "-o", "remount,bind,ro", str(root)])
    if os.geteuid() != 0 or any(subprocess.run(argv, check=False, capture_output=True).returncode for argv in commands):
        pytest.skip("mounting needs root and its capabilities")
    try:
        _assert_read_only(lab, root)
    finally:
        subprocess.run(["umount", str(root)], check=True)


def _assert_read_only(lab: Lab, root: Path) -> None:
    before = snapshot(root)
    worktree = open_worktree(root, SGLANG)
    assert worktree.blob_ids([A]), "looking needs no right to write"
    with pytest.raises(RefusedError) as caught:
        write(worktree, lab.series(), commit=True, branch=BRANCH)
    assert "--output" in str(caught.value.hint)
    assert snapshot(root) == before

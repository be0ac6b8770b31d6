"""Unapply restores the original bytes, and refuses to overwrite later work."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from patchtool.adapters.worktree import applied_state, open_worktree, read_applied, read_originals, unapply, write
from patchtool.domain.errors import EnvironmentFault, ExitCode, RefusedError
from patchtool.domain.objects import blob_id
from patchtool.emulation import PACKAGE as SGLANG
from tests.adapters.worktree.conftest import BRANCH, FILES, A, B, patch, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.adapters.worktree.conftest import Lab


def _applied(lab: Lab, *, commit: bool = True) -> Path:
    root = lab.checkout()
    write(open_worktree(root, SGLANG), lab.series(), commit=commit, branch=BRANCH)
    return root


def test_unapply_without_a_series_changes_nothing(lab: Lab) -> None:
    root = lab.checkout()
    before = snapshot(root, git=True)
    assert unapply(open_worktree(root, SGLANG)) == []
    assert snapshot(root, git=True) == before


def test_unapply_restores_original_bytes(lab: Lab) -> None:
    root = lab.checkout()
    before = snapshot(root)
    write(open_worktree(root, SGLANG), lab.series(), commit=True, branch=BRANCH)
    assert unapply(open_worktree(root, SGLANG)) == [A, B]
    assert snapshot(root) == before
    assert lab.git(root, "status", "--porcelain") == ""
    assert lab.git(root, "diff-files") == ""
    assert lab.git(root, "for-each-ref", "--format=%(refname)") == "refs/heads/main\nrefs/tags/v0.5.13"
    assert lab.git(root, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert unapply(open_worktree(root, SGLANG)) == []


@pytest.mark.parametrize("commit", [True, False])
def test_unapply_refuses_and_names_an_edited_file(lab: Lab, *, commit: bool) -> None:
    root = _applied(lab, commit=commit)
    (root / B).write_bytes(b"mine = 1\n")
    before = snapshot(root)
    worktree = open_worktree(root, SGLANG)
    applied = read_applied(worktree)
    assert applied
    assert applied_state(worktree, applied).paths == (B,)
    with pytest.raises(RefusedError, match=r"lich\.py") as caught:
        unapply(worktree)
    assert caught.value.exit_code is ExitCode.USAGE
    assert snapshot(root) == before


def test_unapply_refuses_files_reverted_on_our_branch(lab: Lab) -> None:
    root = _applied(lab)
    for change_path in (A, B):
        (root / change_path).write_bytes(FILES[change_path.removeprefix("python/")])
    with pytest.raises(RefusedError, match="edited"):
        unapply(open_worktree(root, SGLANG))


def test_unapply_refuses_commits_on_top(lab: Lab) -> None:
    root = _applied(lab)
    lab.git(root, "commit", "-q", "--allow-empty", "-m", "mine")
    worktree = open_worktree(root, SGLANG)
    applied = read_applied(worktree)
    assert applied
    assert applied_state(worktree, applied).kind == "moved"
    with pytest.raises(RefusedError, match=f"HEAD is at {BRANCH}"):
        unapply(worktree)
    assert lab.git(root, "log", "-1", "--format=%s") == "mine"


def test_unapply_refuses_when_the_previous_branch_moved(lab: Lab) -> None:
    root = _applied(lab)
    lab.git(root, "branch", "-f", "main", "HEAD~1")
    with pytest.raises(RefusedError, match="main has moved") as caught:
        unapply(open_worktree(root, SGLANG))
    assert "git switch main" in str(caught.value.hint)


def test_unapply_detaches_head_when_the_previous_branch_was_deleted(lab: Lab) -> None:
    root = _applied(lab)
    base = lab.git(root, "rev-parse", "main")
    lab.git(root, "branch", "-D", "main")
    unapply(open_worktree(root, SGLANG))
    assert lab.git(root, "rev-parse", "HEAD", "--abbrev-ref", "HEAD").split() == [base, "HEAD"]


def test_unapply_refuses_during_another_git_operation(lab: Lab) -> None:
    root = _applied(lab)
    lab.git(root, "bisect", "start")
    with pytest.raises(RefusedError, match="bisect"):
        unapply(open_worktree(root, SGLANG))


def test_series_reverted_by_the_user_is_forgotten(lab: Lab) -> None:
    root = _applied(lab)
    lab.git(root, "checkout", "-q", "main")
    assert unapply(open_worktree(root, SGLANG)) == []
    assert read_applied(open_worktree(root, SGLANG)) is None
    assert lab.git(root, "rev-parse", "--verify", BRANCH), "the user switched branches, so the branch stays"


def test_unapply_keeps_other_staged_and_untracked_files(lab: Lab) -> None:
    root = _applied(lab)
    other = root / "python/pyproject.toml"
    other.write_text("mine\n")
    lab.git(root, "add", str(other))
    (root / "notes.txt").write_text("mine\n")
    unapply(open_worktree(root, SGLANG))
    assert lab.git(root, "status", "--porcelain").split("\n") == ["M  python/pyproject.toml", "?? notes.txt"]


def test_originals_can_be_read_while_the_series_is_applied(lab: Lab) -> None:
    worktree = open_worktree(_applied(lab), SGLANG)
    applied = read_applied(worktree)
    assert applied
    assert read_originals(worktree, applied)[A] == FILES["sglang/srt/a.py"]


@pytest.mark.parametrize("damage", [b"{", b"[]", b'{"schema": 99}', b'{"schema": 1, "files": [{"path": 1}]}'])
def test_damaged_record_is_reported(lab: Lab, damage: bytes) -> None:
    worktree = open_worktree(_applied(lab), SGLANG)
    (worktree.state_dir / "applied.json").write_bytes(damage)
    with pytest.raises(EnvironmentFault, match="cannot be read") as caught:
        read_applied(worktree)
    assert "originals" in str(caught.value.hint)


def test_damaged_original_is_reported_before_any_change(lab: Lab) -> None:
    root = _applied(lab)
    worktree = open_worktree(root, SGLANG)
    applied = read_applied(worktree)
    assert applied
    (worktree.state_dir / applied.files[1].original).write_bytes(b"half of it")
    before = snapshot(root)
    with pytest.raises(EnvironmentFault, match=r"original of .*lich\.py is missing"):
        unapply(worktree)
    assert snapshot(root) == before


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        (f"originals/{blob_id(FILES['sglang/srt/a.py'])}", "../../../secret"),
        (A, "python/../../secret"),
        (A, "/etc/hostname"),
    ],
)
def test_record_with_paths_outside_of_the_tree_is_refused(lab: Lab, was: str, becomes: str) -> None:
    root = lab.package(lab.folder / "wheel").parent
    write(open_worktree(root, SGLANG), lab.series(), commit=True, branch=BRANCH)
    (lab.folder / "secret").write_bytes(b"secret")
    record = root / ".patchtool/applied.json"
    record.write_text(record.read_text().replace(f'"{was}"', f'"{becomes}"'))
    before = snapshot(root)
    with pytest.raises(RefusedError):
        unapply(open_worktree(root, SGLANG))
    assert not (root / ".patchtool/journal.json").exists()
    assert {k: v for k, v in snapshot(root).items() if not k.endswith(".pid")} == before


@pytest.mark.parametrize("restored", [A, B])
def test_files_restored_by_other_means_do_not_prevent_unapply(lab: Lab, restored: str) -> None:
    root = _applied(lab, commit=False)
    lab.git(root, "restore", "--", restored)
    worktree = open_worktree(root, SGLANG)
    applied = read_applied(worktree)
    assert applied
    assert applied_state(worktree, applied).kind == "partly"
    assert unapply(worktree) == [path for path in (A, B) if path != restored]
    assert lab.git(root, "status", "--porcelain") == ""


@pytest.mark.parametrize("restored", [A, B])
def test_files_restored_by_other_means_are_written_again(lab: Lab, restored: str) -> None:
    root = _applied(lab, commit=False)
    wanted = snapshot(root)
    lab.git(root, "restore", "--", restored)
    write(open_worktree(root, SGLANG), lab.series(), commit=False, branch=BRANCH)
    assert snapshot(root) == wanted
    assert unapply(open_worktree(root, SGLANG)) == [A, B]
    assert lab.git(root, "status", "--porcelain") == ""


TWENTY = b"".join(b"line_%d = %d\n" % (number, number) for number in range(20))


def _edited_far_away(lab: Lab, *, commit: bool) -> tuple[Path, bytes]:
    """A tree whose patched file has an edit of the user's in other lines; and that file with the edit alone."""
    root = lab.checkout()
    (root / A).write_bytes(TWENTY)
    lab.git(root, "commit", "-qam", "longer")
    series = [patch("first", {A: TWENTY.replace(b"line_2 = 2\n", b"line_2 = 'two'\nadded = 1\n")})]
    write(open_worktree(root, SGLANG), series, commit=commit, branch=BRANCH)
    mine = b"line_15 = 15  # mine\n"
    (root / A).write_bytes((root / A).read_bytes().replace(b"line_15 = 15\n", mine))
    return root, TWENTY.replace(b"line_15 = 15\n", mine)


@pytest.mark.parametrize("commit", [True, False])
def test_unapply_keeps_an_edit_of_other_lines(lab: Lab, *, commit: bool) -> None:
    root, wanted = _edited_far_away(lab, commit=commit)
    assert unapply(open_worktree(root, SGLANG)) == [A]
    assert (root / A).read_bytes() == wanted
    assert lab.git(root, "branch", "--format=%(refname:short)") == "main"
    assert lab.git(root, "status", "--porcelain") == f"M {A}", "not staged"
    assert read_applied(open_worktree(root, SGLANG)) is None
    assert not (root / ".git/patchtool/originals").exists()


def test_edit_that_is_staged_is_not_taken_along(lab: Lab) -> None:
    root, wanted = _edited_far_away(lab, commit=True)
    lab.git(root, "add", A)
    before = snapshot(root)
    with pytest.raises(RefusedError, match="and staged") as caught:
        unapply(open_worktree(root, SGLANG))
    assert snapshot(root) == before
    subprocess.run(str(caught.value.hint).partition(";")[0], shell=True, check=True)
    assert unapply(open_worktree(root, SGLANG)) == [A]
    assert (root / A).read_bytes() == wanted


@pytest.mark.parametrize("commit", [True, False])
def test_commands_of_a_refused_unapply_lead_on(lab: Lab, *, commit: bool) -> None:
    root = _applied(lab, commit=commit)
    edits = {A: b"def alpha():\n    return 11\n", B: b"mine = 1\n"}
    for path, edit in edits.items():
        (root / path).write_bytes(edit)
    for path in edits:
        with pytest.raises(RefusedError, match="in lines of the series") as caught:
            unapply(open_worktree(root, SGLANG))
        move, copy, _ = str(caught.value.hint).split("; ")
        subprocess.run(f"{move} && {copy}", shell=True, check=True)
        assert (root / f"{path}.edited").read_bytes() == edits[path]
    assert unapply(open_worktree(root, SGLANG)) == [A, B]
    assert {path: (root / path).read_bytes() for path in (A, B)} == {
        path: FILES[path.removeprefix("python/")] for path in (A, B)
    }


def _commit_on_top(lab: Lab, root: Path) -> None:
    (root / "own.txt").write_text("own\n")
    lab.git(root, "add", "own.txt")
    lab.git(root, "commit", "-q", "-m", "mine")


def _amend(lab: Lab, root: Path) -> None:
    lab.git(root, "commit", "-q", "--amend", "-m", "mine")


MOVES: dict[str, Callable[[Lab, Path], object]] = {
    "own-commit-on-top": _commit_on_top,
    "amended": _amend,
    "branch-renamed": lambda lab, root: lab.git(root, "branch", "-m", "mine"),
    "another-branch": lambda lab, root: lab.git(root, "switch", "-q", "-c", "mine"),
    "detached": lambda lab, root: lab.git(root, "switch", "-q", "--detach"),
    "reset-soft": lambda lab, root: lab.git(root, "reset", "-q", "--soft", "HEAD~1"),
    "reset-mixed": lambda lab, root: lab.git(root, "reset", "-q", "main"),
    "previous-branch-moved": lambda lab, root: lab.git(
        root, "branch", "-f", "main", lab.git(root, "commit-tree", "-p", "main", "-m", "mine", "main^{tree}")
    ),
}


@pytest.mark.parametrize("move", MOVES)
def test_commands_of_an_unapply_that_is_refused_because_git_moved_lead_on(
    lab: Lab, move: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pristine = lab.checkout()
    before = snapshot(pristine)
    root = pristine.rename(lab.folder / "it's a tree")
    write(open_worktree(root, SGLANG), lab.series(), commit=True, branch=BRANCH)
    MOVES[move](lab, root)
    with pytest.raises(RefusedError) as caught:
        unapply(open_worktree(root, SGLANG))
    commands, _, again = str(caught.value.hint).rpartition(": ")[2].partition(" && patchtool ")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Person")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "person@example.org")
    subprocess.run(commands, shell=True, check=True, capture_output=True)
    unapply(open_worktree(root, SGLANG))
    assert read_applied(open_worktree(root, SGLANG)) is None
    after = snapshot(root)
    assert again == "" or after == before
    assert {name: after.get(name) for name in (A, B)} == {name: before.get(name) for name in (A, B)}
    assert lab.git(root, "status", "--porcelain") == ""


def test_edit_that_was_taken_along_to_another_branch_is_an_edit_of_its_files(lab: Lab) -> None:
    root = _applied(lab)
    lab.git(root, "checkout", "-q", "main")
    (root / A).write_bytes((root / A).read_bytes() + b"mine = 1\n")
    worktree = open_worktree(root, SGLANG)
    applied = read_applied(worktree)
    assert applied
    assert applied_state(worktree, applied).kind == "reverted"
    unapply(worktree)
    assert (root / A).read_bytes().endswith(b"mine = 1\n")

"""The series as commits of a branch that the person names, in their clone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.small_git import GitUpstream
from tests.commands.small_upstream import CACHE, DENSE, SOURCE, SmallUpstream
from tests.commands.test_git_upstream import LANDED, OTHER, pin
from tests.commands.trees import git

GIT = shutil.which("git")
SERIES = ["cache: dense", "cache: tracking"]


@pytest.fixture
def served(upstream: SmallUpstream) -> GitUpstream:
    """Upstream with the tags v1.0, which is pinned, and v1.1, which has half of the series."""
    served = GitUpstream(upstream.folder / "upstream.git")
    files: dict[str, str | None] = {CACHE: SOURCE, OTHER: "other = 1\n", "python/sglang/srt/__init__.py": ""}
    served.commit(files, "one", tag="v1.0")
    served.commit({CACHE: LANDED}, "two", tag="v1.1")
    pin(upstream, served)
    return served


@pytest.fixture
def clone(upstream: SmallUpstream, served: GitUpstream, tmp_path: Path) -> Path:
    return make_clone(served, tmp_path / "clone")


def make_clone(served: GitUpstream, folder: Path, *options: str) -> Path:
    git(folder.parent, "clone", "-q", *options, served.url, folder.name)
    git(folder, "checkout", "-q", "-B", "work", "v1.0")
    return folder


def state(tree: Path) -> tuple[str, ...]:
    """All that a run on another branch must leave alone."""
    return git(tree, "rev-parse", "--symbolic-full-name", "HEAD"), git(tree, "rev-parse", "HEAD"), *files(tree)


def files(tree: Path) -> tuple[str, str]:
    return git(tree, "status", "--porcelain"), git(tree, "diff", "HEAD")


def subjects(tree: Path, branch: str, base: str = "v1.0") -> list[str]:
    return git(tree, "log", "--reverse", "--format=%s", f"{base}..{branch}").splitlines()


def own_commit(tree: Path, name: str, text: str, subject: str) -> str:
    (tree / name).write_text(text)
    git(tree, "add", name)
    git(tree, "commit", "-qm", subject)
    return git(tree, "rev-parse", "HEAD")


def edit_series(upstream: SmallUpstream) -> None:
    """A later version of the second patch."""
    file = upstream.project / "patches/tracking/codemod.py"
    file.write_text(file.read_text().replace("# tracked rows first", "# the tracked rows come first"))


def test_new_branch_begins_at_head_and_the_checkout_stays(upstream: SmallUpstream, clone: Path) -> None:
    (clone / CACHE).write_text("# an edit that is not committed\n")
    (clone / "notes.txt").write_text("mine\n")
    before = state(clone)
    done = upstream.run("apply", "--tree", str(clone), "--onto", "npu/patched", "--json")
    assert (done.code, done.states()) == (0, {"dense": "applied", "tracking": "applied"}), done.err
    assert state(clone) == before
    assert subjects(clone, "npu/patched") == SERIES
    document = done.document
    assert document["branches"] == ["npu/patched"]
    assert document["result"]["commit"] == git(clone, "rev-parse", "npu/patched")
    assert document["result"]["tree"] == git(clone, "rev-parse", "npu/patched^{tree}")
    assert git(clone, "fsck", "--strict") == ""


def test_commits_are_those_of_every_other_way_to_apply(
    upstream: SmallUpstream, served: GitUpstream, clone: Path, tmp_path: Path
) -> None:
    assert upstream.run("apply", "--tree", str(clone), "--onto", "one").code == 0
    other = make_clone(served, tmp_path / "other", "--no-local", "--depth=2", "--branch=v1.0")
    assert upstream.run("apply", "--tree", str(other), "--onto", "two").code == 0
    assert upstream.run("apply", "--tree", str(other)).code == 0
    tips = {git(clone, "rev-parse", "one"), git(other, "rev-parse", "two"), git(other, "rev-parse", "HEAD")}
    assert len(tips) == 1
    dates = git(clone, "log", "-2", "--format=%ad %cd", "one").splitlines()
    assert set(dates) == {git(clone, "log", "-1", "--format=%cd %cd", "v1.0")}
    assert "nothing to do" in upstream.run("apply", "--tree", str(clone), "--onto", "one").out


def test_branch_is_fast_forwarded(upstream: SmallUpstream, clone: Path) -> None:
    git(clone, "switch", "-q", "-c", "mine")
    own = own_commit(clone, "own.txt", "own\n", "own")
    git(clone, "switch", "-q", "work")
    before = state(clone)
    done = upstream.run("apply", "--tree", str(clone), "--onto", "mine", "--json")
    assert done.code == 0, done.err
    assert state(clone) == before
    assert subjects(clone, "mine") == ["own", *SERIES]
    assert git(clone, "rev-parse", "mine~2") == own
    assert git(clone, "branch", "--list", "mine@*") == ""


def test_patch_that_the_series_gained_is_a_further_commit(upstream: SmallUpstream, clone: Path) -> None:
    assert upstream.run("apply", "--tree", str(clone), "--onto", "mine", "--only", "dense").code == 0
    first = git(clone, "rev-parse", "mine")
    assert upstream.run("apply", "--tree", str(clone), "--onto", "mine").code == 0
    assert git(clone, "rev-parse", "mine~1") == first
    assert git(clone, "branch", "--list", "mine*").split() == ["mine"]


@pytest.mark.parametrize("checked_out", [False, True], ids=["elsewhere", "checked-out"])
def test_replace_exchanges_an_older_series_and_keeps_own_commits(
    upstream: SmallUpstream, clone: Path, checked_out: bool
) -> None:
    assert upstream.run("apply", "--tree", str(clone), "--onto", "mine").code == 0
    git(clone, "switch", "-q", "mine")
    own_commit(clone, "own.txt", "own\n", "own file")
    text = (clone / CACHE).read_text()
    old = own_commit(clone, CACHE, text.replace('"""A cache of rows."""', '"""A cache."""'), "own line")
    if not checked_out:
        git(clone, "switch", "-q", "work")
    before = state(clone)
    edit_series(upstream)
    refused = upstream.run("apply", "--tree", str(clone), "--onto", "mine")
    assert (refused.code, "--replace exchanges them" in refused.err) == (2, True), refused.err
    assert (state(clone), git(clone, "rev-parse", "mine")) == (before, old)
    done = upstream.run("apply", "--tree", str(clone), "--onto", "mine", "--replace", "--json")
    assert done.code == 0, done.err
    assert done.document["branches"] == ["mine", "mine@1"]
    assert git(clone, "rev-parse", "mine@1") == old
    assert subjects(clone, "mine") == [*SERIES, "own file", "own line"]
    content = git(clone, "show", f"mine:{CACHE}")
    assert '"""A cache."""' in content
    assert "# the tracked rows come first" in content
    form = "--format=%an %ae %ad %cn %cd %B"
    assert git(clone, "log", "-1", form, "mine") == git(clone, "log", "-1", form, old)
    assert "the tracked rows come first" in done.document["range_diff"]
    if checked_out:
        assert files(clone) == ("", "")
        assert git(clone, "symbolic-ref", "HEAD") == "refs/heads/mine"
    else:
        assert state(clone) == before
    again = upstream.run("apply", "--tree", str(clone), "--onto", "mine", "--replace")
    assert "nothing to do" in again.out
    assert git(clone, "branch", "--list", "mine@*").split() == ["mine@1"]


def test_own_commit_in_the_way_changes_nothing_and_the_way_on_works(upstream: SmallUpstream, clone: Path) -> None:
    assert upstream.run("apply", "--tree", str(clone), "--onto", "mine").code == 0
    git(clone, "switch", "-q", "mine")
    text = (clone / CACHE).read_text()
    old = own_commit(clone, CACHE, text.replace("# tracked rows first", "# mine first"), "another comment")
    git(clone, "switch", "-q", "work")
    edit_series(upstream)
    done = upstream.run("apply", "--tree", str(clone), "--onto", "mine", "--replace", "--json")
    assert done.code == 1, done.err
    assert (git(clone, "rev-parse", "mine"), git(clone, "branch", "--list", "mine@*")) == (old, "")
    note = next(note for note in done.document["notes"] if note.startswith("own commits on mine"))
    branch, apply, rebase = note.partition(": ")[2].split(" && ")
    git(clone, *branch.split()[3:])
    assert upstream.run(*apply.split()[1:]).code == 0
    assert rebase.split()[3:5] == ["rebase", "--onto"]
    assert subjects(clone, rebase.split()[5]) == SERIES


def test_branch_that_is_checked_out_moves_with_its_files(upstream: SmallUpstream, clone: Path) -> None:
    (clone / "untracked.txt").write_text("mine\n")
    done = upstream.run("apply", "--tree", str(clone), "--onto", "work")
    assert done.code == 0, done.err
    assert files(clone) == ("?? untracked.txt", "")
    assert subjects(clone, "work") == SERIES
    assert git(clone, "symbolic-ref", "HEAD") == "refs/heads/work"
    status = upstream.run("status", "--tree", str(clone), "--json")
    assert (status.code, status.states()) == (0, {"dense": "applied", "tracking": "applied"})
    assert "nothing to do" in upstream.run("apply", "--tree", str(clone), "--onto", "work").out


@pytest.mark.parametrize("change", ["edited", "staged", "another-file"])
def test_branch_that_is_checked_out_with_changes_is_refused(upstream: SmallUpstream, clone: Path, change: str) -> None:
    (clone / (OTHER if change == "another-file" else CACHE)).write_text("mine = 1\n")
    if change == "staged":
        git(clone, "add", CACHE)
    before = state(clone)
    refused = upstream.run("apply", "--tree", str(clone), "--onto", "work")
    assert (refused.code, "has changes" in refused.err, "hint:" in refused.err) == (2, True, True), refused.err
    assert state(clone) == before


def test_patch_that_left_the_series_has_no_commit_any_more(upstream: SmallUpstream, clone: Path) -> None:
    assert upstream.run("apply", "--tree", str(clone), "--onto", "work").code == 0
    for skipped, left in ((("dense",), ["cache: tracking"]), (("dense", "tracking"), [])):
        options = [word for name in skipped for word in ("--skip", name)]
        done = upstream.run("apply", "--tree", str(clone), "--onto", "work", "--replace", *options)
        assert done.code == 0, done.err
        assert subjects(clone, "work") == left
        assert files(clone) == ("", "")
    assert (clone / CACHE).read_text() == SOURCE


def test_new_branch_of_a_head_that_has_an_older_series(upstream: SmallUpstream, clone: Path) -> None:
    assert upstream.run("apply", "--tree", str(clone)).code == 0
    before = state(clone)
    edit_series(upstream)
    assert "HEAD has the commits of another series" in upstream.run("apply", "--tree", str(clone), "--onto", "new").err
    done = upstream.run("apply", "--tree", str(clone), "--onto", "new", "--replace")
    assert done.code == 0, done.err
    assert subjects(clone, "new") == SERIES
    assert "# the tracked rows come first" in git(clone, "show", f"new:{CACHE}")
    assert state(clone) == before


def test_conflict_and_dry_run_write_nothing(upstream: SmallUpstream, clone: Path) -> None:
    before = git(clone, "for-each-ref")
    done = upstream.run("apply", "--tree", str(clone), "--onto", "mine", "--dry-run", "--diff")
    assert (done.code, "+++ b/" + CACHE in done.out, "--dry-run" in done.out) == (0, True, True)
    dense = upstream.project / "patches/dense/codemod.py"
    dense.write_text(DENSE.replace("self.table[TOTAL_:] = 0", "self.table[TOTAL_:] = 7"))
    conflict = upstream.run("apply", "--tree", str(clone), "--onto", "mine")
    assert (conflict.code, "nothing was written" in conflict.out) == (3, True)
    assert git(clone, "for-each-ref") == before


def test_branch_of_another_release_is_refused_unless_forced(upstream: SmallUpstream, clone: Path) -> None:
    git(clone, "branch", "next", "v1.1")
    refused = upstream.run("apply", "--tree", str(clone), "--onto", "next")
    assert (refused.code, "next is on v1.1, the pin is v1.0" in refused.err) == (2, True), refused.err
    assert upstream.run("apply", "--tree", str(clone), "--onto", "next", "--force").code == 0
    assert subjects(clone, "next", "v1.1") == ["cache: tracking"]


@pytest.mark.parametrize("operation", ["worktree", "rebase", "bisect"])
def test_branch_that_is_in_use_is_refused(upstream: SmallUpstream, clone: Path, tmp_path: Path, operation: str) -> None:
    git(clone, "switch", "-q", "-c", "mine")
    own_commit(clone, OTHER, "other = 2\n", "own")
    if operation == "worktree":
        git(clone, "switch", "-q", "work")
        git(clone, "worktree", "add", "-q", str(tmp_path / "linked"), "mine")
    elif operation == "bisect":
        git(clone, "bisect", "start", "mine", "v1.0")
        git(clone, "checkout", "-q", "--detach", "v1.0")
    else:
        git(clone, "switch", "-q", "work")
        own_commit(clone, OTHER, "other = 3\n", "mainline")
        with pytest.raises(Exception, match="rebase"):
            git(clone, "rebase", "work", "mine")
    before = git(clone, "for-each-ref")
    refused = upstream.run("apply", "--tree", str(clone), "--onto", "mine")
    assert (refused.code, "hint:" in refused.err) == (2, True), refused.err
    assert git(clone, "for-each-ref") == before
    assert upstream.run("apply", "--tree", str(clone), "--onto", "another", "--force").code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--tree", "TREE", "--onto", "a..b"), "not a name of a branch"),
        (("--tree", "TREE", "--onto", "-x"), "not a name of a branch"),
        (("--tree", "TREE", "--onto", "work/deeper"), "in the way"),
        (("--tree", "TREE", "--replace"), "--replace needs --onto"),
        (("--onto", "mine"), "--onto needs --tree"),
        (("--tree", "TREE", "--onto", "mine", "--no-commit"), "exclude each other"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value[2:]),
)
def test_what_cannot_be_meant_is_refused(
    upstream: SmallUpstream, clone: Path, options: tuple[str, ...], words: str
) -> None:
    before = git(clone, "for-each-ref")
    refused = upstream.run("apply", *(str(clone) if option == "TREE" else option for option in options))
    assert (refused.code, words in refused.err, "hint:" in refused.err) == (2, True, True), refused.err
    assert git(clone, "for-each-ref") == before


def test_folder_that_is_no_clone_is_refused(upstream: SmallUpstream, clone: Path, tmp_path: Path) -> None:
    shutil.copytree(clone / "python", tmp_path / "site")
    refused = upstream.run("apply", "--tree", str(tmp_path / "site"), "--onto", "mine")
    assert (refused.code, "is no git checkout that has sglang" in refused.err) == (2, True), refused.err
    assert f"hint: patchtool apply --tree {tmp_path / 'site'} edits" in refused.err


def test_apply_without_a_branch_names_the_way_to_exchange_the_series(upstream: SmallUpstream, clone: Path) -> None:
    assert upstream.run("apply", "--tree", str(clone), "--onto", "work").code == 0
    edit_series(upstream)
    refused = upstream.run("apply", "--tree", str(clone))
    assert (refused.code, f"patchtool apply --tree {clone} --onto work --replace" in refused.err) == (2, True)
    assert upstream.run("apply", "--tree", str(clone), "--onto", "work", "--replace").code == 0
    assert set(upstream.run("status", "--tree", str(clone), "--json").states().values()) == {"applied"}


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="no OpenSSH")
def test_commits_are_signed_where_the_persons_git_signs_and_stay_as_they_are(
    upstream: SmallUpstream, clone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    (tmp_path / "allowed").write_text(f"* {key.with_suffix('.pub').read_text()}")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    settings = {
        "gpg.format": "ssh",
        "user.signingKey": f"{key}.pub",
        "gpg.ssh.allowedSignersFile": str(tmp_path / "allowed"),
        "commit.gpgSign": "true",
    }
    for name, value in settings.items():
        git(clone, "config", "--global", name, value)
    assert upstream.run("apply", "--tree", str(clone), "--onto", "mine", "--only", "dense").code == 0
    first = git(clone, "rev-parse", "mine")
    assert upstream.run("apply", "--tree", str(clone), "--onto", "mine").code == 0
    assert git(clone, "rev-parse", "mine~1") == first
    git(clone, "verify-commit", "mine", "mine~1")
    tip = git(clone, "rev-parse", "mine")
    assert "nothing to do" in upstream.run("apply", "--tree", str(clone), "--onto", "mine").out
    assert git(clone, "rev-parse", "mine") == tip


def test_git_that_dies_while_it_is_written_to_is_told(upstream: SmallUpstream, clone: Path, tmp_path: Path) -> None:
    assert upstream.run("apply", "--tree", str(clone), "--onto", "patched", "--dry-run").code == 0
    folder = tmp_path / "programs"
    folder.mkdir()
    program = folder / "git"
    # GitPython keeps this git running, and gives it one name after another.
    program.write_text(f'#!/bin/sh\ncase "$GIT_DIR$*" in /*" cat-file --batch"*) exit 0;; esac\nexec {GIT} "$@"\n')
    program.chmod(0o755)
    places = ("-C", str(upstream.project), "--store", str(upstream.folder / "store"))
    done = subprocess.run(
        [sys.executable, "-m", "patchtool", *places, "apply", "--tree", str(clone), "--onto", "patched"],
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 4
    assert "ended too early" in done.stderr or "GitPython cannot commit" in done.stderr
    assert git(clone, "branch", "--list", "patched") == ""

"""Carrying the series' branch of a clone to another commit of upstream."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.small_git import GitUpstream
from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream
from tests.commands.test_git_history import BROKEN
from tests.commands.test_git_upstream import LANDED, OTHER
from tests.commands.trees import git


@pytest.fixture
def clone(upstream: SmallUpstream, tmp_path: Path) -> Path:
    """A clone at v1.0, where the series is applied; v1.1 has half of it, v1.2 breaks it, v1.3 is a later commit."""
    served = GitUpstream(upstream.folder / "upstream.git")
    served.commit({CACHE: SOURCE, "python/sglang/srt/__init__.py": ""}, "one", tag="v1.0")
    served.commit({CACHE: LANDED, OTHER: "other = 1\n"}, "two", tag="v1.1")
    served.commit({CACHE: BROKEN}, "three", tag="v1.2")
    served.commit({CACHE: SOURCE + "# later\n", OTHER: "other = 2\n"}, "four", tag="v1.3")
    git(tmp_path, "clone", "-q", served.url, "clone")
    tree = tmp_path / "clone"
    git(tree, "checkout", "-q", "-B", "work", "v1.0")
    assert upstream.run("apply", "--tree", str(tree)).code == 0
    return tree


def subjects(tree: Path, branch: str, base: str) -> list[str]:
    return git(tree, "log", "--reverse", "--format=%s", f"{base}..{branch}").splitlines()


def test_series_is_committed_on_the_new_upstream_and_nothing_else_changes(upstream: SmallUpstream, clone: Path) -> None:
    (clone / "notes.txt").write_text("mine\n")
    before = git(clone, "rev-parse", "HEAD", "patchtool/v1.0"), git(clone, "status", "--porcelain")
    done = upstream.run("rebase", "--tree", str(clone), "--to", "v1.3", "--json")
    assert (done.code, done.states()) == (0, {"dense": "applied", "tracking": "applied"}), done.err
    assert subjects(clone, "patchtool/v1.3", "v1.3") == ["cache: dense", "cache: tracking"]
    assert (git(clone, "rev-parse", "HEAD", "patchtool/v1.0"), git(clone, "status", "--porcelain")) == before
    assert done.document["written"] == ["patchtool/v1.3"]
    assert "cache: dense" in done.document["range_diff"]
    git(clone, "switch", "-q", "patchtool/v1.3")
    assert upstream.run("status", "--tree", str(clone), "--json").document["upstream"]["release"] == "v1.3"


def test_what_landed_is_left_out(upstream: SmallUpstream, clone: Path) -> None:
    done = upstream.run("rebase", "--tree", str(clone), "--to", "v1.1")
    assert done.code == 0, done.err
    assert subjects(clone, "patchtool/v1.1", "v1.1") == ["cache: tracking"]
    assert "landed" in done.out
    assert f"git -C {clone} switch patchtool/v1.1" in done.out


def test_conflict_makes_no_branch(upstream: SmallUpstream, clone: Path) -> None:
    done = upstream.run("rebase", "--tree", str(clone), "--to", "v1.2")
    assert (done.code, "no branch was made: resolve dense first" in done.out) == (3, True)
    assert git(clone, "branch", "--list", "patchtool/v1.2") == ""


def test_ids_are_the_same_in_another_clone_and_a_second_run_changes_nothing(
    upstream: SmallUpstream, clone: Path, tmp_path: Path
) -> None:
    assert upstream.run("rebase", "--tree", str(clone), "--to", "v1.3").code == 0
    tip = git(clone, "rev-parse", "patchtool/v1.3")
    again = upstream.run("rebase", "--tree", str(clone), "--to", "v1.3")
    assert "nothing to do" in again.out
    assert git(clone, "branch", "--list", "patchtool/v1.3*").split() == ["patchtool/v1.3"]
    git(tmp_path, "clone", "-q", str(upstream.folder / "upstream.git"), "other")
    git(tmp_path / "other", "checkout", "-q", "-B", "work", "v1.0")
    assert upstream.run("apply", "--tree", str(tmp_path / "other")).code == 0
    assert upstream.run("rebase", "--tree", str(tmp_path / "other"), "--to", "v1.3").code == 0
    assert git(tmp_path / "other", "rev-parse", "patchtool/v1.3") == tip


def test_branch_that_is_there_is_kept_under_the_next_free_name(upstream: SmallUpstream, clone: Path) -> None:
    first = git(clone, "rev-parse", "v1.1^{commit}")
    git(clone, "branch", "patchtool/v1.3", first)
    git(clone, "branch", "patchtool/v1.3@1", first)
    done = upstream.run("rebase", "--tree", str(clone), "--to", "v1.3")
    assert done.code == 0, done.err
    assert git(clone, "rev-parse", "patchtool/v1.3@2") == first
    assert "its earlier commits are patchtool/v1.3@2" in done.out


def own_commit(clone: Path, name: str, text: str, subject: str) -> str:
    (clone / name).write_text(text)
    git(clone, "add", name)
    git(clone, "commit", "-qm", subject)
    return git(clone, "rev-parse", "HEAD")


def test_own_commits_are_carried_with_author_date_and_message(upstream: SmallUpstream, clone: Path) -> None:
    git(clone, "switch", "-q", "-c", "mine")
    source = (clone / CACHE).read_text()
    own_commit(clone, "own.txt", "own\n", "own file")
    mine = own_commit(clone, CACHE, source.replace('"""A cache of rows."""', '"""A cache."""'), "own line")
    before = git(clone, "rev-parse", "HEAD"), git(clone, "status", "--porcelain")
    done = upstream.run("rebase", "--tree", str(clone), "--to", "v1.3", "--json")
    assert done.code == 0, done.err
    assert (git(clone, "rev-parse", "HEAD"), git(clone, "status", "--porcelain")) == before
    tip = "patchtool/v1.3"
    assert subjects(clone, tip, "v1.3") == ["cache: dense", "cache: tracking", "own file", "own line"]
    form = "--format=%an %ae %ad %cn %cd %B"
    assert git(clone, "log", "-1", form, tip) == git(clone, "log", "-1", form, mine)
    carried = git(clone, "show", f"{tip}:{CACHE}")
    assert '"""A cache."""' in carried
    assert carried.endswith("# later")
    assert "own line" in done.document["range_diff"]
    assert any("2 commits of your own on mine are on patchtool/v1.3 too" in note for note in done.document["notes"])
    git(clone, "fsck", "--strict")
    assert "nothing to do" in upstream.run("rebase", "--tree", str(clone), "--to", "v1.3").out


def test_own_commit_that_upstream_has_is_left_out(upstream: SmallUpstream, clone: Path) -> None:
    own_commit(clone, OTHER, "other = 2\n", "what upstream has")
    own_commit(clone, "own.txt", "own\n", "own")
    done = upstream.run("rebase", "--tree", str(clone), "--to", "v1.3")
    assert done.code == 0, done.err
    assert subjects(clone, "patchtool/v1.3", "v1.3") == ["cache: dense", "cache: tracking", "own"]
    assert "(what upstream has) changes nothing any more" in done.out


@pytest.mark.parametrize("kind", ["conflict", "merge"])
def test_own_commits_that_cannot_be_carried_stay_with_the_way_on(
    upstream: SmallUpstream, clone: Path, kind: str
) -> None:
    git(clone, "switch", "-q", "-c", "mine")
    own_commit(clone, "own.txt", "own\n", "own")
    if kind == "conflict":
        own_commit(clone, OTHER, "other = 3\n", "another value")
    else:
        git(clone, "switch", "-q", "-c", "side")
        own_commit(clone, "side.txt", "side\n", "side")
        git(clone, "switch", "-q", "mine")
        git(clone, "merge", "-q", "--no-ff", "-m", "merge", "side")
    done = upstream.run("rebase", "--tree", str(clone), "--to", "v1.3", "--json")
    assert done.code == 1
    assert subjects(clone, "patchtool/v1.3", "v1.3") == ["cache: dense", "cache: tracking"]
    note = next(note for note in done.document["notes"] if "of your own" in note)
    assert (f"conflicts in {OTHER}" if kind == "conflict" else "is a merge") in note
    command = note.partition(f": git -C {clone} ")[2].removesuffix(" carries them")
    if kind == "merge":
        git(clone, *command.split())
        assert subjects(clone, "mine", "v1.3")[:2] == ["cache: dense", "cache: tracking"]


@pytest.mark.parametrize(
    ("prepare", "to", "words"),
    [
        (("switch", "-q", "work"), "v1.3", "no commits of a series"),
        (("switch", "-q", "patchtool/v1.0"), "v9", "has no tag, branch or commit"),
        (("branch", "-m", "patchtool/v1.3"), "v1.3", "which would move"),
        (("branch", "patchtool/v1.3/x"), "v1.3", "is in the way"),
    ],
    ids=["no-series", "unknown", "checked-out", "in-the-way"],
)
def test_branch_that_cannot_be_made_is_refused_with_a_way_on(
    upstream: SmallUpstream, clone: Path, prepare: tuple[str, ...], to: str, words: str
) -> None:
    git(clone, *prepare)
    before = git(clone, "for-each-ref")
    refused = upstream.run("rebase", "--tree", str(clone), "--to", to)
    assert (refused.code, words in refused.err, "hint:" in refused.err) == (2, True, True), refused.err
    assert git(clone, "for-each-ref") == before


def test_dry_run_and_linked_worktrees(upstream: SmallUpstream, clone: Path, tmp_path: Path) -> None:
    before = git(clone, "for-each-ref")
    assert upstream.run("rebase", "--tree", str(clone), "--to", "v1.3", "--dry-run").code == 0
    assert git(clone, "for-each-ref") == before
    git(clone, "switch", "-q", "work")
    git(clone, "worktree", "add", "-q", str(tmp_path / "linked"), "patchtool/v1.0")
    assert upstream.run("rebase", "--tree", str(tmp_path / "linked"), "--to", "v1.3").code == 0
    assert subjects(clone, "patchtool/v1.3", "v1.3") == ["cache: dense", "cache: tracking"]


@pytest.mark.parametrize("kept", ["blob:none", "tree:0"])
def test_partial_clone_lacks_the_files_of_the_target_until_git_brings_them(
    upstream: SmallUpstream, clone: Path, tmp_path: Path, kept: str
) -> None:
    git(
        tmp_path,
        "clone",
        "-q",
        "--filter=blob:none",
        "--branch=v1.0",
        (upstream.folder / "upstream.git").as_uri(),
        "partial",
    )
    partial = tmp_path / "partial"
    git(partial, "checkout", "-q", "-B", "work", "v1.0")
    assert upstream.run("apply", "--tree", str(partial)).code == 0
    refused = upstream.run("rebase", "--tree", str(partial), "--to", "v1.3")
    assert (refused.code, "is a partial clone, without files of v1.3" in refused.err) == (2, True), refused.err
    git(partial, "switch", "-q", "--detach", "v1.3")
    git(partial, "switch", "-q", "-")
    assert upstream.run("rebase", "--tree", str(partial), "--to", "v1.3").code == 0

"""A person's clone or installation where the pin is a commit, and trees that say no release."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.commands.small_git import GitUpstream
from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream
from tests.commands.test_git_upstream import LANDED, OTHER, pin
from tests.commands.trees import git, unpack


@pytest.fixture
def repository(upstream: SmallUpstream) -> GitUpstream:
    """A tag, and two commits after it of which the first is pinned as `main~1`."""
    served = GitUpstream(upstream.folder / "upstream.git")
    files: dict[str, str | None] = {CACHE: SOURCE, OTHER: "other = 1\n", "python/sglang/srt/__init__.py": ""}
    served.commit(files, "first (#1)", tag="v1.0")
    served.commit({OTHER: "other = 2\n"}, "second (#2)")
    served.commit({CACHE: LANDED}, "third (#3)")
    pin(upstream, served, "main~1", "main~1")
    return served


def clone(repository: GitUpstream, folder: Path, *options: str, at: str = "main~1") -> Path:
    commit = repository.git("rev-parse", at)
    git(folder, "clone", "-q", "--no-checkout", *options, repository.url, "clone")
    git(folder / "clone", "checkout", "-q", "-B", "work", commit)
    return folder / "clone"


def test_clone_at_the_pinned_commit_is_the_pin(
    upstream: SmallUpstream, repository: GitUpstream, tmp_path: Path
) -> None:
    tree = clone(repository, tmp_path)
    assert upstream.run("refresh").code == 0
    status = upstream.run("status", "--tree", str(tree), "--json")
    assert status.document["upstream"]["release"] == f"main~1@{repository.git('rev-parse', 'main~1')}"
    applied = upstream.run("apply", "--tree", str(tree), "--json")
    assert applied.code == 0, applied.err
    assert git(tree, "rev-parse", "--abbrev-ref", "HEAD") == f"patchtool/{repository.git('rev-parse', 'main~1')[:12]}"
    again = upstream.run("apply", "--tree", str(tree))
    assert "nothing to do" in again.out
    assert upstream.run("unapply", "--tree", str(tree)).code == 0
    assert git(tree, "status", "--porcelain") == ""


def test_same_input_gives_the_same_commits_in_every_clone_and_in_the_output(
    upstream: SmallUpstream, repository: GitUpstream, tmp_path: Path
) -> None:
    tips = set()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        tree = clone(repository, tmp_path / name)
        assert upstream.run("apply", "--tree", str(tree)).code == 0
        tips.add(git(tree, "rev-parse", "HEAD"))
    assert upstream.run("apply", "--output", str(tmp_path / "out")).code == 0
    tips.add(git(tmp_path / "out", "rev-parse", "HEAD"))
    assert len(tips) == 1


@pytest.mark.parametrize(
    "options",
    [("--depth=3",), ("--filter=blob:none",), ("--filter=tree:0",), ("--sparse",), ("--shared",)],
    ids=lambda options: options[0],
)
def test_clone_of_another_kind_is_patched(
    upstream: SmallUpstream, repository: GitUpstream, tmp_path: Path, options: tuple[str, ...]
) -> None:
    tree = clone(repository, tmp_path, *options)
    if options == ("--sparse",):
        git(tree, "sparse-checkout", "set", "python")
    applied = upstream.run("apply", "--tree", str(tree), "--json")
    assert (applied.code, applied.states()) == (0, {"dense": "applied", "tracking": "applied"}), applied.err
    assert upstream.run("unapply", "--tree", str(tree)).code == 0
    assert git(tree, "status", "--porcelain") == ""


def test_clone_at_another_commit_is_refused_until_forced(
    upstream: SmallUpstream, repository: GitUpstream, tmp_path: Path
) -> None:
    tree = clone(repository, tmp_path, at="v1.0^{commit}")
    refused = upstream.run("apply", "--tree", str(tree))
    assert (refused.code, "the pin is main~1@" in refused.err) == (2, True)
    assert upstream.run("apply", "--tree", str(tree), "--force").code == 0


def test_tree_without_a_release_is_placed_by_its_content(
    upstream: SmallUpstream, repository: GitUpstream, tmp_path: Path
) -> None:
    assert upstream.run("refresh").code == 0
    tree = clone(repository, tmp_path)
    shutil.rmtree(tree / ".git")
    name = f"main~1@{repository.git('rev-parse', '--short=10', 'main~1')}"
    placed = upstream.run("status", "--tree", str(tree), "--json").document
    assert f"this tree says no release; all files that the series reads are those of {name}" in placed["notes"]
    assert placed["upstream"]["release"] == f"main~1@{repository.git('rev-parse', 'main~1')}"
    (tree / CACHE).write_text(SOURCE.replace("total = len(rows)", "total = rows.count"))
    placed = upstream.run("status", "--tree", str(tree), "--json").document
    assert placed["upstream"]["release"] is None
    assert any("no known release has a file" in note for note in placed["notes"])


def test_nearest_release_is_named_with_the_files_that_differ(upstream: SmallUpstream, tmp_path: Path) -> None:
    metadata = upstream.project / "patches/dense/patch.toml"
    metadata.write_text(metadata.read_text() + f'reads = ["{OTHER}"]\n')
    upstream.release("1.0", {CACHE: SOURCE, OTHER: "other = 1\n"})
    upstream.release("1.1", {CACHE: LANDED, OTHER: "other = 2\n"})
    upstream.pin("1.0")
    assert upstream.run("fetch", "1.0", "1.1").code == 0
    tree = unpack(upstream, "1.1", tmp_path / "tree")
    for info in tree.glob("*.dist-info"):
        shutil.rmtree(info)
    exact = upstream.run("status", "--tree", str(tree), "--json").document
    assert exact["upstream"]["release"] == "v1.1"
    (tree / CACHE.removeprefix("python/")).write_text(LANDED + "# local\n")
    notes = upstream.run("status", "--tree", str(tree), "--json").document["notes"]
    assert f"the nearest release by its content is v1.1; these files differ from it: {CACHE}" in notes


@pytest.mark.parametrize("version", ["1.0+npu.1", "1.1.dev1154+g1a2b3c4"])
def test_installed_build_is_the_pin_that_names_it(upstream: SmallUpstream, tmp_path: Path, version: str) -> None:
    upstream.release(version, {CACHE: SOURCE})
    upstream.pin(version)
    tree = unpack(upstream, version, tmp_path / "site-packages")
    assert upstream.run("status", "--tree", str(tree), "--json").document["upstream"]["release"] == f"v{version}"
    assert upstream.run("apply", "--tree", str(tree)).code == 0


def test_wheel_with_the_files_of_a_pinned_tag_is_the_pin(
    upstream: SmallUpstream, repository: GitUpstream, tmp_path: Path
) -> None:
    commit = pin(upstream, repository)
    assert upstream.run("fetch").code == 0
    tree = unpack(upstream, "1.0", tmp_path / "site-packages")
    status = upstream.run("status", "--tree", str(tree), "--json").document
    assert status["upstream"]["release"] == f"v1.0@{commit}"
    assert upstream.run("apply", "--tree", str(tree)).code == 0


def test_detached_head_linked_worktree_and_submodule(
    upstream: SmallUpstream, repository: GitUpstream, tmp_path: Path
) -> None:
    tree = clone(repository, tmp_path)
    git(tree, "checkout", "-q", "--detach")
    git(tree, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"), "HEAD")
    (tmp_path / "super").mkdir()
    git(tmp_path / "super", "init", "-q")
    git(tmp_path / "super", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", repository.url, "sglang")
    git(tmp_path / "super/sglang", "checkout", "-q", repository.git("rev-parse", "main~1"))
    for folder in (tree, tmp_path / "linked", tmp_path / "super/sglang"):
        before = git(folder, "rev-parse", "HEAD")
        applied = upstream.run("apply", "--tree", str(folder), "--json")
        assert (applied.code, set(applied.states().values())) == (0, {"applied"}), applied.err
        assert upstream.run("unapply", "--tree", str(folder)).code == 0
        assert (git(folder, "rev-parse", "HEAD"), git(folder, "status", "--porcelain")) == (before, "")
        if folder == tree:  # one branch of that name for both
            git(tree, "checkout", "-q", "--detach", before)


@pytest.mark.parametrize("attributes", ["", "*.py text eol=crlf\n", "* text=auto\n"], ids=["none", "crlf", "auto"])
def test_line_endings_of_a_checkout_make_no_difference(
    upstream: SmallUpstream, repository: GitUpstream, tmp_path: Path, attributes: str
) -> None:
    tree = clone(repository, tmp_path, "-c", "core.autocrlf=true")
    if attributes:
        (tree / ".git/info/attributes").write_text(attributes)
        git(tree, "rm", "-q", "--cached", "-r", ".")
        git(tree, "reset", "-q", "--hard")
    before = (tree / CACHE).read_bytes()
    assert b"\r\n" in before
    applied = upstream.run("apply", "--tree", str(tree), "--json")
    assert (applied.code, set(applied.states().values())) == (0, {"applied"}), applied.err
    assert (tree / CACHE).read_bytes().count(b"\r\n") == (tree / CACHE).read_bytes().count(b"\n")
    plain = tmp_path / "plain"
    plain.mkdir()
    assert upstream.run("apply", "--tree", str(clone(repository, plain))).code == 0
    assert git(tree, "rev-parse", "HEAD") == git(plain / "clone", "rev-parse", "HEAD")
    assert upstream.run("unapply", "--tree", str(tree)).code == 0
    assert (tree / CACHE).read_bytes() == before

"""Every kind of clone that people have: the series is written to it, the same commits everywhere, or it is refused.

A clone that is written to must have the commits of a plain one, files as git itself checks them out, and no change that
git sees. One that is refused stays as it was, and the hint leads on.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.commands.small_git import GitUpstream
from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream
from tests.commands.test_git_upstream import OTHER, pin
from tests.commands.trees import git

Kind = Callable[[GitUpstream, Path], Path]
PACKAGE = "python/sglang/__init__.py"


@pytest.fixture
def served(upstream: SmallUpstream) -> GitUpstream:
    """Upstream at v1.0, which is pinned, and a commit after it."""
    served = GitUpstream(upstream.folder / "upstream.git")
    files: dict[str, str | None] = {CACHE: SOURCE, OTHER: "other = 1\n", "docs/a.md": "a\n", ".gitignore": "*.pyc\n"}
    served.commit({**files, "python/sglang/srt/__init__.py": ""}, "one", tag="v1.0")
    served.commit({OTHER: "other = 2\n"}, "two")
    pin(upstream, served)
    return served


def cloned(*options: str, settings: dict[str, str] | None = None, then: tuple[str, ...] = ()) -> Kind:
    """A clone at v1.0, made with options and settings, in which a git command is run."""

    def make(served: GitUpstream, folder: Path) -> Path:
        named = [word for key, value in (settings or {}).items() for word in ("-c", f"{key}={value}")]
        git(folder, "clone", "-q", "--no-checkout", *named, *options, served.url, "clone")
        tree = folder / "clone"
        git(tree, "checkout", "-q", "-B", "work", "v1.0")
        if then:
            with suppress(subprocess.CalledProcessError):  # a merge that conflicts
                git(tree, *then)
        return tree

    return make


def attributes(text: str) -> Kind:
    """A clone whose files are checked out again with these attributes."""

    return lambda served, folder: with_attributes(cloned()(served, folder), text)


def with_attributes(tree: Path, text: str) -> Path:
    (tree / ".git/info/attributes").write_text(text)
    (tree / CACHE).unlink()
    git(tree, "checkout", "-q", "--", CACHE)
    return tree


def linked(*options: str) -> Kind:
    """A linked worktree of a clone."""

    def make(served: GitUpstream, folder: Path) -> Path:
        git(cloned()(served, folder), "worktree", "add", "-q", *options, str(folder / "linked"), "v1.0")
        return folder / "linked"

    return make


def submodule(served: GitUpstream, folder: Path) -> Path:
    outer = folder / "outer"
    git(folder, "init", "-q", str(outer))
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", served.url, "sglang")
    git(outer / "sglang", "checkout", "-q", "-B", "work", "v1.0")
    return outer / "sglang"


def with_submodule(served: GitUpstream, folder: Path) -> Path:
    """A clone in which the person added a submodule beside the package."""
    tree = cloned()(served, folder)
    git(tree, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", served.url, "third_party")
    return tree


def names_by_case(served: GitUpstream, folder: Path) -> Path:
    """A clone that ignores case, with a commit that has names which differ only by it."""
    tree = cloned(settings={"core.ignorecase": "true"})(served, folder)
    blob = git(tree, "rev-parse", f"HEAD:{CACHE}")
    name = CACHE.replace("cache.py", "Cache.py")
    git(tree, "-c", "core.ignorecase=false", "update-index", "--add", "--cacheinfo", f"100644,{blob},{name}")
    (tree / name).write_text(SOURCE)
    return tree


def sparse(*patterns: str, cone: bool) -> Kind:
    def make(served: GitUpstream, folder: Path) -> Path:
        tree = cloned()(served, folder)
        git(tree, "sparse-checkout", "set", "--cone" if cone else "--no-cone", *patterns)
        return tree

    return make


def conflicting(*command: str) -> Kind:
    """A clone in which a command stops at a conflict."""

    def make(served: GitUpstream, folder: Path) -> Path:
        tree = cloned()(served, folder)
        for branch, text in (("side", "other = 8\n"), ("work", "other = 9\n")):
            git(tree, "checkout", "-q", "-B", branch, "v1.0")
            (tree / OTHER).write_text(text)
            git(tree, "commit", "-qam", branch)
        with suppress(subprocess.CalledProcessError):
            git(tree, *command)
        return tree

    return make


def bare(served: GitUpstream, folder: Path) -> Path:
    git(folder, "clone", "-q", "--bare", served.url, "bare.git")
    return folder / "bare.git"


def filtered(served: GitUpstream, folder: Path) -> Path:
    """A clone whose own configuration has a filter, which is not run for a person who did not set it themselves."""
    settings = {"filter.rot.smudge": "sed s/cache/CACHE/", "filter.rot.clean": "sed s/CACHE/cache/"}
    tree = cloned(settings=settings)(served, folder)
    return with_attributes(tree, "cache.py filter=rot\n")


WORKS: dict[str, Kind] = {
    "plain": cloned(),
    "detached": cloned(then=("checkout", "-q", "--detach")),
    "linked-worktree": linked("-b", "linked"),
    "linked-detached-worktree": linked("--detach"),
    "shallow": cloned("--depth=2"),
    "shared-objects": cloned("--shared"),
    "partial-blobs": cloned("--filter=blob:none"),
    "partial-trees": cloned("--filter=tree:0"),
    "separate-git-dir": cloned("--separate-git-dir=gitdir"),
    "sparse-cone": sparse("python", cone=True),
    "sparse-cone-with-sparse-index": cloned(then=("sparse-checkout", "set", "--cone", "--sparse-index", "python")),
    "sparse-patterns": sparse("/python/", cone=False),
    "submodule": submodule,
    "with-submodule": with_submodule,
    "autocrlf": cloned(settings={"core.autocrlf": "true"}),
    "autocrlf-input": cloned(settings={"core.autocrlf": "input"}),
    "eol-crlf": attributes("*.py text eol=crlf\n"),
    "text-auto": attributes("* text=auto\n"),
    "no-text": attributes("* -text\n"),
    "encoding-of-others": attributes("docs/* working-tree-encoding=UTF-16LE\n"),
    "unknown-filter": attributes("*.py filter=lfs\n"),
    "merge-and-diff-drivers": attributes("*.py merge=union diff=python\n"),
    "ignored-case": cloned(settings={"core.ignorecase": "true"}),
    "names-by-case": names_by_case,
    "no-file-mode": cloned(settings={"core.fileMode": "false"}),
    "split-index": cloned(then=("update-index", "--split-index")),
    "index-version-4": cloned(then=("update-index", "--index-version", "4")),
    "untracked-cache": cloned(then=("update-index", "--untracked-cache")),
    "own-worktree-settings": cloned(settings={"extensions.worktreeConfig": "true"}),
    "packed-refs": cloned(then=("pack-refs", "--all", "--prune")),
}


@pytest.mark.parametrize("kind", WORKS)
def test_clone_gets_the_commits_and_files_that_git_would_give_it(
    upstream: SmallUpstream, served: GitUpstream, tmp_path: Path, kind: str
) -> None:
    tree = WORKS[kind](served, tmp_path)
    before = (tree / CACHE).read_bytes(), git(tree, "status", "--porcelain"), git(tree, "rev-parse", "HEAD")
    assert upstream.run("apply", "--output", str(tmp_path / "out")).code == 0
    expected = git(tmp_path / "out", "rev-parse", "HEAD")
    onto = upstream.run("apply", "--tree", str(tree), "--onto", "other", "--json")
    assert (onto.code, onto.states()) == (0, {"dense": "applied", "tracking": "applied"}), onto.err
    assert git(tree, "rev-parse", "other") == expected
    applied = upstream.run("apply", "--tree", str(tree), "--json")
    assert (applied.code, applied.states()) == (0, {"dense": "applied", "tracking": "applied"}), applied.err
    assert (git(tree, "rev-parse", "HEAD"), git(tree, "status", "--porcelain")) == (expected, before[1])
    written = (tree / CACHE).read_bytes()
    (tree / CACHE).unlink()
    git(tree, "checkout", "-q", "--", CACHE)
    assert (tree / CACHE).read_bytes() == written
    status = upstream.run("status", "--tree", str(tree), "--json")
    assert (status.code, set(status.states().values())) == (0, {"applied"}), status.out
    assert upstream.run("unapply", "--tree", str(tree)).code == 0
    assert ((tree / CACHE).read_bytes(), git(tree, "status", "--porcelain"), git(tree, "rev-parse", "HEAD")) == before


REFUSED: dict[str, tuple[Kind, str, tuple[str, ...]]] = {
    "sparse-cone": (sparse("docs", cone=True), "leaves out python/sglang/__init__.py", ("sparse-checkout", "add")),
    "sparse-patterns": (
        sparse("/*", "!/python/sglang/srt/cache.py", cone=False),
        "leaves out python/sglang/srt/cache.py",
        ("sparse-checkout", "add", CACHE),
    ),
    "filter": (filtered, "passes a filter or an encoding", ()),
    "encoding": (attributes("cache.py working-tree-encoding=UTF-16LE\n"), "in another encoding", ()),
    "merge": (conflicting("merge", "-q", "side"), "a merge is in progress", ("merge", "--abort")),
    "rebase": (conflicting("rebase", "-q", "side"), "a rebase is in progress", ("rebase", "--abort")),
    "cherry-pick": (conflicting("cherry-pick", "side"), "a cherry-pick is in progress", ("cherry-pick", "--abort")),
    "revert": (conflicting("revert", "--no-edit", "origin/main"), "a revert is in progress", ("revert", "--abort")),
    "bisect": (cloned(then=("bisect", "start", "HEAD")), "a bisect is in progress", ("bisect", "reset")),
    "bare": (bare, "git will not work in", ("worktree", "add")),
}
"""What is made, the reason that is told, and the command of git that leads on."""


@pytest.mark.parametrize("kind", REFUSED)
def test_clone_is_refused_with_the_reason_and_the_way_on(
    upstream: SmallUpstream, served: GitUpstream, tmp_path: Path, kind: str
) -> None:
    make, reason, command = REFUSED[kind]
    tree = make(served, tmp_path)
    before = seen(tree)
    refused = upstream.run("apply", "--tree", str(tree))
    assert (refused.code, reason in refused.err) == (2, True), refused.err + refused.out
    hint = refused.err.partition("hint: ")[2]
    assert seen(tree) == before
    if kind == "encoding":
        assert "unset its attribute working-tree-encoding" in hint
        with_attributes(tree, "")
    elif kind == "filter":
        assert "turn that attribute off" in hint
        with_attributes(tree, "")
    elif kind == "bare":
        assert f"git -C {tree} worktree add DIR COMMIT" in hint
        git(tree, "worktree", "add", "-q", str(tmp_path / "linked"), "v1.0")
        tree = tmp_path / "linked"
    else:
        assert " ".join(command) in hint.replace("--continue or ", "")
        folders = ("python/sglang",) if kind == "sparse-cone" else ()
        git(tree, *command, *folders)
    done = upstream.run("apply", "--tree", str(tree), "--force")
    assert done.code == 0, done.err


@pytest.mark.parametrize("kind", [kind for kind in REFUSED if "sparse" not in kind and kind != "bare"])
def test_branch_that_is_not_checked_out_is_made_whatever_the_files_are(
    upstream: SmallUpstream, served: GitUpstream, tmp_path: Path, kind: str
) -> None:
    tree = REFUSED[kind][0](served, tmp_path)
    git(tree, "branch", "-f", "other", "v1.0")
    before = seen(tree)
    assert upstream.run("apply", "--output", str(tmp_path / "out")).code == 0
    done = upstream.run("apply", "--tree", str(tree), "--onto", "other")
    assert done.code == 0, done.err
    assert git(tree, "rev-parse", "other") == git(tmp_path / "out", "rev-parse", "HEAD")
    git(tree, "branch", "-f", "other", "v1.0")
    assert seen(tree) == before


def test_checkout_without_a_commit_is_a_folder_of_files(
    upstream: SmallUpstream, served: GitUpstream, tmp_path: Path
) -> None:
    tree = cloned(then=("checkout", "-q", "--orphan", "fresh"))(served, tmp_path)
    before = (tree / CACHE).read_bytes(), git(tree, "for-each-ref")
    done = upstream.run("apply", "--tree", str(tree), "--json")
    assert (done.code, set(done.states().values())) == (0, {"applied"}), done.err
    assert any("git has no commit of sglang here: files are edited" in note for note in done.document["notes"])
    assert "self.table[:] = slots" in (tree / CACHE).read_text()
    assert upstream.run("apply", "--tree", str(tree), "--onto", "other").code == 2
    assert upstream.run("unapply", "--tree", str(tree)).code == 0
    assert ((tree / CACHE).read_bytes(), git(tree, "for-each-ref")) == before


def seen(tree: Path) -> tuple[str, ...]:
    """Refs, state and files of a clone."""
    if not (tree / "python").is_dir() and not (tree / "docs").is_dir():
        return (git(tree, "for-each-ref"),)
    files = sorted(str(file) for file in tree.rglob("*") if ".git" not in file.parts)
    return git(tree, "for-each-ref"), git(tree, "status", "--porcelain", "--branch"), *files

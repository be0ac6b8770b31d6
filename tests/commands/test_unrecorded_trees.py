"""Trees without a record that is acted on: what `status` tells and what `apply` and `unapply` do agree, and lead on."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.commands.test_tree_states import BOTH, NEITHER, Tree
from tests.commands.trees import git

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.commands.small_upstream import Outcome, SmallUpstream

PLAIN = ["site", "files"]
MINE = b"# mine\n"


@pytest.fixture(params=PLAIN)
def tree(request: pytest.FixtureRequest, upstream: SmallUpstream) -> Tree:
    return Tree(upstream, request.param)


def run(tree: Tree, verb: str, *options: str) -> Outcome:
    commit = ["--no-commit"] if verb == "apply" and tree.kind == "files" else []
    return tree.upstream.run(verb, "--tree", str(tree.path), *commit, *options)


def follow(tree: Tree) -> list[str]:
    """Paste what ``status`` prints into a shell until it prints nothing."""
    followed: list[str] = []
    while command := run(tree, "status", "--json").document["folder"]["next"]:
        followed.append(command)
        assert len(followed) < 6, followed
        if command.startswith("patchtool "):
            _, verb, *words = shlex.split(command)
            commit = ["--no-commit"] if tree.kind == "files" and verb == "apply" else []
            done = tree.upstream.run(verb, *words, *commit)
            assert done.code == 0, (command, done.err)
        else:
            subprocess.run(command, shell=True, check=True, capture_output=True)
    return followed


def without_release(tree: Tree) -> None:
    """A series that is applied to a release which this machine's store does not have."""
    assert tree.upstream.run("refresh").code == 0
    tree.apply()
    tree.forget()
    shutil.rmtree(tree.upstream.folder / "store")


def offline(tree: Tree) -> None:
    tree.upstream.source = ("--offline",)


def test_series_on_a_release_that_the_store_lacks_is_told_offline(tree: Tree) -> None:
    without_release(tree)
    offline(tree)
    before = tree.file.read_bytes()
    told = run(tree, "status", "--json")
    assert (told.code, told.states(), told.document["folder"]["next"]) == (0, BOTH, None)
    again = run(tree, "apply")
    assert again.code == 0
    assert "nothing to do" in again.out
    for verb, *options in (("unapply",), ("apply", "--only", "dense"), ("apply", "--skip", "dense")):
        refused = run(tree, verb, *options)
        assert refused.code == 4, verb
        assert "hint: patchtool fetch v1.0" in refused.err
    assert tree.file.read_bytes() == before


@pytest.mark.parametrize("words", ["unapply", "apply --only dense", "apply --skip dense"])
def test_release_that_the_store_lacks_is_fetched_where_only_it_tells(upstream: SmallUpstream, words: str) -> None:
    for kind in PLAIN:
        tree = Tree(upstream, kind)
        pristine = tree.file.read_bytes()
        without_release(tree)
        verb, *options = words.split()
        done = run(tree, verb, *options)
        assert done.code == 0, done.err
        kept = {"--only": ["dense"], "--skip": ["tracking"]}[options[0]] if options else []
        assert tree.status() == (1, {**NEITHER, **dict.fromkeys(kept, "applied")})
        assert run(tree, "unapply").code == 0
        assert tree.file.read_bytes() == pristine


def test_part_of_a_series_on_a_release_that_the_store_lacks_is_completed(tree: Tree) -> None:
    pristine = tree.file.read_bytes()
    assert tree.upstream.run("refresh").code == 0
    tree.apply("--only", "dense")
    tree.forget()
    shutil.rmtree(tree.upstream.folder / "store")
    assert run(tree, "apply").code == 0
    assert tree.status() == (0, BOTH)
    assert run(tree, "unapply").code == 0
    assert tree.file.read_bytes() == pristine


def test_unapply_leaves_an_edit_beside_a_series_without_a_record(tree: Tree) -> None:
    pristine = tree.file.read_bytes()
    tree.apply()
    tree.forget()
    tree.file.write_bytes(tree.file.read_bytes() + MINE)
    assert tree.status() == (0, BOTH)
    done = run(tree, "unapply")
    assert (done.code, tree.file.read_bytes()) == (0, pristine + MINE)
    assert "as you edited it, without the series" in done.out


def test_unapply_leaves_a_fix_of_which_nobody_knows_whose_it_is(upstream: SmallUpstream) -> None:
    tree = Tree(upstream, "files")
    tree.apply()
    tree.forget()
    git(tree.path, "commit", "-qam", "fixes")  # as a fork that has them
    before = tree.file.read_bytes()
    assert tree.status() == (0, dict.fromkeys(BOTH, "landed"))
    refused = run(tree, "unapply")
    assert (refused.code, tree.file.read_bytes()) == (2, before)
    assert "does not say which release it is" in refused.err


@pytest.mark.parametrize("own", [False, True], ids=["at-head", "below-own-commits"])
@pytest.mark.parametrize("copied", [shutil.copytree, None], ids=["copied", "cloned"])
def test_series_in_commits_is_not_unapplied_without_its_record(
    upstream: SmallUpstream, *, own: bool, copied: Callable[..., Path] | None
) -> None:
    tree = Tree(upstream, "clone")
    pristine = tree.file.read_bytes()
    tree.apply()
    first, tree.path = tree.path, tree.path.with_name("copy")
    if copied:
        copied(first, tree.path, symlinks=True)
    else:
        git(first, "clone", "-q", ".", str(tree.path))
    if own:
        (tree.path / "own.txt").write_text("own\n")
        git(tree.path, "add", ".")
        git(tree.path, "commit", "-qm", "own")
    assert tree.status() == (0, BOTH)
    before = git(tree.path, "rev-parse", "HEAD")
    refused = run(tree, "unapply")
    assert (refused.code, git(tree.path, "rev-parse", "HEAD")) == (2, before)
    assert ("it is a copy of" in refused.err) == bool(copied)
    command = refused.err.split("hint: ")[1].strip().removeprefix("leave them: ")
    identity = ["-c", "user.name=Person", "-c", "user.email=person@example.org"]
    subprocess.run([*shlex.split(command)[:1], *identity, *shlex.split(command)[1:]], check=True, capture_output=True)
    assert tree.file.read_bytes() == pristine
    assert (tree.path / "own.txt").exists() == own
    assert tree.status() == (1, NEITHER)


def edited(tree: Tree) -> None:
    tree.file.write_bytes(tree.file.read_bytes() + MINE)


def copied(tree: Tree) -> None:
    tree.path = shutil.copytree(tree.path, tree.path.with_name("copy"), symlinks=True)


def linked(tree: Tree) -> None:
    """A copy whose files are those of the original, as of ``rsync --link-dest``."""
    copy = tree.path.with_name("copy")
    subprocess.run(["cp", "-al", tree.path, copy], check=True)
    tree.path = copy


LOST: dict[str, list[Callable[[Tree], None]]] = {
    "forgotten": [Tree.forget],
    "forgotten-and-edited": [Tree.forget, edited],
    "copied": [copied],
    "copied-and-edited": [copied, edited],
    "linked": [linked],
}
THEN: dict[str, Callable[[Tree], None]] = {
    "nothing": lambda _tree: None,
    "patch-edited": Tree.edit_patch,
    "patch-left": Tree.drop_patch,
}


@pytest.mark.skipif(sys.platform == "win32", reason="the commands are for a POSIX shell")
@pytest.mark.parametrize("then", THEN)
@pytest.mark.parametrize("lost", LOST)
def test_commands_lead_to_the_whole_series_without_a_record(tree: Tree, lost: str, then: str) -> None:
    tree.apply()
    original = tree.path
    for step in LOST[lost]:
        step(tree)
    beside = (original / tree.file.relative_to(tree.path)).read_bytes() if tree.path != original else b""
    THEN[then](tree)
    before = run(tree, "status", "--json")
    assert (before.code == 0) == (before.document["folder"]["next"] is None)
    follow(tree)
    code, states = tree.status()
    assert (code, set(states.values())) == (0, {"applied"})
    assert (b"list(slots)" in tree.file.read_bytes()) == (then == "patch-edited")
    undone = run(tree, "unapply")
    assert undone.code == 0, undone.err
    assert set(tree.status()[1].values()) == {"not-applied"}
    assert not beside or (original / tree.file.relative_to(tree.path)).read_bytes() == beside


def test_edit_that_is_in_the_way_of_commits_is_put_aside(upstream: SmallUpstream) -> None:
    tree = Tree(upstream, "clone")
    edited(tree)
    git(tree.path, "config", "user.name", "Person")
    git(tree.path, "config", "user.email", "person@example.org")
    refused = run(tree, "apply")
    assert (refused.code, "stash push" in refused.err) == (2, True)
    assert next(command.split()[-4:-2] for command in follow(tree)) == ["stash", "push"]
    assert tree.status() == (0, BOTH)
    assert run(tree, "unapply").code == 0
    git(tree.path, "stash", "pop", "-q")
    assert tree.file.read_bytes().endswith(MINE)

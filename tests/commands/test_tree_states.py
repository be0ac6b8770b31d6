"""``status --tree`` judges the bytes on disk, and the command that it names leads on from every state."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from patchtool.domain.errors import ExitCode
from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream
from tests.commands.trees import cache_of, clone_of, git, unpack

NEWER = SOURCE.replace("A cache of rows.", "A cache of rows and columns.")
LANDED = SOURCE.replace(
    "        self.table[0:total] = slots\n        self.table[total:] = 0\n", "        self.table[:] = slots\n"
)
CONFLICTING = SOURCE.replace("self.table[total:] = 0", "self.clear(total)")
KINDS = ["site", "clone", "files"]
Life = Callable[["Tree"], None]


class Tree:
    """A folder with release 1.0, and everything that happens to it."""

    def __init__(self, upstream: SmallUpstream, kind: str) -> None:
        self.upstream, self.kind = upstream, kind
        for version, text in (("1.1", NEWER), ("1.2", LANDED), ("1.3", CONFLICTING)):
            upstream.release(version, {CACHE: text})
        upstream.run("fetch", "1.0")
        site = unpack(upstream, "1.0", upstream.folder / "site") if kind == "site" else None
        self.path = site or clone_of(upstream, "1.0", "1.1", "1.2", "1.3")

    @property
    def file(self) -> Path:
        return cache_of(self.path)

    def apply(self, *options: str) -> None:
        commit = ["--no-commit"] if self.kind == "files" else []
        done = self.upstream.run("apply", "--tree", str(self.path), *commit, *options)
        assert done.code == 0, done.err

    def status(self) -> tuple[int, dict[str, str]]:
        done = self.upstream.run("status", "--tree", str(self.path), "--json")
        return done.code, done.states()

    def upgrade(self, version: str) -> None:
        self.upstream.run("fetch", version)
        if self.kind == "site":
            unpack(self.upstream, version, self.path)
        elif self.kind == "files":
            git(self.path, "checkout", "-q", "-f", f"v{version}")
        else:
            git(self.path, "checkout", "-q", f"v{version}")

    def replace(self, old: str, new: str) -> None:
        text = self.file.read_text()
        assert old in text
        self.file.write_text(text.replace(old, new))

    @property
    def record(self) -> Path:
        return self.path / (".patchtool" if self.kind == "site" else ".git/patchtool") / "applied.json"

    def forget(self) -> None:
        """Lose the record, as an image that is built elsewhere does."""
        shutil.rmtree(self.record.parent)

    def edit_patch(self) -> None:
        codemod = self.upstream.project / "patches/dense/codemod.py"
        codemod.write_text(codemod.read_text().replace("self.table[:] = SLOTS_", "self.table[:] = list(SLOTS_)"))

    def drop_patch(self) -> None:
        (self.upstream.project / "patches/series").write_text("tracking\n")
        shutil.rmtree(self.upstream.project / "patches/dense")

    def follow(self) -> list[str]:
        """Run the command that status names, until it names none; --no-commit is added only where no record tells."""
        followed: list[str] = []
        while command := self.upstream.run("status", "--tree", str(self.path), "--json").document["folder"]["next"]:
            followed.append(command)
            assert len(followed) < 6, followed
            program, *words = shlex.split(command)
            if program == "patchtool":
                untold = self.kind == "files" and words[0] == "apply" and not self.record.exists()
                done = self.upstream.run(*words, *(["--no-commit"] if untold else []))
                assert done.code == 0, (command, done.err)
            else:
                subprocess.run([program, *words], check=True, capture_output=True)
        return followed


@pytest.fixture(params=KINDS)
def tree(request: pytest.FixtureRequest, upstream: SmallUpstream) -> Tree:
    return Tree(upstream, request.param)


def nothing(tree: Tree) -> None:
    pass


def applied(tree: Tree) -> None:
    tree.apply()


def one(tree: Tree) -> None:
    tree.apply("--only", "dense")


def forgotten(tree: Tree) -> None:
    tree.apply()
    tree.forget()


def one_forgotten(tree: Tree) -> None:
    tree.apply("--only", "tracking")
    tree.forget()


def forgotten_and_added_to(tree: Tree) -> None:
    forgotten(tree)
    tree.file.write_text(tree.file.read_text() + "# mine\n")


def taken_out(tree: Tree) -> None:
    tree.apply()
    tree.replace("self.table[:] = slots", "self.table[0:total] = slots\n        self.table[total:] = 0")
    tree.file.write_text(tree.file.read_text() + "# mine\n")


def added_to(tree: Tree) -> None:
    tree.apply()
    tree.file.write_text(tree.file.read_text() + "# mine\n")


def restored_by_hand(tree: Tree) -> None:
    pristine = tree.file.read_bytes()
    tree.apply()
    if tree.kind == "clone":
        git(tree.path, "checkout", "-q", "main")
    tree.file.write_bytes(pristine)


def older(tree: Tree) -> None:
    tree.apply()
    tree.edit_patch()


def older_and_edited(tree: Tree) -> None:
    older(tree)
    tree.file.write_text(tree.file.read_text() + "# mine\n")


def upgraded(tree: Tree) -> None:
    tree.apply()
    tree.upgrade("1.1")


def upgraded_to_landed(tree: Tree) -> None:
    tree.apply()
    tree.upgrade("1.2")


def upgraded_to_conflict(tree: Tree) -> None:
    tree.apply()
    tree.upgrade("1.3")


def branch_deleted(tree: Tree) -> None:
    tree.apply()
    if tree.kind == "clone":
        git(tree.path, "checkout", "-q", "main")
        git(tree.path, "branch", "-qD", "patchtool/v1.0")
    else:
        tree.upstream.run("unapply", "--tree", str(tree.path))


def back_on_main_with_an_edited_patch(tree: Tree) -> None:
    restored_by_hand(tree)
    tree.edit_patch()


def patch_left(tree: Tree) -> None:
    tree.apply()
    tree.drop_patch()


BOTH, NEITHER = {"dense": "applied", "tracking": "applied"}, {"dense": "not-applied", "tracking": "not-applied"}
LIVES = [
    (nothing, 1, NEITHER),
    (applied, 0, BOTH),
    (one, 1, {**BOTH, "tracking": "not-applied"}),
    (forgotten, 0, BOTH),
    (one_forgotten, 1, {**BOTH, "dense": "not-applied"}),
    (taken_out, 1, {"dense": "edited", "tracking": "edited"}),
    (added_to, 1, {"dense": "edited", "tracking": "edited"}),
    (restored_by_hand, 1, NEITHER),
    (older, 1, {**BOTH, "dense": "outdated"}),
    (older_and_edited, 1, {"dense": "edited", "tracking": "edited"}),
    (upgraded, 1, NEITHER),
    (upgraded_to_landed, 1, {**NEITHER, "dense": "landed"}),
    (upgraded_to_conflict, 3, {**NEITHER, "dense": "conflict"}),
    (branch_deleted, 1, NEITHER),
    (back_on_main_with_an_edited_patch, 1, NEITHER),
    (patch_left, 1, {"tracking": "applied"}),
]


@pytest.mark.parametrize(("life", "code", "states"), LIVES, ids=[life.__name__ for life, *_ in LIVES])
def test_states_are_those_of_the_bytes_and_lead_to_the_whole_series(
    tree: Tree, life: Life, code: int, states: dict[str, str]
) -> None:
    life(tree)
    before = tree.file.read_bytes()
    assert tree.status() == (code, states)
    assert tree.file.read_bytes() == before
    if code == ExitCode.CONFLICT:
        return
    followed = tree.follow()
    code, states = tree.status()
    assert (code, set(states.values()) <= {"applied", "landed"}) == (0, True), followed
    assert not any("--force" in command for command in followed)
    again = tree.upstream.run("apply", "--tree", str(tree.path), *(["--no-commit"] if tree.kind == "files" else []))
    assert "nothing to do" in again.out
    if tree.kind == "clone":
        assert git(tree.path, "status", "--porcelain") == ""


@pytest.mark.parametrize("life", [upgraded, upgraded_to_landed, restored_by_hand], ids=lambda life: life.__name__)
def test_unapply_drops_a_record_that_is_about_other_files(tree: Tree, life: Life) -> None:
    life(tree)
    before = tree.file.read_bytes()
    done = tree.upstream.run("unapply", "--tree", str(tree.path))
    assert done.code == 0
    assert "the record of an earlier run was dropped" in done.out
    assert tree.file.read_bytes() == before
    assert not (tree.path / ".patchtool").exists()


def test_daily_round_restores_the_newer_release(tree: Tree) -> None:
    tree.apply()
    assert tree.upstream.run("rebase", "--to", "1.1").code == 0
    tree.upgrade("1.1")
    pristine = tree.file.read_bytes()
    assert tree.status() == (1, NEITHER)
    tree.apply()
    assert tree.status() == (0, BOTH)
    assert tree.upstream.run("unapply", "--tree", str(tree.path)).code == 0
    assert tree.file.read_bytes() == pristine


@pytest.mark.parametrize(
    ("pull", "code", "state"), [("merge", 1, "edited"), ("rebase", 0, "applied")], ids=["merge", "rebase"]
)
def test_series_stays_known_when_a_newer_release_is_pulled(
    upstream: SmallUpstream, pull: str, code: int, state: str
) -> None:
    tree = Tree(upstream, "clone")
    tree.apply()
    git(tree.path, pull, "-q", "v1.1", *(["--no-edit"] if pull == "merge" else []))
    assert tree.status() == (code, dict.fromkeys(BOTH, state))
    head = git(tree.path, "rev-parse", "HEAD")
    tree.follow()
    assert tree.status()[0] == 0
    kept = "patchtool-v1.0-before" if pull == "merge" else "HEAD"
    assert git(tree.path, "rev-parse", kept) == head


@pytest.mark.parametrize("kind", KINDS)
def test_an_edit_of_one_file_leaves_the_patches_of_others_applied(upstream: SmallUpstream, kind: str) -> None:
    pool = "python/sglang/srt/pool.py"
    upstream.release("1.0", {CACHE: SOURCE, pool: SOURCE.replace("Cache", "Pool")})
    upstream.pin("1.0")
    patches = upstream.project / "patches"
    shutil.copytree(patches / "dense", patches / "pool", ignore=shutil.ignore_patterns("__pycache__"))
    for name, old, new in (("codemod.py", "Cache", "Pool"), ("patch.toml", "cache.py", "pool.py")):
        text = (patches / "pool" / name).read_text().replace(old, new)
        (patches / "pool" / name).write_text(text.replace("class Dense", "class PoolDense"))
    (patches / "series").write_text("dense\ntracking\npool\n")
    tree = Tree(upstream, kind)
    tree.apply()
    assert tree.status() == (0, {**BOTH, "pool": "applied"})
    tree.file.write_text(tree.file.read_text() + "# mine\n")
    assert tree.status() == (1, {"dense": "edited", "tracking": "edited", "pool": "applied"})


def _copied(path: Path) -> Path:
    shutil.copytree(path, path.with_name("copy"), symlinks=True)
    return path.with_name("copy")


def _moved(path: Path) -> Path:
    copy = _copied(path)
    shutil.rmtree(path)
    return copy


PLACES: dict[str, Callable[[Path], Path]] = {
    "copied": _copied,
    "moved": _moved,
    "renamed": lambda path: path.rename(path.with_name("renamed")),
    "restored": lambda path: _moved(path).rename(path),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_tree_elsewhere_has_the_series_and_gives_it_back(tree: Tree, place: str) -> None:
    original = tree.file.read_bytes()
    tree.apply()
    patched, first = tree.file.read_bytes(), tree.path
    tree.path = PLACES[place](first)
    assert tree.status() == (0, {"dense": "applied", "tracking": "applied"})
    if place != "copied":
        tree.edit_patch()
    tree.apply()  # where the record is that of another tree, it is moved away, and the series is recognised
    assert (b"list(slots)" in tree.file.read_bytes()) == (place != "copied")
    done = tree.upstream.run("unapply", "--tree", str(tree.path))
    if place == "copied":
        assert cache_of(first).read_bytes() == patched
        if tree.kind == "clone":  # its branch is left with git
            assert (done.code, tree.file.read_bytes()) == (2, patched)
            assert f"it is a copy of {first}" in done.err
            return
    assert done.code == 0, done.err
    assert tree.file.read_bytes() == original


def test_unapply_recognises_the_series_without_a_record(upstream: SmallUpstream) -> None:
    for kind in ("site", "files"):
        tree = Tree(upstream, kind)
        pristine = tree.file.read_bytes()
        tree.apply()
        tree.forget()
        done = upstream.run("unapply", "--tree", str(tree.path))
        assert (done.code, tree.file.read_bytes()) == (0, pristine)
        assert "no record was here" in done.out


def test_fix_beside_other_changes_is_told_without_a_record(tree: Tree) -> None:
    forgotten_and_added_to(tree)
    # Uncommitted, on top of the series' commits, a change is known to be one.
    edited = tree.kind == "clone"
    assert tree.status() == ((1, dict.fromkeys(BOTH, "edited")) if edited else (0, BOTH))
    assert (len(tree.follow()) > 0, tree.status()) == (edited, (0, BOTH))


def test_clone_of_a_patched_clone_has_the_series(upstream: SmallUpstream) -> None:
    tree = Tree(upstream, "clone")
    tree.apply()
    git(upstream.folder, "clone", "-q", "clone", "copy")
    tree.path = upstream.folder / "copy"
    assert tree.status() == (0, BOTH)
    again = upstream.run("apply", "--tree", str(tree.path))
    assert "nothing to do" in again.out
    tree.edit_patch()
    assert tree.status() == (1, {**BOTH, "dense": "outdated"})
    refused = upstream.run("apply", "--tree", str(tree.path))
    assert refused.code == 2
    assert "switch --detach" in refused.err
    tree.follow()
    assert tree.status() == (0, BOTH)


OWN = {
    "elsewhere": ({"own.py": "own = 1\n"}, ""),
    "in-another-file-of-the-package": ({"python/sglang/own.py": "own = 1\n"}, ""),
    "in-the-same-file": ({CACHE: "own = 1\n"}, ""),
    "fix-taken-out": ({CACHE: SOURCE}, "edited"),
}


@pytest.mark.parametrize("kind", OWN)
@pytest.mark.parametrize("fetched", [True, False], ids=["release-known", "release-unknown"])
def test_series_below_own_commits_is_known_without_a_record(
    upstream: SmallUpstream, kind: str, *, fetched: bool
) -> None:
    tree = Tree(upstream, "clone")
    tree.apply()
    git(upstream.folder, "clone", "-q", *([] if fetched else ["--no-tags"]), "clone", "copy")
    tree.path = upstream.folder / "copy"
    files, state = OWN[kind]
    for path, text in files.items():
        file = tree.path / path
        file.write_text(text if state or not file.exists() else file.read_text() + text)
        git(tree.path, "add", path)
        git(tree.path, "commit", "-qm", f"own {path}")
    expected = (1, dict.fromkeys(BOTH, state)) if state else (0, BOTH)
    assert tree.status() == expected
    before = tree.path / CACHE
    content, again = before.read_bytes(), upstream.run("apply", "--tree", str(tree.path))
    assert (before.read_bytes(), again.code) == (content, 2 if state else 0), again.err
    if state:
        assert "--replace" in again.err
        return
    assert "nothing to do" in again.out
    tree.edit_patch()
    assert tree.status() == (1, {**BOTH, "dense": "outdated"})
    branch = git(tree.path, "branch", "--show-current")
    onto = upstream.run("apply", "--tree", str(tree.path), "--onto", branch, "--replace")
    assert (onto.code, tree.status()) == (0, (0, BOTH)), onto.err
    assert git(tree.path, "log", "-1", "--format=%s").startswith("own")

"""The series in a clone without a record, whatever the person's git made of its history."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from patchtool.cli import main
from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream
from tests.commands.trees import clone_of, git

BOTH = {"dense": "applied", "tracking": "applied"}
NEITHER = dict.fromkeys(BOTH, "not-applied")
NEWER = SOURCE.replace('"""A cache of rows."""', '"""A cache of rows, and of slots."""')
SERIES = "patchtool/v1.0"


class Clone:
    """A clone with release 1.0 on ``main``, and the series on a branch.

    Args:
        upstream: With a patched clone.
        path: Where to clone that.
    """

    def __init__(self, upstream: SmallUpstream, path: Path) -> None:
        git(upstream.folder, "clone", "-q", "clone", str(path))
        self.path = path
        self("config", "user.name", "Person")
        self("config", "user.email", "person@example.org")
        self("branch", "-q", "-f", "main", "v1.0")

    def __call__(self, *args: str) -> str:
        return git(self.path, *args)

    def commit(self, path: str = "own.py", text: str = "own = 1\n") -> None:
        file = self.path / path
        file.write_text((file.read_text() if file.exists() else "") + text)
        self("add", path)
        self("commit", "-qm", f"own {path}")

    @property
    def commits(self) -> list[str]:
        """Those of the series, in order."""
        return self("rev-list", "--reverse", f"v1.0..{SERIES}").split()


def as_it_is(clone: Clone) -> None:
    pass


def branch_merged_into_main(clone: Clone) -> None:
    clone("switch", "-q", "main")
    clone("merge", "-q", "--no-ff", "--no-edit", SERIES)


def branch_merged_into_main_with_own_commits(clone: Clone) -> None:
    clone("switch", "-q", "main")
    clone.commit()
    clone("merge", "-q", "--no-ff", "--no-edit", SERIES)
    clone.commit("later.py")


def own_branch_merged(clone: Clone) -> None:
    clone("switch", "-qc", "topic", "v1.0")
    clone.commit()
    clone("switch", "-q", SERIES)
    clone("merge", "-q", "--no-ff", "--no-edit", "topic")


def own_branch_on_the_series_merged(clone: Clone) -> None:
    clone("switch", "-qc", "topic")
    clone.commit()
    clone("switch", "-q", SERIES)
    clone("merge", "-q", "--no-ff", "--no-edit", "topic")


def own_branch_from_between_merged(clone: Clone) -> None:
    clone("switch", "-qc", "topic", clone.commits[0])
    clone.commit()
    clone("switch", "-q", SERIES)
    clone("merge", "-q", "--no-ff", "--no-edit", "topic")


def merge_between(clone: Clone) -> None:
    first, second = clone.commits
    clone("switch", "-qc", "topic", "v1.0")
    clone.commit()
    clone("switch", "-qc", "mixed", first)
    clone("merge", "-q", "--no-ff", "--no-edit", "topic")
    clone("cherry-pick", second)


def two_merges(clone: Clone) -> None:
    own_branch_merged(clone)
    clone("switch", "-q", "main")
    clone.commit("main.py")
    clone("merge", "-q", "--no-ff", "--no-edit", SERIES)


def newer_release_merged(clone: Clone) -> None:
    clone("merge", "-q", "--no-ff", "--no-edit", "v1.1")


def merged_into_a_newer_release(clone: Clone) -> None:
    clone("switch", "-qc", "next", "v1.1")
    clone("merge", "-q", "--no-ff", "--no-edit", SERIES)


def merged_into_own_commits_on_a_newer_release(clone: Clone) -> None:
    clone("switch", "-qc", "next", "v1.1")
    clone.commit()
    clone("merge", "-q", "--no-ff", "--no-edit", SERIES)


def rebased_onto_own(clone: Clone) -> None:
    clone("switch", "-q", "main")
    clone.commit()
    clone("rebase", "-q", "main", SERIES)


def cherry_picked(clone: Clone) -> None:
    clone("switch", "-q", "main")
    clone.commit()
    clone("cherry-pick", "-x", *clone.commits)


def one_cherry_picked(clone: Clone) -> None:
    clone("switch", "-q", "main")
    clone("cherry-pick", "-x", clone.commits[0])


def cherry_picked_with_own_between(clone: Clone) -> None:
    first, second = clone.commits
    clone("switch", "-q", "main")
    clone("cherry-pick", first)
    clone.commit()
    clone("cherry-pick", second)


def cherry_picked_and_merged(clone: Clone) -> None:
    cherry_picked(clone)
    clone("merge", "-q", "--no-edit", SERIES)


def squashed(clone: Clone) -> None:
    clone("switch", "-q", "main")
    clone("merge", "-q", "--squash", SERIES)
    clone("commit", "-q", "--no-edit")


def squashed_by_rebase(clone: Clone) -> None:
    messages = [clone("log", "-1", "--format=%B", commit) for commit in clone.commits]
    clone("reset", "-q", "--soft", "v1.0")
    clone("commit", "-qm", "\n\n".join(messages))


def squashed_with_own(clone: Clone) -> None:
    clone.commit()
    clone.commit(CACHE)
    squashed(clone)


def all_reverted(clone: Clone) -> None:
    clone("revert", "--no-edit", *clone.commits[::-1])


def last_reverted(clone: Clone) -> None:
    clone("revert", "--no-edit", clone.commits[1])


def first_reverted(clone: Clone) -> None:
    clone("revert", "--no-edit", clone.commits[0])


def reverted_and_back(clone: Clone) -> None:
    last_reverted(clone)
    clone("revert", "--no-edit", "HEAD")


def merge_reverted(clone: Clone) -> None:
    branch_merged_into_main(clone)
    clone("revert", "--no-edit", "-m", "1", "HEAD")


ONE = {"dense": "applied", "tracking": "not-applied"}
OTHER = {"dense": "not-applied", "tracking": "applied"}
HISTORIES: list[tuple[Callable[[Clone], None], dict[str, str], str]] = [
    (as_it_is, BOTH, "v1.0"),
    (branch_merged_into_main, BOTH, "v1.0"),
    (branch_merged_into_main_with_own_commits, BOTH, "v1.0"),
    (own_branch_merged, BOTH, "v1.0"),
    (own_branch_on_the_series_merged, BOTH, "v1.0"),
    (own_branch_from_between_merged, BOTH, "v1.0"),
    (merge_between, BOTH, "v1.0"),
    (two_merges, BOTH, "v1.0"),
    (newer_release_merged, BOTH, "v1.1"),
    (merged_into_a_newer_release, BOTH, "v1.1"),
    (merged_into_own_commits_on_a_newer_release, BOTH, "v1.1"),
    (rebased_onto_own, BOTH, ""),
    (cherry_picked, BOTH, ""),
    (one_cherry_picked, ONE, "v1.0"),
    (cherry_picked_with_own_between, BOTH, "v1.0"),
    (cherry_picked_and_merged, BOTH, ""),
    (squashed, BOTH, "v1.0"),
    (squashed_by_rebase, BOTH, "v1.0"),
    (squashed_with_own, BOTH, "v1.0"),
    (all_reverted, NEITHER, ""),
    (last_reverted, ONE, "v1.0"),
    (first_reverted, OTHER, "v1.0"),
    (reverted_and_back, BOTH, "v1.0"),
    (merge_reverted, NEITHER, ""),
]


@pytest.fixture(scope="module")
def patched(tmp_path_factory: pytest.TempPathFactory) -> SmallUpstream:
    """Two releases, and a clone of upstream with the series; no test changes them."""
    upstream = SmallUpstream(tmp_path_factory.mktemp("upstream"))
    for version, text in (("1.0", SOURCE), ("1.1", NEWER)):
        upstream.release(version, {CACHE: text})
    upstream.pin("1.0")
    where = ("-C", str(upstream.project), "--store", str(upstream.folder / "store"), *upstream.source)
    assert main([*where, "-q", "fetch", "1.0", "1.1"]) == 0
    assert main([*where, "-q", "apply", "--tree", str(clone_of(upstream, "1.0", "1.1"))]) == 0
    return upstream


@pytest.fixture
def clone(patched: SmallUpstream, tmp_path: Path) -> Clone:
    return Clone(patched, tmp_path / "copy")


@pytest.mark.parametrize(
    ("history", "states", "release"), HISTORIES, ids=[history.__name__ for history, *_ in HISTORIES]
)
def test_the_series_is_known_in_every_history(
    patched: SmallUpstream,
    clone: Clone,
    capsys: pytest.CaptureFixture[str],
    history: Callable[[Clone], None],
    states: dict[str, str],
    release: str,
) -> None:
    upstream = patched.seen_by(capsys)
    history(clone)
    file = clone.path / CACHE
    content, head = file.read_bytes(), clone("rev-parse", "HEAD")
    status = upstream.run("status", "--tree", str(clone.path), "--json")
    assert status.states() == states, status.out
    if release:
        assert status.document["upstream"]["release"] == release
    applied = upstream.run("apply", "--tree", str(clone.path), "--force")
    if states == BOTH:
        assert (applied.code, "nothing to do" in applied.out) == (0, True), applied.out + applied.err
        assert (file.read_bytes(), clone("rev-parse", "HEAD")) == (content, head)
    elif applied.code == 0:
        assert upstream.run("status", "--tree", str(clone.path), "--json").states() == BOTH
    else:
        assert (file.read_bytes(), clone("rev-parse", "HEAD")) == (content, head)
        assert "hint: " in applied.err


@pytest.mark.parametrize("history", [row[0] for row in HISTORIES], ids=[row[0].__name__ for row in HISTORIES])
def test_no_own_commit_is_lost_where_a_series_is_exchanged(
    patched: SmallUpstream, clone: Clone, capsys: pytest.CaptureFixture[str], history: Callable[[Clone], None]
) -> None:
    history(clone)
    refs = clone("show-ref")
    own = [path for path in clone("ls-files").split() if path in ("own.py", "later.py", "main.py")]
    options = ("--onto", "fresh", "--replace", "--skip", "tracking", "--force")
    done = patched.seen_by(capsys).run("apply", "--tree", str(clone.path), *options)
    if done.code == 0:
        assert set(own) <= set(clone("ls-tree", "-r", "--name-only", "fresh").split())
        source = clone("show", f"fresh:{CACHE}")
        assert ("self.table[:] = slots" in source) == (history not in (first_reverted, all_reverted))
    else:
        assert clone("show-ref") == refs
        assert "is a merge" in done.out or "hint: git -C " in done.err, done.out + done.err

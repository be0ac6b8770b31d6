"""Commits of upstream's git repository in the store: fetched as a partial clone, and their history without files.

A commit is in the store when its own object and its root tree are: a fetch brings a tree with all trees below it, in
one pack that is complete or absent. Blobs are fetched when they are needed, all of them in one fetch.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from patchtool.adapters.files import LOCK_TIMEOUT
from patchtool.adapters.git.plumbing import UNKNOWN
from patchtool.adapters.git.remote import ALL_HISTORY, NO_BLOBS, ONLY_COMMITS
from patchtool.adapters.store.records import tree_of
from patchtool.domain.errors import EnvironmentFault, InputError
from patchtool.domain.history import HistoryEntry
from patchtool.domain.release import RELEASE_TAG, Release

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from patchtool.adapters.git.remote import Remote
    from patchtool.adapters.store.records import StoredRelease
    from patchtool.adapters.store.store import Store

COMMITS = "refs/commits"
NOT_FILTERED = "the git server cannot filter: it sent more files than the series reads"
_HEX40 = re.compile(r"[0-9a-f]{40}")
_ABBREVIATED = re.compile(r"[0-9a-f]{7,39}")
_NAME = re.compile(r"(?P<name>[^~^:\s\\?*\[]+)(?P<steps>(?:[~^]\d*)*)")
_TAGS = ("refs/tags/v[0-9]*", "refs/tags/[0-9]*")
_TAG, _HEAD = "refs/tags/", "refs/heads/"


class UpstreamCommits:
    """The commits of one git repository of upstream.

    Args:
        store: Where they are kept; its ``remote`` is where they come from.
        lock_timeout: Seconds to wait for another run that writes to the store.
    """

    def __init__(self, store: Store, lock_timeout: float = LOCK_TIMEOUT) -> None:
        self.notes: list[str] = []
        """What the user should know of the server."""
        self._store = store
        self._git = store.git
        self._lock_timeout = lock_timeout
        self._tips: dict[str, tuple[str, str]] = {}
        self._advertised: Mapping[str, str] | None = None

    def resolve(self, name: str) -> Release:
        """Look up what a tag, a branch, a ref or a commit is now, with ``~N`` and ``^`` behind it.

        Raises:
            InputError: The repository has no such name, or not so long a history.
            EnvironmentFault: It cannot be read.
        """
        found = _NAME.fullmatch(name)
        if found is None or name.startswith("-"):
            raise InputError(f"{name!r} names no commit", hint="give a tag, a branch, a commit, or as in main~50")
        base = found["name"]
        if base not in self._tips:
            self._tips[base] = self._tip(base)
        commit, short = self._tips[base]
        if not found["steps"]:
            return Release.of_commit(commit, short)
        self.fetch_history([commit])
        earlier = self._parsed(commit + found["steps"])
        if not earlier:
            raise InputError(f"{name!r} goes back further than the history of {base}")
        return Release.of_commit(earlier, short and short + found["steps"])

    def _tip(self, name: str) -> tuple[str, str]:
        """Commit and short name; a tag before a branch of the same name, as in git."""
        if _HEX40.fullmatch(name):
            return name, ""
        tags = (name, f"v{name}", *([name.removeprefix("v")] if Release.of_tag(name) else []))
        given = name == "HEAD" or name.startswith("refs/")
        full = [name] if given else [*(f"{_TAG}{tag}" for tag in dict.fromkeys(tags)), _HEAD + name]
        with self._reading() as remote:
            # The tags too, which name the commits that this one leads to: one question instead of two.
            refs = self._advertised = remote.refs(*full, *(f"{each}^{{}}" for each in full), *_TAGS)
        for each in full:
            if each in refs:
                return refs.get(f"{each}^{{}}", refs[each]), each.removeprefix(_TAG).removeprefix(_HEAD)
        if _ABBREVIATED.fullmatch(name):
            with self._reading() as remote:
                tip = remote.refs("HEAD").get("HEAD")
            self.fetch_history([tip] if tip else [])
            if commit := self._parsed(name):
                return commit, ""
        hint = "git ls-remote lists its tags and branches; other commits need all 40 digits"
        raise InputError(f"{self._url} has no {name!r}", hint=hint)

    def _parsed(self, revision: str) -> str:
        done = self._git.run("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", answers=UNKNOWN)
        return done.stdout.decode().strip()

    def fetch(self, releases: Sequence[Release], paths: Collection[str]) -> list[StoredRelease]:
        """Bring commits into the store, with the blobs of some paths; what is there is not fetched again.

        Args:
            releases: The commits.
            paths: The files that the series reads.

        Raises:
            EnvironmentFault: There is no network, or the repository cannot be read or has no such commit.
        """
        known = self._store.stored(releases)
        lacking = [release.commit for release in releases if release not in known]
        if lacking:
            with self._writing() as remote:
                self._fetch_trees(remote, lacking)
            known = self._store.stored(releases)
        files = self._git.regular_files([release.commit for release in releases], paths)
        blobs = self._git.missing(blob for each in files.values() for blob in each.values())
        if blobs:
            with self._writing() as remote:
                self._note(filtered=remote.fetch_objects(blobs))
        return [known[release] for release in releases]

    def _fetch_trees(self, remote: Remote, commits: Sequence[str]) -> None:
        """Fetch commits with their trees, and the trees alone of those that came with a history."""
        have = self._git.objects(commits)
        new = [f"{commit}:{COMMITS}/{commit}" for commit in commits if commit not in have]
        if new:
            self._note(filtered=remote.fetch_commits(new, depth=1, keep=NO_BLOBS))
        trees = self._git.missing(tree_of(content) for _, content in have.values())
        if trees:
            self._note(filtered=remote.fetch_objects(trees))

    def fetch_history(self, tips: Sequence[str]) -> None:
        """Bring all commits that lead to some into the store, without their files.

        Raises:
            EnvironmentFault: There is no network, or the repository cannot be read or has no such commit.
        """
        if not self._has_history(tips):
            with self._writing() as remote:
                refspecs = [f"{tip}:{COMMITS}/{tip}" for tip in tips]
                self._note(filtered=remote.fetch_commits(refspecs, depth=ALL_HISTORY, keep=ONLY_COMMITS))

    def _has_history(self, tips: Sequence[str]) -> bool:
        if not self._store.exists() or self._git.missing(tips):
            return False
        file = self._store.path / "shallow"
        shallow = set(file.read_text().split()) if file.exists() else set()
        return not shallow or shallow.isdisjoint(self._git.line("rev-list", *tips, "--").split())

    def history(self, last: str, first: str = "") -> list[HistoryEntry]:
        """List the commits that lead to one along the first parents, newest first.

        Args:
            last: A commit, which is listed.
            first: The commit at which to stop, which is not; by default the beginning.
        """
        self.fetch_history([last, first] if first else [last])
        selection = f"{first}..{last}" if first else last
        form = "--format=%H%x1f%T%x1f%as%x1f%an%x1f%s"
        listed = self._git.run("log", "-z", "--first-parent", form, selection, "--").stdout.decode(errors="replace")
        return [HistoryEntry(*map(_printable, record.split("\x1f", 4))) for record in listed.split("\0") if record]

    def tags(self) -> list[Release]:
        """List the commits of the release tags, such as ``v0.5.14`` or ``4.9.0``, and of a fork's."""
        if self._advertised is None:
            with self._reading() as remote:
                self._advertised = remote.refs(*_TAGS)
        found = sorted(item for item in self._advertised.items() if item[0].startswith(_TAG))
        refs = {name.removesuffix("^{}"): commit for name, commit in found}
        named = ((name.removeprefix(_TAG), commit) for name, commit in refs.items())
        return [Release.of_commit(commit, name) for name, commit in named if RELEASE_TAG.fullmatch(name)]

    def described(self, commits: Sequence[str]) -> dict[str, str]:
        """Name commits after the newest release tag before each of them, as ``git describe`` does.

        Args:
            commits: With their history in the store.
        """
        tags = self.tags()
        missing = self._git.missing(tag.commit for tag in tags)
        known = {tag.name: tag.commit for tag in tags if tag.commit not in missing}
        here = self._git.refs(_TAG)
        moves = [f"update {_TAG}{name} {commit}" for name, commit in known.items() if here.get(name) != commit]
        moves += [f"delete {_TAG}{name}" for name in here if name not in known]
        if moves:
            with self._writing():
                self._git.run("update-ref", "--stdin", stdin="".join(f"{move}\n" for move in moves).encode())
        options = ("--tags", "--first-parent", "--always", "--abbrev=10", "--match=v[0-9]*", "--match=[0-9]*.*")
        names = self._git.line("describe", *options, *commits).splitlines() if commits else []
        return {commit: name for commit, name in zip(commits, names) if not commit.startswith(name)}

    def _note(self, *, filtered: bool) -> None:
        if not filtered and NOT_FILTERED not in self.notes:
            self.notes.append(NOT_FILTERED)

    @property
    def _url(self) -> str:
        return self._store.remote.url if self._store.remote is not None else "the git upstream"

    @contextmanager
    def _reading(self) -> Iterator[Remote]:
        if self._store.remote is None:
            raise EnvironmentFault(
                "the git upstream may not be asked, and the store does not have the answer",
                hint="run it without --offline, or give the 40 hex digits of a commit that was fetched",
            )
        yield self._store.remote

    @contextmanager
    def _writing(self) -> Iterator[Remote]:
        with self._reading() as remote, self._store.writing(self._lock_timeout):
            yield remote


def _printable(text: str) -> str:
    """An author's or a subject's text without what a terminal would obey."""
    return "".join(char if char.isprintable() else " " for char in text)

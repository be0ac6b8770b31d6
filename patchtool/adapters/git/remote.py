"""Fetch from a repository of upstream into the store, as a partial clone: commits, then trees, then single blobs.

The user's own git configuration counts here: proxies, ``insteadOf``, credentials, ``safe.directory``. The remote is
configured on the command line of each fetch only. No other command of the store knows of it, so none of them can use
the network behind the caller's back, whatever the version of git: a missing object is an error there.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters.git.plumbing import GUARDS, check_git_version
from patchtool.adapters.process import ProcessFailed, ProcessResult, redact, run
from patchtool.domain.errors import EnvironmentFault, InputError
from patchtool.domain.objects import MISSING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

NO_BLOBS = "blob:none"
ONLY_COMMITS = "tree:0"
ALL_HISTORY = 2**31 - 1
"""The depth that git takes for no limit, in a shallow repository and in a complete one."""
_NAME = "patchtool"
_PROGRESS = re.compile(r"(?P<what>\w[\w ]*): +\d+% \((?P<done>\d+)/(?P<total>\d+)\)(?:, (?P<size>[\d.]+ \w+))?")
_NOT_FILTERED = b"filtering not recognized by server"
# The variables that `git rev-parse --local-env-vars` lists: they are about the repository of an outer git.
_LOCAL = frozenset(
    {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_COMMON_DIR",
        "GIT_CONFIG",
        "GIT_CONFIG_PARAMETERS",
        "GIT_DIR",
        "GIT_GRAFT_FILE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_INTERNAL_SUPER_PREFIX",
        "GIT_NAMESPACE",
        "GIT_NO_LAZY_FETCH",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_OBJECT_DIRECTORY",
        "GIT_PREFIX",
        "GIT_QUARANTINE_PATH",
        "GIT_REPLACE_REF_BASE",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
    }
)


class Remote(NamedTuple):
    """A repository to fetch from, and the store to fetch into.

    Args:
        git_dir: The store's bare repository.
        url: Of the repository, without ``git+``; checked by `patchtool.domain.pin.parse_git_source`.
        progress: Called with what is under way, how much of it is done, of how much, and of what.
    """

    git_dir: Path
    url: str
    progress: Callable[[str, int, int, str], None] = lambda *_: None

    def __reduce__(self) -> tuple[type[Remote], tuple[Path, str]]:
        """Leave out whom to tell: another process has no line to write to."""
        return Remote, (self.git_dir, self.url)

    def refs(self, *patterns: str) -> Mapping[str, str]:
        """Look up refs by full name or pattern; of a tag, ``<name>^{}`` is the commit.

        Raises:
            EnvironmentFault: The repository cannot be read.
            InputError: Its object ids are not those of the store.
        """
        what = f"asking {redact(self.url)} for its refs"
        self.progress(what, 0, 1, "answers")
        try:
            listed = self._run("ls-remote", "--quiet", "--", self.url, *patterns).stdout.decode(errors="replace")
        finally:
            self.progress(what, 1, 1, "answers")
        found = {name: oid for oid, name in (line.split("\t", 1) for line in listed.splitlines())}
        if any(len(oid) != len(MISSING) for oid in found.values()):
            raise InputError(
                f"{redact(self.url)} has SHA-256 objects, the store has SHA-1, and git cannot fetch between them",
                hint="pin a release of the index, or a repository with SHA-1 objects",
            )
        return found

    def fetch_commits(self, refspecs: Collection[str], *, depth: int, keep: str) -> bool:
        """Fetch commits and their history.

        Args:
            refspecs: ``<commit>:<ref of the store>``.
            depth: How many commits of the history, or `ALL_HISTORY`.
            keep: The filter, `NO_BLOBS` or `ONLY_COMMITS`.

        Returns:
            Whether the server left out what was not asked for.
        """
        return self._fetch((f"--depth={depth}", f"--filter={keep}"), refspecs)

    def fetch_objects(self, ids: Collection[str]) -> bool:
        """Fetch blobs, and trees with all trees below them, in one fetch."""
        # Without negotiation: what the store has is no reason to leave out what is missing.
        return self._fetch((f"--filter={NO_BLOBS}",), ids)

    def _fetch(self, options: Collection[str], refspecs: Collection[str]) -> bool:
        flags = ("--progress", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-maintenance")
        stdin = "".join(f"{spec}\n" for spec in sorted(refspecs)).encode()
        what, count = f"fetching from {redact(self.url)}", len(refspecs)
        self.progress(what, 0, count, "objects")
        try:
            done = self._run("fetch", *flags, *options, "--stdin", _NAME, stdin=stdin, listen=self._listen)
        finally:
            self.progress(what, count, count, "objects")
        return _NOT_FILTERED not in done.stderr

    def _listen(self, line: str) -> None:
        """Tell how far git says that it is."""
        if match := _PROGRESS.search(line):
            size = f", {match['size']}" if match["size"] else ""
            what = f"fetching from {redact(self.url)}, {match['what'].lower()}{size}"
            self.progress(what, int(match["done"]), int(match["total"]), "objects")

    def _run(self, *args: str, stdin: bytes = b"", listen: Callable[[str], None] | None = None) -> ProcessResult:
        settings = {
            **GUARDS,
            "protocol.version": "2",  # with the first version, servers refuse single objects
            "fetch.negotiationAlgorithm": "noop",
            "fetch.writeCommitGraph": "false",
            f"remote.{_NAME}.url": self.url,
            f"remote.{_NAME}.promisor": "true",
            f"remote.{_NAME}.partialCloneFilter": NO_BLOBS,
        }
        words = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
        try:
            return run(
                ["git", f"--git-dir={self.git_dir}", *words, *args], stdin=stdin, env=_environment(), listen=listen
            )
        except ProcessFailed as error:
            raise EnvironmentFault(
                f"git {args[0]} from {redact(self.url)} failed",
                hint="what is complete is kept: run it again when git can read the repository",
                cause=error.cause,
            ) from error
        except EnvironmentFault:
            check_git_version()
            raise


def _environment() -> dict[str, str]:
    """The user's environment, apart from what an outer git says of its own repository."""
    inherited = {name: value for name, value in os.environ.items() if name not in _LOCAL}
    return {**inherited, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}

"""Git's plumbing commands, isolated from the user's configuration, hooks and the environment of an outer git."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from patchtool.adapters.files import atomic_write
from patchtool.adapters.process import ProcessResult, feeding, run
from patchtool.domain.errors import EnvironmentFault

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import IO

# Nothing newer is used; the ownership checks of 2.35 were backported to every maintained 2.34.
LOWEST_GIT = (2, 34)
# What git says of a pack or an object that was truncated.
_DAMAGE = re.compile(r"packfile .* (does not match|cannot be|is far too|truncated)|corrupt|nonexistent object|is empty")
REGULAR = frozenset({"100644", "100755"})
# From this many paths on, listing the whole tree is cheaper than a command line that may be too long.
_WHOLE_TREE = 500
NO = (1,)
"""What a git command exits with for "no", such as where nothing matches; 128 and more is a failure."""
UNKNOWN = (1, 128)
"""The same of one that looks a name up, which git also says of names that it cannot look up."""
# This file of a repository takes precedence over those in its trees. `-working-tree-encoding` would be an error.
_RAW_ATTRIBUTES = b"* -text -ident -filter !working-tree-encoding -export-ignore -export-subst\n"
GUARDS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.quotePath": "false",
    "log.showSignature": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
"""Configuration of every git command: no hook, no other program of the user, no maintenance in the background."""
NO_FETCH = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_TERMINAL_PROMPT": "0"}
"""Environment of every git command: a missing object stays missing. Fetching it would run what the repository's
configuration names, such as ``remote.<name>.uploadpack``; a git before 2.45 needs the second variable for it."""
_SEALED_CONFIG = {**GUARDS, "core.attributesFile": os.devnull, "core.excludesFile": os.devnull}
_SEALED = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_ASKPASS": "true",
    "GIT_EDITOR": "true",
    "GIT_PAGER": "cat",
    "GIT_OPTIONAL_LOCKS": "0",  # reading writes nothing, not even a refreshed index
    "GIT_NO_REPLACE_OBJECTS": "1",
    **NO_FETCH,
    "GIT_LITERAL_PATHSPECS": "1",
    "LC_ALL": "C",
}


def sealed_environment() -> dict[str, str]:
    """The environment in which git behaves the same on every machine.

    Returns:
        The process's environment with every ``GIT_*`` variable replaced: a hook that calls us must not pass on its
        index, and no configuration file of the user or the system counts.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    config = {"GIT_CONFIG_COUNT": str(len(_SEALED_CONFIG))}
    for number, (key, value) in enumerate(_SEALED_CONFIG.items()):
        config |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return {**inherited, **_SEALED, **config}


class Git:
    """Plumbing commands on one repository.

    Args:
        git_dir: The repository, or None for commands that need none. It is passed to git explicitly, so git skips
            its ownership check (``safe.directory``): the caller decides which repository to trust.
        work_tree: The checkout, for commands that need one.
        variables: Further variables of the environment, such as ``GIT_INDEX_FILE``.
    """

    def __init__(
        self, git_dir: Path | None, work_tree: Path | None = None, variables: Mapping[str, str] | None = None
    ) -> None:
        self.git_dir = git_dir
        self.work_tree = work_tree
        self._variables = dict(variables or {})
        self._argv = ["git"]
        if git_dir is not None:
            self._argv.append(f"--git-dir={git_dir}")
        if work_tree is not None:
            self._argv.append(f"--work-tree={work_tree}")

    def run(self, *args: str, stdin: bytes | None = None, answers: Collection[int] = ()) -> ProcessResult:
        """Run one git command; see `process.run`."""
        try:
            env = {**sealed_environment(), **self._variables}
            return run([*self._argv, *args], stdin=stdin, env=env, answers=answers, cwd=self.work_tree)
        except EnvironmentFault as fault:
            check_git_version()  # a git that is missing or too old is the better explanation
            if fault.cause and _DAMAGE.search(fault.cause):
                fault.hint = "patchtool fetch repairs a store that is not whole"
            raise

    def write_files_raw(self) -> None:
        """Let git write the files of this repository, which is our own, as it stores them, despite ``.gitattributes``.

        Raises:
            EnvironmentFault: The repository cannot be written to.
        """
        assert self.git_dir is not None  # noqa: S101 -- there is nothing to set without a repository
        file = self.git_dir / "info" / "attributes"
        if not file.is_file() or file.read_bytes() != _RAW_ATTRIBUTES:
            file.parent.mkdir(exist_ok=True)
            atomic_write(file, _RAW_ATTRIBUTES)

    def feeding(self, *args: str) -> AbstractContextManager[IO[bytes]]:
        """Start one git command that reads a stream; see `process.feeding`."""
        return feeding([*self._argv, *args], env=sealed_environment())

    def line(self, *args: str, stdin: bytes | None = None) -> str:
        """Run one git command and return the line it prints."""
        return self.run(*args, stdin=stdin).stdout.decode().strip()

    def objects(self, names: Iterable[str]) -> dict[str, tuple[str, bytes]]:
        """Read objects, all in one process.

        Args:
            names: Anything git resolves to one object, such as ``<commit>:<path>``.

        Returns:
            Object id and content by name; names that resolve to nothing are left out.

        Raises:
            EnvironmentFault: A name has a line break.
        """
        wanted = list(dict.fromkeys(names))
        if not wanted:
            return {}
        for name in wanted:
            if "\n" in name:
                raise EnvironmentFault(f"git cannot look up {name!r}: it has a line break")
        output = self.run(
            "cat-file", "--batch", stdin="".join(f"{name}\n" for name in wanted).encode("utf-8", "surrogateescape")
        ).stdout
        objects: dict[str, tuple[str, bytes]] = {}
        offset = 0
        for name in wanted:
            end = output.index(b"\n", offset)
            header = output[offset:end].rsplit(b" ", 2)
            offset = end + 1
            # "<name> missing" and "<name> ambiguous" have no size.
            if not header[-1].isdigit():
                continue
            size = int(header[-1])
            objects[name] = (header[0].decode(), output[offset : offset + size])
            offset += size + 1
        return objects

    def blob_ids(self, commit: str, paths: Iterable[str]) -> dict[str, str]:
        """Find the blob ids of those paths that are regular files in a commit, in one process."""
        return {path: blob for path, (mode, blob) in self.tree_entries(commit, paths).items() if mode in REGULAR}

    def tree_entries(self, commit: str, paths: Iterable[str]) -> dict[str, tuple[str, str]]:
        """Find mode and object id of those paths that exist in a commit, in one process."""
        wanted = set(paths)
        if not wanted:
            return {}
        scope = ["-r", commit] if len(wanted) > _WHOLE_TREE else [commit, "--", *sorted(wanted)]
        listing = self.run("ls-tree", "-z", "--full-tree", *scope).stdout.decode(errors="surrogateescape")
        lines = (entry.partition("\t") for entry in listing.split("\0") if entry)
        entries = {path: attributes.split() for attributes, _, path in lines if path in wanted}
        return {path: (mode, oid) for path, (mode, _, oid) in entries.items()}

    def regular_files(self, commits: Iterable[str], paths: Iterable[str]) -> dict[str, dict[str, str]]:
        """Find the blob ids of those paths that are regular files, for many commits in one process.

        Args:
            commits: Ids of commits or trees.
            paths: Below each of them.

        Returns:
            Blob ids by commit and path.
        """
        split = [(path, *path.rpartition("/")[::2]) for path in paths]
        names = {(commit, folder): f"{commit}:{folder}" for commit in commits for _, folder, _ in split}
        trees = {name: _tree_entries(raw) for name, (_, raw) in self.objects(names.values()).items()}
        found: dict[str, dict[str, str]] = {commit: {} for commit, _ in names}
        for (commit, folder), name in names.items():
            for path, parent, base in split:
                mode, oid = trees.get(name, {}).get(base, ("", "")) if parent == folder else ("", "")
                if mode in REGULAR:
                    found[commit][path] = oid
        return found

    def missing(self, ids: Iterable[str]) -> list[str]:
        """Those of the object ids that the repository does not have, in one process."""
        wanted = list(dict.fromkeys(ids))
        stdin = "".join(f"{name}\n" for name in wanted).encode("utf-8", "surrogateescape")
        lines = self.run("cat-file", "--batch-check", "--buffer", stdin=stdin).stdout.decode().splitlines()
        return [name for name, line in zip(wanted, lines) if line.endswith(" missing")]

    def ids(self, names: Iterable[str]) -> dict[str, str]:
        """Ids of objects, all in one process; names that resolve to nothing are left out.

        Args:
            names: Anything git resolves to one object, without line breaks.
        """
        wanted = [name for name in dict.fromkeys(names) if "\n" not in name]
        stdin = "".join(f"{name}\n" for name in wanted).encode("utf-8", "surrogateescape")
        lines = self.run("cat-file", "--batch-check=%(objectname)", stdin=stdin).stdout.decode().splitlines()
        return {name: line for name, line in zip(wanted, lines) if " " not in line}

    def refs(self, prefix: str) -> Mapping[str, str]:
        """Object ids of all refs below a prefix, by name relative to it."""
        listing = self.line("for-each-ref", "--format=%(objectname) %(refname)", prefix)
        pairs = (line.split(" ", 1) for line in listing.splitlines())
        return {name.removeprefix(prefix).lstrip("/"): value for value, name in pairs}


def _tree_entries(raw: bytes) -> dict[str, tuple[str, str]]:
    """Mode and object id by name of the entries of a tree object; empty for another object."""
    entries = {}
    offset = 0
    while (space := raw.find(b" ", offset)) > 0 and (end := raw.find(b"\0", space)) > 0:
        name = raw[space + 1 : end].decode(errors="surrogateescape")
        entries[name] = (raw[offset:space].decode(errors="replace"), raw[end + 1 : end + 21].hex())
        offset = end + 21
    return entries


@lru_cache(maxsize=1)
def check_git_version() -> tuple[int, int]:
    """Check that git is installed and new enough.

    Returns:
        Its version, major and minor.

    Raises:
        EnvironmentFault: It is missing, or older than `LOWEST_GIT`; names both versions.
    """
    needed = ".".join(map(str, LOWEST_GIT))
    try:
        text = run(["git", "version"], env=sealed_environment()).stdout.decode().strip()
    except EnvironmentFault as fault:
        raise EnvironmentFault(
            f"git {needed} or newer is needed, and none is installed", hint=fault.hint, cause=fault.message
        ) from fault
    match = re.search(r"(\d+)\.(\d+)", text)
    version = (int(match[1]), int(match[2])) if match else (0, 0)
    if version < LOWEST_GIT:
        raise EnvironmentFault(
            f"git {needed} or newer is needed, found {text!r}", hint="on Debian: apt-get install git"
        )
    return version

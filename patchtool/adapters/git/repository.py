"""A person's repository opened for commits and branches; the only user of GitPython."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from patchtool.adapters.git.checkout import GUARDS, person_environment
from patchtool.adapters.git.plumbing import check_git_version
from patchtool.domain.errors import EnvironmentFault

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import BinaryIO

    import git

    from patchtool.adapters.git.checkout import Checkout

_FSYNC = (2, 36)
"""The git that knows ``core.fsync``; it warns of the older setting, so only one of the two is given."""
_HINT = "see what git says, then run it again"
_UNDER_WAY = {
    "MERGE_HEAD": ("a merge", "git merge --continue or --abort"),
    "CHERRY_PICK_HEAD": ("a cherry-pick", "git cherry-pick --continue or --abort"),
    "REVERT_HEAD": ("a revert", "git revert --continue or --abort"),
    "rebase-merge": ("a rebase", "git rebase --continue or --abort"),
    "rebase-apply": ("a rebase or git am", "git rebase or git am with --continue or --abort"),
    "sequencer": ("a sequence of picks", "git cherry-pick or git revert with --continue or --abort"),
    "BISECT_LOG": ("a bisect", "git bisect reset"),
}


@dataclass(frozen=True)
class Entry:
    """One file as the index has it.

    Args:
        mode: ``100644``, ``100755``, ``120000`` or ``160000``.
        oid: The blob's id in the repository's own format.
        stage: 0, or which side of a conflict.
        pinned: Git was told not to look at the file (skip-worktree, assume-unchanged).
    """

    mode: str
    oid: str
    stage: int = 0
    pinned: bool = False


@contextmanager
def opened(checkout: Checkout) -> Iterator[Repository]:
    """Open the repository, and close every handle at the end.

    Raises:
        EnvironmentFault: Git is missing, or something it was asked failed.
    """
    with _without_outer_git():
        import git

        guards = _guards()
        try:
            repo = git.Repo(checkout.root, search_parent_directories=False)
            try:
                yield Repository(checkout, repo, guards)
            finally:
                repo.close()
        except git.GitCommandError as error:
            command = " ".join(str(word) for word in error.command if str(word) not in guards)
            said = str(error.stderr).strip()
            raise EnvironmentFault(f"{command} failed in {checkout.root}", hint=_HINT, cause=said) from error
        except git.GitError as error:
            fault = f"the repository {checkout.root} cannot be opened"
            raise EnvironmentFault(fault, hint=_HINT, cause=str(error)) from error


def _guards() -> list[str]:
    """Options of every command: what a person's programs may not do, and what must be on disk.

    Objects must be there before a ref names them, and the ref before our journal calls it done. An older git syncs
    packs always, loose objects when told, and refs never: `Repository` does those itself.
    """
    durable = "core.fsync=all" if check_git_version() >= _FSYNC else "core.fsyncObjectFiles=true"
    return [word for guard in (*GUARDS, durable) for word in ("-c", guard)]


@contextmanager
def _without_outer_git() -> Iterator[None]:
    """Hide what a hook or an editor had set: GitPython reads and passes on the process's environment."""
    outer = dict(os.environ)
    # GitPython looks for the program when it is imported, and its complaint is a page long.
    inner = person_environment() | {"GIT_PYTHON_REFRESH": "quiet"}
    os.environ.clear()
    os.environ.update(inner)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(outer)


class Repository:
    """What writing needs of a person's repository; made by ``opened``."""

    def __init__(self, checkout: Checkout, repo: git.Repo, guards: list[str]) -> None:
        self._checkout = checkout
        self._git = repo.git
        self._guards = guards

    def under_way(self) -> tuple[str, str] | None:
        """Name an operation that waits for its end, and the command that ends it."""
        for name, operation in _UNDER_WAY.items():
            if (self._checkout.git_dir / name).exists():
                return operation
        return None

    def entries(self, paths: Iterable[str]) -> dict[str, Entry]:
        """Look those paths up in the index; an unmerged one has a stage other than 0."""
        listed = self._run("--literal-pathspecs", "ls-files", "-s", "-v", "-z", "--", *paths)
        found = {}
        for line in _records(listed):
            facts, path = line.split("\t", 1)
            tag, mode, oid, stage = facts.split()
            found[path] = Entry(mode, oid, int(stage), tag == "S" or tag.islower())
        return found

    def staged(self) -> list[str]:
        """Every path whose index entry differs from HEAD's, unmerged ones included."""
        changed = self._run("diff-index", "--cached", "--name-only", "--no-renames", "-z", "HEAD", "--")
        return sorted(set(_records(changed)))

    def changed(self, paths: Iterable[str]) -> list[str]:
        """Those of the paths whose working file or index entry git calls changed, or does not track."""
        # status compares contents where only dates differ; diff-files would call such a file changed.
        flags = ("--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignored=matching")
        listed = self._run("--literal-pathspecs", "status", *flags, "--ignore-submodules=all", "--", *paths)
        return sorted(record[3:] for record in _records(listed))

    def date(self, commit: str) -> str:
        """When a commit was made, as ``<seconds> +0000``."""
        shown: str = self._run("log", "-1", "--format=%ct", commit, "--").decode()
        return f"{shown.strip()} +0000"

    def make(self, stream: bytes) -> list[str]:
        """Make the objects of an import stream and return the commits' ids; no ref changes."""
        with tempfile.TemporaryFile() as source:
            source.write(stream)
            source.seek(0)
            flags = ("--quiet", "--done", "--date-format=raw")
            made = self._run("fast-import", *flags, istream=source)
        return made.decode().split()

    def blobs(self, commit: str, paths: Iterable[str]) -> dict[str, Entry]:
        """Look those paths up in a commit."""
        found = {}
        for line in _records(self._run("--literal-pathspecs", "ls-tree", "-z", commit, "--", *paths)):
            facts, path = line.split("\t", 1)
            mode, _, oid = facts.split()
            found[path] = Entry(mode, oid)
        return found

    def set_index(self, entries: Mapping[str, Entry]) -> None:
        """Put exactly those entries into the index, then let git remember the files' dates."""
        lines = "".join(f"{entry.mode} {entry.oid}\t{path}\0" for path, entry in entries.items())
        with tempfile.TemporaryFile() as source:
            source.write(os.fsencode(lines))
            source.seek(0)
            self._run("update-index", "-z", "--index-info", istream=source)
        # Its exit code tells of files that are changed, which is no failure here.
        self._run("update-index", "-q", "--refresh", with_exceptions=False)

    def head(self) -> tuple[str | None, str]:
        """The full name of the branch HEAD is on, None when detached, and HEAD's commit."""
        commit, name = self._run("rev-parse", "HEAD", "--symbolic-full-name", "HEAD").decode().split()
        return None if name == "HEAD" else name, commit

    def tip(self, branch: str) -> str | None:
        """The commit a branch is on, by full name; None where there is no such branch."""
        shown = self._run("for-each-ref", "--format=%(objectname)%00%(refname)", branch).decode()
        lines = (line.split("\0") for line in shown.splitlines())
        return next((oid for oid, name in lines if name == branch), None)

    def create(self, branch: str, commit: str) -> None:
        """Create a branch; an error where it exists elsewhere by now."""
        self._run("update-ref", "-m", "patchtool: apply", branch, commit, "0" * len(commit))
        _flush(self._checkout.common_dir / branch)

    def delete(self, branch: str, commit: str) -> None:
        """Delete a branch; an error where it is on another commit by now."""
        self._run("update-ref", "-d", branch, commit)

    def switch(self, branch: str | None, commit: str) -> None:
        """Let HEAD be on a branch, or detached on a commit; files and index are left alone."""
        if branch:
            self._run("symbolic-ref", "-m", "patchtool", "HEAD", branch)
        else:
            self._run("update-ref", "--no-deref", "-m", "patchtool", "HEAD", commit)
        _flush(self._checkout.git_dir / "HEAD")

    def _run(self, *args: str, istream: BinaryIO | None = None, with_exceptions: bool = True) -> bytes:
        return self._git.execute(
            ["git", *self._guards, *args],
            istream=istream,
            stdout_as_string=False,
            with_exceptions=with_exceptions,
            strip_newline_in_stdout=False,
        )


def _flush(ref: Path) -> None:
    """Bring a ref to disk: git before 2.36 does not, and not every later one does it for a symbolic ref."""
    with suppress(FileNotFoundError), ref.open("rb") as stream:  # no file where refs are kept in tables
        os.fsync(stream.fileno())


def _records(output: bytes) -> list[str]:
    return [record for record in output.decode("utf-8", "surrogateescape").split("\0") if record]

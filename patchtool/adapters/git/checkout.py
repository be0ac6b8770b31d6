"""Locate and query the user's git checkout without GitPython: `status` and a repeated `apply` must be quick."""

from __future__ import annotations

import os
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters import process
from patchtool.adapters.git.filters import without_foreign_filters
from patchtool.adapters.git.plumbing import GUARDS, NO_FETCH, UNKNOWN, check_git_version
from patchtool.domain.errors import EnvironmentFault, RefusedError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

_CORE_FSYNC = (2, 36)


class Checkout(NamedTuple):
    """The user's git checkout.

    Args:
        root: The top of its working tree.
        git_dir: Its own git directory; for a linked worktree not the one that holds the objects.
        common_dir: The git directory that holds objects and branches.
        head: The commit at HEAD.
        branch: Full name of the branch at HEAD, None when detached.
    """

    root: Path
    git_dir: Path
    common_dir: Path
    head: str
    branch: str | None

    @property
    def of_another_tree(self) -> bool:
        """Whether ``.git`` leads to the git directory of another tree, which a downloaded tree must not change."""
        if self.git_dir.name == ".git":
            return self.git_dir.parent != self.root
        try:
            owner = Path(os.fsdecode((self.git_dir / "gitdir").read_bytes()).strip())
            return owner.exists() and owner.resolve() != (self.root / ".git").resolve()
        except FileNotFoundError:
            return False  # made by `git init --separate-git-dir`, or of a submodule, whose configuration names its tree
        except (OSError, ValueError):
            return True

    def run(
        self,
        *args: str,
        stdin: bytes | None = None,
        durable: bool = False,
        reads_files: bool = False,
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> bytes:
        """Run one guarded git command and return its standard output.

        Args:
            args: Subcommand and arguments; paths are literal.
            stdin: Bytes to feed.
            durable: Bring what it writes to disk before it returns: objects before a ref names them, a ref before
                our journal records it.
            reads_files: Whether it may compare files with the index, which passes them through filters: then only those
                run that the user's or the system's configuration names, not those of the repository's own.
            variables: Further environment variables.

        Raises:
            EnvironmentFault: Git is missing or too old, or failed.
        """
        durability = ("-c", _fsync_setting()) if durable else ()
        try:
            environment = {**_user_environment(), **(self.own_filters() if reads_files else {}), **variables}
            return _git(self.root, *durability, *args, stdin=stdin, environment=environment).stdout
        except process.ProcessFailed as error:
            raise EnvironmentFault(
                f"git {args[0]} failed in {self.root}",
                hint="resolve what git reports, then run it again",
                cause=error.cause,
            ) from error

    def own_filters(self) -> dict[str, str]:
        """Environment variables by which those filters run that the user or the system names, and no others."""
        settings = _git(self.root, "config", "-z", "--show-scope", "--get-regexp", r"^filter\.", answers=UNKNOWN).stdout
        return without_foreign_filters(settings, _user_environment())

    def tracks(self, path: str) -> bool:
        """Check whether the commit at HEAD has this path of the repository."""
        return _git(self.root, "cat-file", "-e", f"{self.head}:{path}", answers=UNKNOWN).code == 0

    def contains(self, commit: str) -> bool:
        """Check whether a commit is HEAD or one of its ancestors."""
        return _git(self.root, "merge-base", "--is-ancestor", commit, self.head, answers=UNKNOWN).code == 0

    def tags(self, commit: str) -> list[str]:
        """Names of the tags on a commit."""
        listed = self.run("for-each-ref", "--format=%(refname:strip=2)", f"--points-at={commit}", "refs/tags")
        return listed.decode(errors="replace").split()

    def tags_between(self, old: str, new: str) -> list[str]:
        """Names of the tags in the history of a commit that are not in that of an older one."""
        form = "--format=%(refname:strip=2)"
        listed = self.run("for-each-ref", form, f"--merged={new}", f"--no-merged={old}", "refs/tags")
        return listed.decode(errors="replace").split()

    def line_endings(self, paths: Iterable[str]) -> dict[str, str]:
        """Find the files that git stores with LF and checks out with other line endings.

        Args:
            paths: Paths of the repository.

        Returns:
            ``crlf`` or ``mixed`` by path; other files are left out.
        """
        listed = self.run("ls-files", "-z", "--eol", "--", *paths)
        endings = {}
        for line in filter(None, listed.decode("utf-8", "surrogateescape").split("\0")):
            attributes, path = line.split("\t", 1)
            in_index, in_worktree = attributes.split()[:2]
            if in_index == "i/lf" and in_worktree in ("w/crlf", "w/mixed"):
                endings[path] = in_worktree.removeprefix("w/")
        return endings


def discover(folder: Path) -> Checkout | None:
    """Find the git checkout that a folder is in.

    Returns:
        None where there is none, or one that has no commit yet.

    Raises:
        RefusedError: Git refuses to work there: a bare repository, or another user's.
    """
    if not any((parent / ".git").exists() or _is_bare(parent) for parent in (folder, *folder.parents)):
        return None
    paths = ("--show-toplevel", "--absolute-git-dir", "--git-common-dir")
    parsed = _git(folder, "rev-parse", *paths, "HEAD^{commit}", "--symbolic-full-name", "HEAD", answers=UNKNOWN)
    if parsed.code == 0:
        root, git_dir, common_dir, head, name = os.fsdecode(parsed.stdout).splitlines()
        branch = None if name == "HEAD" else name
        return Checkout(Path(root), Path(git_dir), (folder / common_dir).resolve(), head, branch)
    if b"unknown revision" in parsed.stderr and _git(folder, "rev-parse", *paths, answers=UNKNOWN).code == 0:
        return None
    if b"not a git repository (or any" in parsed.stderr:
        return None
    checkout = "give a checkout with a working tree that you own"
    raise RefusedError(
        f"git will not work in {folder}",
        hint=f"git -C {folder} worktree add DIR COMMIT makes a checkout" if _is_bare(folder) else checkout,
        cause=parsed.stderr.decode(errors="replace").strip(),
    )


def _git(
    folder: Path,
    *args: str,
    stdin: bytes | None = None,
    answers: Collection[int] = (),
    environment: dict[str, str] | None = None,
) -> process.ProcessResult:
    guards = [word for key, value in GUARDS.items() for word in ("-c", f"{key}={value}")]
    argv = ["git", *guards, "--literal-pathspecs", *args]
    return process.run(argv, cwd=folder, env=environment or _user_environment(), stdin=stdin, answers=answers)


def _fsync_setting() -> str:
    """The setting that this git knows: a git with ``core.fsync`` warns about the older one.

    The older one syncs loose objects but never refs; `Repository` syncs those itself.
    """
    return "core.fsync=all" if check_git_version() >= _CORE_FSYNC else "core.fsyncObjectFiles=true"


def _user_environment() -> dict[str, str]:
    """Keep the user's configuration (``safe.directory``, line endings), drop the repository of an outer git."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith("GIT_CONFIG_") or name == "GIT_CEILING_DIRECTORIES"
    }
    return environment | NO_FETCH | {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}


def _is_bare(folder: Path) -> bool:
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()

"""Where a person's git checkout is and stands, learnt without GitPython: looking must be quick."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters import process
from patchtool.domain.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable

# The person's configuration counts here (safe.directory, line endings), their programs must not run.
GUARDS = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "core.quotePath=false",
    "gc.auto=0",
    "i18n.commitEncoding=UTF-8",
    "maintenance.auto=false",
)


class Checkout(NamedTuple):
    """A person's git checkout.

    Args:
        root: The top of its working tree.
        git_dir: Its own git folder; for a linked worktree not the one that holds the objects.
        common_dir: The git folder that holds objects and branches.
        head: The commit at HEAD.
        branch: The full name of the branch HEAD is on, None when detached.
    """

    root: Path
    git_dir: Path
    common_dir: Path
    head: str
    branch: str | None

    def run(self, *args: str, check: bool = True) -> bytes:
        """Run one git command that only looks, and return what it prints."""
        return _git(self.root, *args, check=check).stdout

    def tracks(self, path: str) -> bool:
        """Whether the commit at HEAD holds this path of the repository."""
        return _git(self.root, "cat-file", "-e", f"{self.head}:{path}", check=False).code == 0

    def tags(self, commit: str) -> list[str]:
        """Names of the tags on a commit."""
        listed = self.run("for-each-ref", "--format=%(refname:strip=2)", f"--points-at={commit}", "refs/tags")
        return listed.decode(errors="replace").split()

    def line_endings(self, paths: Iterable[str]) -> dict[str, str]:
        """Tell ``crlf`` or ``mixed`` for files that git stores with LF and shows with other line endings.

        Args:
            paths: Paths of the repository; others than those just described are left out of the answer.
        """
        listed = self.run("--literal-pathspecs", "ls-files", "-z", "--eol", "--", *paths)
        found = {}
        for line in filter(None, listed.decode("utf-8", "surrogateescape").split("\0")):
            facts, path = line.split("\t", 1)
            stored, shown = facts.split()[:2]
            if stored == "i/lf" and shown in ("w/crlf", "w/mixed"):
                found[path] = shown.removeprefix("w/")
        return found


def discover(folder: Path) -> Checkout | None:
    """Find the git checkout a folder is in.

    Returns:
        None where there is none, or one that has no commit yet.

    Raises:
        RefusedError: Git will not work there: a bare repository, or another person's.
    """
    if not any((parent / ".git").exists() or _is_bare(parent) for parent in (folder, *folder.parents)):
        return None
    where = ("--show-toplevel", "--absolute-git-dir", "--git-common-dir")
    found = _git(folder, "rev-parse", *where, "HEAD^{commit}", "--symbolic-full-name", "HEAD", check=False)
    if found.code == 0:
        root, git_dir, common_dir, head, name = os.fsdecode(found.stdout).splitlines()
        branch = None if name == "HEAD" else name
        return Checkout(Path(root), Path(git_dir), (folder / common_dir).resolve(), head, branch)
    without_commit = _git(folder, "rev-parse", *where, check=False)
    if without_commit.code == 0 or b"not a git repository (or any" in without_commit.stderr:
        return None
    raise RefusedError(
        f"git will not work in {folder}",
        hint="give a checkout with a working tree, and one that is yours",
        cause=without_commit.stderr.decode(errors="replace").strip(),
    )


def person_environment() -> dict[str, str]:
    """The environment without a git repository that somebody else (a hook, an editor) had in mind."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith("GIT_CONFIG_") or name == "GIT_CEILING_DIRECTORIES"
    }
    return kept | {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}


def _git(folder: Path, *args: str, check: bool = True) -> process.ProcessResult:
    guards = [word for guard in GUARDS for word in ("-c", guard)]
    return process.run(["git", *guards, *args], cwd=folder, env=person_environment(), check=check)


def _is_bare(folder: Path) -> bool:
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()

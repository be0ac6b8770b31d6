"""Index, refs and operations in progress of the user's repository, read and changed by git itself.

GitPython does not read split indexes, index version 4, reftable or SHA-256, and it moves refs without comparing the
old value; see ci/adr/0013.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters.foreign_files import read_regular
from patchtool.adapters.git.checkout import discover
from patchtool.adapters.git.stale_locks import lock_files, remove_stale_locks
from patchtool.domain.errors import EnvironmentFault

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from patchtool.adapters.git.checkout import Checkout

_OPERATIONS = {
    "MERGE_HEAD": ("a merge", "git merge --continue or --abort"),
    "CHERRY_PICK_HEAD": ("a cherry-pick", "git cherry-pick --continue or --abort"),
    "REVERT_HEAD": ("a revert", "git revert --continue or --abort"),
    "rebase-merge": ("a rebase", "git rebase --continue or --abort"),
    "rebase-apply": ("a rebase or git am", "git rebase or git am with --continue or --abort"),
    "sequencer": ("a sequence of picks", "git cherry-pick or git revert with --continue or --abort"),
    "BISECT_LOG": ("a bisect", "git bisect reset"),
}

_RETURNS_TO = {
    "rebase-merge": "rebase-merge/head-name",
    "rebase-apply": "rebase-apply/head-name",
    "BISECT_LOG": "BISECT_START",
}
"""Files that name the branch to which an unfinished operation returns."""


class IndexEntry(NamedTuple):
    """One file in the index.

    Args:
        mode: ``100644``, ``100755``, ``120000`` or ``160000``.
        oid: The blob's id in the repository's object format.
        stage: 0, or the side of a conflict.
        unwatched: Marked skip-worktree or assume-unchanged, so git does not compare the file.
    """

    mode: str
    oid: str
    stage: int = 0
    unwatched: bool = False


NO_ENTRY = IndexEntry("0", "")
"""A path that the index does not have."""


def is_own_branch(name: str | None, branch: str | None) -> bool:
    """Whether a branch has this full name, or the name that another worktree on it left for this one."""
    return name == branch or bool(name and branch and re.fullmatch(rf"{re.escape(branch)}@\d+", name))


class Repository:
    """The user's repository, for writing to it."""

    def __init__(self, checkout: Checkout) -> None:
        self._checkout = checkout

    def operation_in_progress(self) -> tuple[str, str] | None:
        """Name an unfinished operation, and the command that ends it."""
        for name, operation in _OPERATIONS.items():
            if (self._checkout.git_dir / name).exists():
                return operation
        return None

    def operation_on(self, branch: str) -> tuple[str, str] | None:
        """Name an unfinished operation of any worktree that will return to a branch, and the command that ends it."""
        common = self._checkout.common_dir
        for folder in (common, *sorted((common / "worktrees").glob("*"))):
            for operation, file in _RETURNS_TO.items():
                head = os.fsdecode(read_regular(folder / file) or b"").strip()
                if head and branch in (head, f"refs/heads/{head}"):
                    return _OPERATIONS[operation]
        return None

    def leads_outside(self, branch: str) -> str | None:
        """Name a link on the way to what a write changes in the repository; git itself would follow it."""
        own, common = self._checkout.git_dir, self._checkout.common_dir
        places = [(own, name) for name in ("HEAD", "index", "logs/HEAD")]
        places += [(common, name) for name in ("objects/pack", "packed-refs", branch, f"logs/{branch}")]
        for folder, name in places:
            for file in (folder / name, *(folder / name).parents):
                if file == folder:
                    break
                if file.is_symlink():
                    return str(file)
        return None

    def lock_files(self, branch: str) -> list[Path]:
        """Lock files of a git that is at work, or was killed, on what is changed with a branch."""
        return lock_files(self._checkout, branch)

    def remove_stale_locks(self, branch: str) -> None:
        """Remove the lock files that a killed git of ours left; see `stale_locks.remove_stale_locks`."""
        remove_stale_locks(self._checkout, branch)

    def changes(self) -> list[str]:
        """Every file that git tracks whose content, or whose index entry, is changed."""
        flags = ("--porcelain=v1", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=all")
        return sorted(record[3:] for record in _records(self._checkout.run("status", *flags, reads_files=True)))

    def index_entries(self, paths: Iterable[str]) -> dict[str, IndexEntry]:
        """Look those paths up in the index; an unmerged one has a stage other than 0."""
        entries: dict[str, IndexEntry] = {}
        wanted = list(paths)
        if not wanted:  # git would list every path
            return entries
        for record in _records(self._checkout.run("ls-files", "-s", "-v", "-z", "--", *wanted)):
            attributes, path = record.split("\t", 1)
            tag, mode, oid, stage = attributes.split()
            entries[path] = IndexEntry(mode, oid, int(stage), tag == "S" or tag.islower())
        return entries

    def staged_paths(self) -> dict[str, bool]:
        """Every path whose index entry differs from HEAD's, and whether it is unmerged."""
        flags = ("--cached", "--name-status", "--no-renames", "-z")
        records = _records(self._checkout.run("diff-index", *flags, "HEAD", "--"))
        unmerged = {path for kind, path in zip(records[::2], records[1::2]) if kind == "U"}
        return {path: path in unmerged for path in sorted(set(records[1::2]))}

    def changed_paths(self, paths: Iterable[str]) -> list[str]:
        """Those of the paths whose file or index entry is changed, or that git does not track."""
        wanted = list(paths)
        if not wanted:  # git would list every path
            return []
        # status compares contents where only the times differ; diff-files reports such a file as changed.
        flags = ("--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignored=matching")
        listed = self._checkout.run("status", *flags, "--ignore-submodules=all", "--", *wanted, reads_files=True)
        return sorted(record[3:] for record in _records(listed))

    def with_attribute(self, name: str, paths: Iterable[str]) -> list[str]:
        """Those of the paths for which an attribute, such as ``filter``, has a value; no filter is run."""
        listed = self._checkout.run("check-attr", "-z", name, "--", *paths)
        words = listed.decode("utf-8", "surrogateescape").split("\0")
        return [path for path, value in zip(words[::3], words[2::3]) if value not in ("unspecified", "unset")]

    def update_index(self, entries: Mapping[str, IndexEntry]) -> None:
        """Set or remove those index entries, then refresh the file times that git compares with."""
        none = "0" * max((len(entry.oid) for entry in entries.values()), default=0) or "0" * 40
        lines = "".join(f"{entry.mode} {entry.oid or none}\t{path}\0" for path, entry in entries.items())
        # Writing an index reads the files that changed in the same second.
        update = partial(self._checkout.run, "update-index", durable=True, variables=self._checkout.own_filters())
        update("-z", "--index-info", stdin=os.fsencode(lines))
        with suppress(EnvironmentFault):  # its exit code reports changed files, which are no failure here
            update("-q", "--refresh")

    def head(self) -> tuple[str | None, str | None]:
        """Full name of the branch at HEAD, None when detached, and HEAD's commit."""
        now = discover(self._checkout.root)
        return (now.branch, now.head) if now else (None, None)

    def branch_tip(self, branch: str) -> str | None:
        """The commit of a branch, by full name; None where there is no such branch."""
        listed = self._checkout.run("for-each-ref", "--format=%(objectname) %(refname)", branch).decode()
        lines = (line.split(" ", 1) for line in listed.splitlines())
        return next((oid for oid, name in lines if name == branch), None)

    def worktree_on(self, branch: str) -> Path | None:
        """The folder of another worktree of this repository that stands on a branch."""
        listed = self._checkout.run("for-each-ref", "--format=%(refname)%00%(worktreepath)", branch)
        pairs = (line.split("\0") for line in os.fsdecode(listed).splitlines())
        folder = next((Path(path) for name, path in pairs if name == branch and path), None)
        return None if folder is None or folder.resolve() == self._checkout.root.resolve() else folder

    def own_branch(self, branch: str, earlier: str | None = None) -> str:
        """The name for a branch in this worktree: ``NAME@1``, ``NAME@2`` where another worktree stands on it.

        Args:
            branch: Full name of the branch.
            earlier: The name that it had in this worktree before, which is taken again.
        """
        if earlier and is_own_branch(earlier, branch) and not self.worktree_on(earlier):
            return earlier
        if not self.worktree_on(branch):
            return branch
        return next(name for n in count(1) if not self.branch_tip(name := f"{branch}@{n}"))

    def branches_in_the_way(self, branch: str) -> list[str]:
        """Short names of the branches that a branch cannot exist beside, because one name is a folder of the other."""
        parents = [branch.rsplit("/", count)[0] for count in range(1, branch.count("/") - 1)]
        listed = self._checkout.run("for-each-ref", "--format=%(refname)", *parents, f"{branch}/").decode().splitlines()
        taken = [name for name in listed if name in parents or name.startswith(f"{branch}/")]
        return [name.removeprefix("refs/heads/") for name in taken]

    def create_branch(self, branch: str, commit: str, replaces: str = "") -> None:
        """Create a branch, or move it from the commit that it replaces; an error where it is on another by now."""
        before = replaces or "0" * len(commit)
        self._checkout.run("update-ref", "-m", "patchtool: apply", branch, commit, before, durable=True)
        _fsync_ref(self._checkout.common_dir / branch)

    def delete_branch(self, branch: str, commit: str) -> None:
        """Delete a branch; an error where it is on another commit by now."""
        self._checkout.run("update-ref", "-d", branch, commit, durable=True)

    def set_head(self, branch: str | None, commit: str) -> None:
        """Point HEAD to a branch, or detach it on a commit; files and index stay."""
        if branch:
            self._checkout.run("symbolic-ref", "-m", "patchtool", "HEAD", branch, durable=True)
        else:
            self._checkout.run("update-ref", "--no-deref", "-m", "patchtool", "HEAD", commit, durable=True)
        _fsync_ref(self._checkout.git_dir / "HEAD")


def _fsync_ref(ref: Path) -> None:
    """Bring a ref to disk: git before 2.36 does not, and later ones do not for every symbolic ref."""
    with suppress(FileNotFoundError), ref.open("rb") as stream:  # reftable has no file per ref
        os.fsync(stream.fileno())


def _records(output: bytes) -> list[str]:
    return [record for record in output.decode("utf-8", "surrogateescape").split("\0") if record]

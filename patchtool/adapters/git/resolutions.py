"""How conflicts of text patches were resolved: kept in the store as git commits, to be used again as rerere does.

A resolution is a commit of the patch as it was resolved, on the files that it conflicted with. Its ref,
``refs/resolutions/<patch>/<change>/<release>-<files>``, has the content of the conflict: a digest of what the patch
does where it was made, and one of the files that it was to be carried to.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters.git.commit_tree import CommitTree
from patchtool.domain.objects import blob_id
from patchtool.domain.text_patch import FileChange, Resolution, TextChange
from patchtool.domain.trees import entries_of

if TYPE_CHECKING:
    from patchtool.adapters.git.plumbing import Git
    from patchtool.domain.ports import Tree

_REFS = "refs/resolutions"
_DIGITS = 20
Entries = Mapping[str, tuple[str, bytes]]
"""Mode and bytes by path."""


class Resolutions(NamedTuple):
    """The resolutions of the conflicts of one patch.

    Args:
        git: The store.
        patch: The patch's name.
        refs: Commits by ``<change>/<release>-<files>``.
    """

    git: Git
    patch: str
    refs: Mapping[str, str]

    @property
    def key(self) -> str:
        """Identifies them; empty where there is none."""
        return hashlib.sha256(repr(sorted(self.refs.items())).encode()).hexdigest() if self.refs else ""

    def of(self, change: TextChange, tree: Tree) -> list[Resolution]:
        """Read the resolutions of a change's conflicts that say what it is on a tree, those on the same files first.

        Args:
            change: What the patch does where it was made.
            tree: The tree that it is to be carried to.
        """
        prefix = f"{_change_key(change)}/"
        there = _targets(change, tree)
        found = []
        for name, commit in sorted(self.refs.items()):
            if name.startswith(prefix):
                release, _, files = name.removeprefix(prefix).rpartition("-")
                same = files == _files_key(there)
                found += self._read(commit, release, change, tree, same=same)
        return sorted(found, key=lambda resolution: not resolution.whole)

    def _read(self, commit: str, release: str, change: TextChange, tree: Tree, *, same: bool) -> list[Resolution]:
        listed = self.git.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", f"{commit}^", commit).stdout
        paths = listed.decode("utf-8", "surrogateescape").split("\0")[:-1]
        before = CommitTree(self.git, f"{commit}^")
        old, new = (entries_of(side, paths) for side in (before, CommitTree(self.git, commit)))
        there = entries_of(tree, paths)
        if not same:
            # What it left out of a file was left out for what that file was there.
            left = [path for file in change.files for path in (file.path, file.source_path) if path not in paths]
            if entries_of(before, left) != entries_of(tree, left):
                return []
        files = tuple(_file(path, old.get(path), new.get(path)) for path in paths)
        return [Resolution(release, TextChange(files), whole=same and there == old)]


def _file(path: str, old: tuple[str, bytes] | None, new: tuple[str, bytes] | None) -> FileChange:
    base_mode, base = old or ("", None)
    patched_mode, patched = new or ("", None)
    return FileChange(path, base, patched, "", base_mode, patched_mode)


def recorded_resolutions(git: Git) -> dict[str, Resolutions]:
    """All resolutions that a store has, by the name of the patch; starts git only where there may be some."""
    folder = git.git_dir
    if folder is None or not any((folder / name).exists() for name in (_REFS, "packed-refs", "reftable")):
        return {}
    found: dict[str, dict[str, str]] = {}
    for name, commit in git.refs(_REFS).items():
        patch, _, rest = name.partition("/")
        found.setdefault(patch, {})[rest] = commit
    return {patch: Resolutions(git, patch, refs) for patch, refs in found.items()}


def record_resolution(git: Git, patch: str, release: str, change: TextChange, tree: Tree, commit: str) -> None:
    """Record how a conflict was resolved; the caller holds the lock of the store.

    Args:
        git: The store.
        patch: The patch's name.
        release: The release's name in refs.
        change: What the patch does where it was made.
        tree: The tree that it conflicts with.
        commit: The resolved patch on that tree.
    """
    name = f"{_REFS}/{patch}/{_change_key(change)}/{release}-{_files_key(_targets(change, tree))}"
    git.run("update-ref", name, commit)


def forget_resolutions(git: Git, patch: str) -> int:
    """Remove the resolutions of a patch's conflicts; the caller holds the lock of the store.

    Returns:
        How many there were.
    """
    known = recorded_resolutions(git).get(patch)
    names = [f"{_REFS}/{patch}/{name}" for name in known.refs] if known else []
    if names:
        git.run("update-ref", "--stdin", stdin="".join(f"delete {name}\n" for name in names).encode())
    return len(names)


def _targets(change: TextChange, tree: Tree) -> Entries:
    return entries_of(tree, sorted({path for file in change.files for path in (file.path, file.source_path)}))


def _change_key(change: TextChange) -> str:
    return _digest(
        [[f.old_path, f.path, f.base_mode, f.patched_mode, _id(f.base), _id(f.patched)] for f in change.files]
    )


def _files_key(there: Entries) -> str:
    return _digest([[path, mode, _id(data)] for path, (mode, data) in sorted(there.items())])


def _id(data: bytes | None) -> str:
    return "" if data is None else blob_id(data)


def _digest(rows: list[list[str]]) -> str:
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:_DIGITS]

"""Commit the rendered series in the user's repository with GitPython's object model: trees, blobs and commits.

The objects are made in memory and stored by one git process, so that git's own rules hold for them: they are on disk
before a ref names them, and have the permissions of ``core.sharedRepository``. No ref changes and no hook runs.
"""

from __future__ import annotations

import os
from io import BytesIO
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import git
from git.db import GitCmdObjectDB
from gitdb import IStream, MemoryDB, OInfo, OStream
from gitdb.pack import PackEntity

from patchtool.adapters.git.commits import import_stream, only_edits
from patchtool.adapters.git.plumbing import GUARDS, NO_FETCH
from patchtool.domain.errors import EnvironmentFault

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from patchtool.adapters.git.checkout import Checkout
    from patchtool.adapters.git.commits import PatchCommit

_SHA1_DIGITS = 40
_OUTER_GIT = ("GIT_DIR", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_WORK_TREE", "GIT_ALTERNATE_OBJECT_DIRECTORIES")
"""Set by git for hooks and aliases; GitPython opens the repository that they name, whatever path it is given."""


class StoredSeries(NamedTuple):
    """The commits of a series in the object database.

    Args:
        commits: Their ids, in series order.
        tree: Id of the last one's tree.
    """

    commits: tuple[str, ...]
    tree: str


def commit_series(
    checkout: Checkout, commits: Sequence[PatchCommit], place: Callable[[str], tuple[str, str]]
) -> StoredSeries:
    """Store one commit per patch on top of HEAD; author and committer dates are those of HEAD's commit.

    Args:
        checkout: The user's checkout.
        commits: In series order, with bytes as git stores them.
        place: Mode and path in the repository of a path in the git layout.

    Returns:
        What was stored; no ref names it yet.

    Raises:
        EnvironmentFault: The repository cannot be read, or git failed.
    """
    # GitPython's objects have room for 20 bytes of an id, and a tree's bytes are edited only where a file exists.
    outer = any(name in os.environ for name in _OUTER_GIT)
    if len(checkout.head) != _SHA1_DIGITS or not only_edits(commits) or outer:
        return _fast_import(checkout, commits, place)
    try:
        with git.Repo(checkout.root, odbt=_ObjectBuffer, expand_vars=False) as repo:
            repo.git.set_persistent_git_options(c=[f"{key}={value}" for key, value in GUARDS.items()])
            # GitPython expands $NAME in the folder that it runs in.
            repo.git.update_environment(GIT_DIR=str(checkout.git_dir), **NO_FETCH)
            parent = git.Commit(repo, bytes.fromhex(checkout.head))
            made = []
            for patch in commits:
                files = {tuple(place(path)[1].split("/")): data or b"" for path, data in patch.contents.items()}
                parent = _commit(parent, patch, _replace_files(parent.tree, files))
                made.append(parent.hexsha)
            tree = parent.tree.hexsha
            checkout.run("unpack-objects", "-q", stdin=repo.odb.pack(), durable=True)
    except (git.GitError, ValueError) as error:
        raise EnvironmentFault(
            f"GitPython cannot commit in {checkout.root}",
            hint="use --no-commit to edit the files only",
            cause=str(error),
        ) from error
    return StoredSeries(tuple(made), tree)


def _fast_import(
    checkout: Checkout, commits: Sequence[PatchCommit], place: Callable[[str], tuple[str, str]]
) -> StoredSeries:
    when = checkout.run("log", "-1", "--format=%ct +0000", checkout.head, "--").decode().strip()
    stream = import_stream(commits, base=checkout.head, when=when, place=place)
    made = checkout.run("fast-import", "--quiet", "--done", "--date-format=raw", stdin=stream, durable=True)
    ids = tuple(made.decode().split())
    return StoredSeries(ids, checkout.run("rev-parse", f"{ids[-1]}^{{tree}}").decode().strip())


def _commit(parent: git.Commit, patch: PatchCommit, tree: git.Tree) -> git.Commit:
    name, _, address = patch.author.rpartition(" <")
    actor = git.Actor(name, address.removesuffix(">"))
    # `Commit.create_from_tree` would take the encoding from the user's configuration.
    return parent.replace(
        tree=tree,
        parents=[parent],
        author=actor,
        authored_date=parent.committed_date,
        author_tz_offset=0,
        committer=actor,
        committed_date=parent.committed_date,
        committer_tz_offset=0,
        message=patch.message,
        encoding="UTF-8",
        gpgsig=None,
    )


def _replace_files(tree: git.Tree, files: Mapping[tuple[str, ...], bytes]) -> git.Tree:
    """Make the tree with other contents of some files; every other byte of it stays.

    `TreeModifier` would encode every name again, which fails for the names that are not UTF-8.
    """
    data = tree.data_stream.read()
    for name, group in groupby(sorted(files.items()), key=lambda item: item[0][0]):
        inner = {parts[1:]: content for parts, content in group}
        entry = tree[name]
        new = _store(tree.repo, "blob", inner[()]) if () in inner else _replace_files(entry, inner).binsha
        prefix = b" " + name.encode() + b"\0"
        data = data.replace(prefix + entry.binsha, prefix + new)
    return git.Tree(tree.repo, _store(tree.repo, "tree", data), tree.mode, tree.path)


def _store(repo: git.Repo, kind: str, data: bytes) -> bytes:
    binsha: bytes = repo.odb.store(IStream(kind, len(data), BytesIO(data))).binsha
    return binsha


class _ObjectBuffer(GitCmdObjectDB):
    """Object database of one commit session: reads by ``git cat-file``, keeps new objects in memory."""

    def __init__(self, root_path: str, git_command: git.Git) -> None:
        super().__init__(root_path, git_command)
        self._new = MemoryDB()

    def store(self, istream: IStream) -> IStream:
        istream.type = istream.type.encode()  # a pack needs the bytes
        return self._new.store(istream)

    def info(self, binsha: bytes) -> OInfo:
        return self._new.info(binsha) if self._new.has_object(binsha) else super().info(binsha)

    def stream(self, binsha: bytes) -> OStream:
        return self._new.stream(binsha) if self._new.has_object(binsha) else super().stream(binsha)

    def pack(self) -> bytes:
        """All new objects as one pack."""
        pack = BytesIO()
        PackEntity.write_pack([self._new.stream(binsha) for binsha in self._new.sha_iter()], pack.write)
        return pack.getvalue()

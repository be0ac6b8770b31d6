"""A ``--tree`` as the engine sees it: files on disk under the git layout, looked at and never changed."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.adapters.files import safe_join
from patchtool.adapters.git.checkout import discover
from patchtool.adapters.git.commits import blob_id
from patchtool.adapters.worktree.journal import Journal
from patchtool.adapters.worktree.layout import find_package
from patchtool.adapters.worktree.release_guess import release_of_files, release_of_tags
from patchtool.domain.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from patchtool.adapters.git.checkout import Checkout
    from patchtool.domain.release import Release

_LAYOUT = "python/"


@dataclass(frozen=True)
class Worktree:
    """A tree the series can be written to; implements the domain's ``Tree``.

    Bytes and ids are those git stores: a checkout that shows CRLF for a file stored with LF is read with LF.
    Ids are SHA-1, as in the store and the lock, whatever the repository's own format.

    Args:
        package: The ``sglang`` folder.
        checkout: The git checkout it is the content of, None for a plain folder.
        notes: What was followed or found on the way, for the person.
    """

    package: Path
    checkout: Checkout | None = None
    notes: tuple[str, ...] = ()
    _endings: dict[str, str] = field(default_factory=dict, compare=False, repr=False)

    @property
    def base(self) -> Path:
        """The folder that holds ``sglang``: what ``python/`` of the git layout is here."""
        return self.package.parent

    @property
    def root(self) -> Path:
        """The tree's root: of the checkout, or the folder that holds the package."""
        return self.checkout.root if self.checkout else self.base

    @property
    def state_dir(self) -> Path:
        """Where the journal is; outside of what git or an importer sees."""
        return self.checkout.git_dir / "patchtool" if self.checkout else self.base / ".patchtool"

    @property
    def head(self) -> str | None:
        """The commit at HEAD when the worktree was opened."""
        return self.checkout.head if self.checkout else None

    @property
    def branch(self) -> str | None:
        """The full name of the branch HEAD was on, None when detached or without git."""
        return self.checkout.branch if self.checkout else None

    @cached_property
    def release(self) -> Release | None:
        """Which release it seems to be, by a tag where HEAD is or was before us, or by its files."""
        if self.checkout is None:
            return release_of_files(self.package)
        applied = Journal(self.state_dir).applied()
        commit = applied.head if applied and self.head in applied.commits else self.head
        return release_of_tags(self.checkout.tags(commit or "HEAD")) or release_of_files(self.package)

    def blob_ids(self, paths: Iterable[str]) -> dict[str, str]:
        """SHA-1 blob ids of those paths that exist as regular files."""
        return {path: blob_id(content) for path, content in self.read_all(paths).items()}

    def read(self, path: str) -> bytes | None:
        """The bytes git stores for the file, or None where it does not exist."""
        return self.read_all([path]).get(path)

    def read_all(self, paths: Iterable[str]) -> dict[str, bytes]:
        """Read many files at once; those that do not exist are left out."""
        raw = {path: content for path in paths if (content := self.raw(path)) is not None}
        endings = self.line_endings(raw)
        return {path: content.replace(b"\r\n", b"\n") if path in endings else content for path, content in raw.items()}

    def raw(self, path: str) -> bytes | None:
        """The bytes on disk, or None where there is no regular file."""
        if not path.startswith(_LAYOUT):
            return None
        file = safe_join(self.base, path.removeprefix(_LAYOUT))
        return file.read_bytes() if file.is_file() else None

    def line_endings(self, raw: dict[str, bytes]) -> dict[str, str]:
        """``crlf`` or ``mixed`` for those files that git stores with LF instead.

        Args:
            raw: Bytes on disk by path; git is asked only about files that have a CRLF, and once.
        """
        if self.checkout is None:
            return {}
        asked = {self.in_repository(path): path for path, content in raw.items() if b"\r\n" in content}
        unknown = [place for place, path in asked.items() if path not in self._endings]
        if unknown:
            told = self.checkout.line_endings(unknown)
            self._endings.update({asked[place]: told.get(place, "") for place in unknown})
        return {path: self._endings[path] for path in asked.values() if self._endings[path]}

    def on_disk(self, path: str) -> Path:
        """The file of a path in the git layout; it need not exist."""
        return self.base / path.removeprefix(_LAYOUT)

    def in_repository(self, path: str) -> str:
        """The path in the person's repository of a path in the git layout."""
        return self.on_disk(path).relative_to(self.root).as_posix()

    def containing(self, word: str) -> list[str]:
        """Paths of Python files that contain this word, sorted; reads every file."""
        wanted = re.compile(rb"(?<!\w)%s(?!\w)" % re.escape(word.encode()))
        found = []
        for folder, names, files in os.walk(self.package):
            names[:] = [name for name in names if name != "__pycache__"]
            for name in files:
                file = Path(folder, name)
                if not name.endswith(".py") or file.is_symlink():
                    continue
                content = file.read_bytes()
                # Plain search first: the expression alone takes ten times as long.
                if word.encode() in content and wanted.search(content):
                    found.append(_LAYOUT + file.relative_to(self.base).as_posix())
        return sorted(found)


def open_worktree(path: Path) -> Worktree:
    """Open the tree a person means by a path.

    Args:
        path: See ``find_package``.

    Raises:
        InputError: There is no such folder.
        RefusedError: It is not SGLang, or a repository git will not work in; says where it looked.
    """
    try:
        found = find_package(path)
    except RefusedError:
        # A bare repository, or one git distrusts, is the better answer when that is what it is.
        discover(path.resolve())
        raise
    checkout = discover(found.package.parent)
    if checkout is None:
        return Worktree(found.package, None, found.notes)
    in_root = found.package.parent in (checkout.root, checkout.root / "python")
    inside = found.package.relative_to(checkout.root) if found.package.is_relative_to(checkout.root) else None
    if in_root and inside and checkout.tracks(f"{inside.as_posix()}/__init__.py"):
        return Worktree(found.package, checkout, found.notes)
    note = f"{checkout.root} is not a checkout of SGLang: files are edited, nothing is committed"
    return Worktree(found.package, None, (*found.notes, note))

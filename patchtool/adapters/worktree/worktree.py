"""The folder given with ``--tree`` as a `Tree`: its files under the paths of the git layout, read-only."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.adapters.files import safe_join
from patchtool.adapters.foreign_files import list_folder, read_regular
from patchtool.adapters.git.checkout import discover
from patchtool.adapters.git.repository import Repository
from patchtool.adapters.worktree.committed import CommittedSeries, committed_series
from patchtool.adapters.worktree.journal import Journal
from patchtool.adapters.worktree.layout import find_package
from patchtool.adapters.worktree.ownership import foreign, free_name
from patchtool.adapters.worktree.release_detection import release_from_files, release_from_tags
from patchtool.adapters.worktree.unlike_git import is_utf8, refuse_encoded, refuse_left_out
from patchtool.domain.errors import RefusedError
from patchtool.domain.objects import blob_id
from patchtool.domain.text_patch import EXECUTABLE, REGULAR, SYMLINK

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from patchtool.adapters.git.checkout import Checkout
    from patchtool.adapters.worktree.file_ids import FileIds
    from patchtool.adapters.worktree.records import Applied
    from patchtool.domain.package import Package
    from patchtool.domain.release import Release


@dataclass(frozen=True)
class Worktree:
    """A folder that the series can be written to; implements the `Tree` port.

    Bytes and ids are those that git stores: a file checked out with CRLF and stored with LF is read with LF.
    Ids are SHA-1, as in the store and the lock, whatever the repository's object format.

    Args:
        package: The package's folder.
        upstream: The package, as upstream has it.
        checkout: The git checkout that tracks it, None for a plain folder.
        notes: Sentences for the user on how the package was located.
        known: Releases that the project records; a checkout at the commit of one of them is it.
        placed: The release that it is by its content.
        ids: Blob ids that earlier runs found, if they are kept.
        without: Bytes on disk of files as they were before a series, by path, None for no file; see `without_series`.
    """

    package: Path
    upstream: Package
    checkout: Checkout | None = None
    notes: tuple[str, ...] = ()
    known: tuple[Release, ...] = ()
    placed: Release | None = None
    ids: FileIds | None = field(default=None, compare=False, repr=False)
    without: Mapping[str, bytes | None] = field(default_factory=dict, compare=False, repr=False)
    _endings: dict[str, str] = field(default_factory=dict, compare=False, repr=False)
    _real_folders: set[str] = field(default_factory=set, compare=False, repr=False)

    @property
    def base(self) -> Path:
        """The folder that has the package."""
        return self.package.parent

    @property
    def root(self) -> Path:
        """The checkout's root, or the folder that has the package."""
        return self.checkout.root if self.checkout else self.base

    @property
    def state_dir(self) -> Path:
        """The journal's folder; neither git nor an importer sees it."""
        return self.checkout.git_dir / "patchtool" if self.checkout else self.base / ".patchtool"

    @property
    def repository(self) -> Repository | None:
        """Index and refs of the checkout, None for a plain folder."""
        return Repository(self.checkout) if self.checkout else None

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
        """The release by the commit that the series is or will be applied on or a tag there, else by version files."""
        if self.placed is not None:
            return self.placed
        if self.checkout is None:
            return release_from_files(self.package, self.upstream, self.known)
        applied = Journal(self.state_dir, self.upstream).applied()
        commit = applied.head if applied and self.head in applied.commits else self.head
        recorded = {release.commit: release for release in self.known if release.commit}
        if commit in recorded:
            return recorded[commit]
        tags = self.checkout.tags(commit or "HEAD")
        if not tags and self.committed and self.committed.below != commit:
            if self.committed.below in recorded and not self.committed.merged:
                return recorded[self.committed.below]
            merged = self.committed.merged
            newer = self.checkout.tags_between(self.committed.below, merged[0]) if merged else []
            tags = newer or self.checkout.tags(self.committed.below)
        return release_from_tags(tags) or release_from_files(self.package, self.upstream, self.known)

    @cached_property
    def committed(self) -> CommittedSeries | None:
        """The series whose commits are at HEAD, whoever made them; None where HEAD is another commit."""
        return committed_series(self.checkout) if self.checkout else None

    def blob_ids(self, paths: Iterable[str]) -> dict[str, str]:
        """SHA-1 blob ids of those paths that exist as regular files."""
        if self.ids is None:
            return {path: blob_id(content) for path, content in self.read_many(paths).items()}
        wanted = [path for path in paths if path in self.without or path.startswith(self.upstream.root)]
        found = {path: status for path in wanted if (status := self._status(path))}
        known = self.ids.known(found)
        contents = self.read_many(
            path for path in wanted if path in self.without or (path in found and path not in known)
        )
        ids = {path: blob_id(content) for path, content in contents.items()}
        # What git stores in another form than it is on disk depends on more than the file.
        plain = (path for path, data in contents.items() if path not in self._endings and b"\r" not in data)
        self.ids.keep({path: (found[path], ids[path]) for path in plain if path in found and is_utf8(contents[path])})
        return known | ids

    def _status(self, path: str) -> os.stat_result | None:
        if path in self.without:
            return None
        try:
            return os.lstat(f"{self._base}/{self.upstream.installed(path)}")
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None

    def read(self, path: str) -> bytes | None:
        """The bytes that git stores for the file, or None where it does not exist."""
        raw = self.raw(path)
        return None if raw is None else self._stored({path: raw})[path]

    def read_many(self, paths: Iterable[str]) -> dict[str, bytes]:
        """The bytes of those paths that exist as regular files."""
        return self._stored(self._raw_many(paths))

    def _stored(self, raw: dict[str, bytes]) -> dict[str, bytes]:
        if self.checkout and (unusual := [path for path, content in raw.items() if not is_utf8(content)]):
            refuse_encoded(self.checkout, map(self.in_repository, unusual))
        endings = self.line_endings(raw)
        return {path: content.replace(b"\r\n", b"\n") if path in endings else content for path, content in raw.items()}

    def entries(self, paths: Iterable[str]) -> dict[str, tuple[str, bytes]]:
        """Git's mode, and the bytes that git stores, of those paths that are files; of a checkout also links."""
        wanted = list(paths)
        files = self.read_many(wanted)
        found = {path: (_mode(self.on_disk(path)), data) for path, data in files.items()}
        links = [path for path in wanted if self.checkout and self.is_linked(path)]
        return found | {path: (SYMLINK, os.fsencode(self.on_disk(path).readlink())) for path in links}

    def is_linked(self, path: str) -> bool:
        """Whether there is a symbolic link."""
        return path.startswith(self.upstream.root) and self.on_disk(path).is_symlink()

    def raw(self, path: str) -> bytes | None:
        """The bytes on disk, or None where there is no regular file."""
        if path in self.without:
            return self.without[path]
        return read_regular(self._join(self.upstream.installed(path))) if path.startswith(self.upstream.root) else None

    def _raw_many(self, paths: Iterable[str]) -> dict[str, bytes]:
        """The bytes on disk of those paths that are regular files; each folder is listed once."""
        listed: dict[str, dict[str, os.DirEntry[str]]] = {}

        def entries(folder: str) -> dict[str, os.DirEntry[str]]:
            if folder not in listed:
                above, _, name = folder.rpartition("/")
                there = not name or name in entries(above)
                listed[folder] = list_folder(self._join(folder) if folder else self.base) if there else {}
            return listed[folder]

        wanted = list(paths)
        contents = {path: data for path in wanted if (data := self.without.get(path)) is not None}
        for path in (path for path in wanted if path not in self.without):
            name = self.upstream.installed(path)
            folder, _, file = name.rpartition("/")
            if path.startswith(self.upstream.root) and (entry := entries(folder).get(file)):
                regular = entry.is_file(follow_symlinks=False)
                joined = f"{self._base}/{name}" if regular else self._join(name)
                if (content := read_regular(joined, listed=regular)) is not None:
                    contents[path] = content
        return contents

    def _join(self, name: str) -> Path:
        # An installer may have made every file a link into its cache; what git checks out leads nowhere else.
        return safe_join(self.base, name, follow=self.checkout is None, real=self._real_folders)

    @cached_property
    def _base(self) -> str:
        return os.fspath(self.base)

    def without_series(self, applied: Applied, originals: Mapping[str, bytes | None]) -> Worktree:
        """The worktree as it was before a series, for planning: bytes of its files, HEAD and its branch."""
        checkout = self.checkout
        if checkout and applied.branch and applied.head:
            checkout = checkout._replace(head=applied.head, branch=applied.head_branch)
        return replace(self, checkout=checkout, without=originals)

    def line_endings(self, raw: dict[str, bytes]) -> dict[str, str]:
        """``crlf`` or ``mixed`` by path for those files that git stores with LF.

        Args:
            raw: Bytes on disk by path; git is asked once, and only about files that have a CRLF.
        """
        if self.checkout is None:
            return {}
        crlf = [path for path, content in raw.items() if b"\r" in content and b"\r\n" in content]  # one byte is quicker
        unknown = {path: self.in_repository(path) for path in crlf if path not in self._endings}
        if unknown:
            endings = self.checkout.line_endings(unknown.values())
            self._endings.update({path: endings.get(name, "") for path, name in unknown.items()})
        return {path: self._endings[path] for path in crlf if self._endings[path]}

    def refuse_left_out(self, paths: Iterable[str]) -> None:
        """Refuse a sparse checkout that leaves out some of these files; see `unlike_git`."""
        if self.checkout:
            inside = (path for path in paths if path.startswith(self.upstream.root))
            refuse_left_out(self.checkout, [self.in_repository(p) for p in inside if not self.on_disk(p).exists()])

    def on_disk(self, path: str) -> Path:
        """The file of a path in the git layout; it need not exist."""
        return self.base / self.upstream.installed(path)

    def in_repository(self, path: str) -> str:
        """The path in the user's repository of a path in the git layout."""
        return self.on_disk(path).relative_to(self.root).as_posix()

    def containing(self, word: str) -> list[str]:
        """Paths of Python files that contain this word, sorted; reads every file."""
        pattern = re.compile(rb"(?<!\w)%s(?!\w)" % re.escape(word.encode()))
        matches = []
        for folder, names, files in os.walk(self.package):
            names[:] = [name for name in names if name != "__pycache__"]
            for name in files:
                file = Path(folder, name)
                if not name.endswith(".py") or (file.is_symlink() and self.checkout):
                    continue
                content = read_regular(file) or b""
                # Plain search first: the expression alone takes ten times as long.
                if word.encode() in content and pattern.search(content):
                    matches.append(self.upstream.root + file.relative_to(self.base).as_posix())
        return sorted(matches)


def _mode(file: Path) -> str:
    return EXECUTABLE if file.stat().st_mode & 0o100 else REGULAR


def open_worktree(path: Path, upstream: Package) -> Worktree:
    """Open the tree of the package that a path refers to.

    Args:
        path: See `find_package`.
        upstream: The package.

    Raises:
        InputError: There is no such folder.
        RefusedError: It has no such package, or is in a repository that git refuses to work in.
    """
    try:
        package, notes = find_package(path, upstream)
    except RefusedError:
        # In a bare repository, one that git distrusts, or a sparse checkout, that is the better explanation.
        if checkout := discover(path.resolve()):
            refuse_left_out(checkout, [f"{upstream.folder}/__init__.py"])
        raise
    worktree = _located(package, upstream, notes)
    if why := foreign(worktree.state_dir):
        aside = free_name(worktree.state_dir)
        note = f"the record in {worktree.state_dir} is not acted on: {why}; a write moves it to {aside.name}"
        return replace(worktree, notes=(*worktree.notes, note))
    return worktree


def _located(package: Path, upstream: Package, notes: tuple[str, ...]) -> Worktree:
    checkout = discover(package.parent)
    if checkout is None:
        if any((folder / ".git").exists() for folder in package.parents):
            notes += (f"git has no commit of {upstream.name} here: files are edited, nothing is committed",)
        return Worktree(package, upstream, None, notes)
    if checkout.of_another_tree:
        note = f"{checkout.git_dir} belongs to another tree: files are edited, nothing is committed"
        return Worktree(package, upstream, None, (*notes, note))
    if package.parent in (checkout.root, checkout.root / upstream.layout):
        name = package.relative_to(checkout.root).as_posix()
        if checkout.tracks(f"{name}/__init__.py"):
            return Worktree(package, upstream, checkout, notes)
    note = f"{checkout.root} is not a checkout of {upstream.name}: files are edited, nothing is committed"
    return Worktree(package, upstream, None, (*notes, note))

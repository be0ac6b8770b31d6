"""What is exported: the rendered series as git commits in the store, and everything that formats are made from."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from packaging.version import InvalidVersion, Version

from patchtool.adapters.git.plumbing import Git
from patchtool.domain.errors import InputError
from patchtool.domain.package import Package
from patchtool.domain.patch import PatchInfo, PatchReport
from patchtool.domain.pin import Pin
from patchtool.domain.release import Release
from patchtool.domain.text_patch import REGULAR
from patchtool.workflow.commits import commit_patches, patch_commits
from patchtool.workflow.dates import DEFAULT_DATE, iso_time, last_update
from patchtool.workflow.rendering import Rendering

_MAIL = b"From " + b"0" * 40 + b" Mon Sep 17 00:00:00 2001\n"
_DIFF = ("-p", "--full-index", "--no-renames", "--binary", "--no-color", "--no-ext-diff", "--no-textconv", "-U3")


class Layout(str, Enum):
    """Which folder patches are applied in."""

    GIT = "git"
    PACKAGE = "package"


class ExportedPatch(NamedTuple):
    """One patch that changes the tree.

    Args:
        info: Its metadata.
        diff: What it changes on top of those before it, as git writes it; renames are a deletion and a new file.
        date: Its last update, seconds since 1970 UTC.
    """

    info: PatchInfo
    diff: bytes
    date: int

    @property
    def day(self) -> str:
        """ISO date of its last update."""
        return iso_time(self.date)[:10]


class ChangedFile(NamedTuple):
    """One file before and after the series.

    Args:
        path: In the git layout.
        mode: Git's, after the series; before it for a file that is deleted.
        before: Its bytes, None for a file that the series creates.
        after: Its bytes, None for a file that the series deletes; of a symbolic link, its target.
        sets_mode: Whether the series gives it another mode than it has, or than a new file has.
    """

    path: str
    mode: str
    before: bytes | None
    after: bytes | None
    sets_mode: bool = False


@dataclass(frozen=True)
class ExportedSeries:
    """The series on one release, for exporters.

    Args:
        git: The store.
        pin: The project's pin.
        release: The release that the series was rendered on.
        hashes: SHA-256, hex, of its artifacts that are known.
        base: Its commit in the store.
        commits: One for each patch that changes the tree, in order.
        infos: The metadata of those patches.
        reports: The whole series, with the patches that change nothing.
        layout: Which folder patch formats are applied in.
        local: Label of the local version, such as ``npu.1``.
        package: Its package.
        when: ``SOURCE_DATE_EPOCH``, or None.
        complete: Fetches the files of the release that a partial clone lacks.
        fetch_artifacts: Returns the release's wheels to patch, verified by hash.
        progress: Called with what is under way, how much of it is done, how much there is, and of what.
    """

    git: Git
    pin: Pin
    release: Release
    hashes: tuple[str, ...]
    base: str
    commits: tuple[str, ...]
    infos: tuple[PatchInfo, ...]
    package: Package
    reports: tuple[PatchReport, ...] = ()
    layout: Layout = Layout.GIT
    local: str = "npu.1"
    when: int | None = None
    complete: Callable[[], None] = lambda: None
    fetch_artifacts: Callable[[], Sequence[Path]] = tuple
    progress: Callable[[str, int, int, str], None] = lambda *_: None

    @property
    def project(self) -> str:
        """The distribution's name."""
        return self.pin.project

    @property
    def version(self) -> str:
        """The version of what is exported, with a local part."""
        return with_local(self.upstream_version, self.local)

    @property
    def upstream_version(self) -> str:
        """The version of the release; of a commit, the version that its name says and the start of its id."""
        version, commit = self.release.version or "0", self.release.commit
        return with_local(version, f"g{commit[:10]}") if commit else version

    @property
    def source(self) -> str:
        """Where the release comes from: a package URL, or the repository and commit."""
        if self.pin.git is not None and self.release.commit:
            return self.pin.git.at(self.release.commit)
        return f"pkg:pypi/{self.project}@{self.upstream_version}"

    @property
    def tip(self) -> str:
        """The last commit."""
        return self.commits[-1] if self.commits else self.base

    @property
    def digest(self) -> str:
        """SHA-256, hex, over names and digests of the whole series."""
        infos = [report.info for report in self.reports] or self.infos
        return hashlib.sha256("".join(f"{info.name} {info.digest}\n" for info in infos).encode()).hexdigest()

    @property
    def date(self) -> int:
        """The date of everything that is written, seconds since 1970 UTC."""
        latest = max((last_update(info) for info in self.infos), default=DEFAULT_DATE)
        return latest if self.when is None else self.when

    @cached_property
    def patches(self) -> tuple[ExportedPatch, ...]:
        """The patches that change the tree, in order; all diffs come from one git process."""
        if not self.commits:
            return ()
        ids = "".join(f"{commit}\n" for commit in self.commits).encode()
        output = self.git.run("diff-tree", "--stdin", *_DIFF, *self._relative, stdin=ids).stdout
        # No other line starts with an id: those of a diff start with a space, a sign or a word.
        parts = re.split(rb"^(%s)\n" % b"|".join(ids.split()), output, flags=re.MULTILINE)
        diffs = {commit.decode(): diff.removeprefix(b"\n") for commit, diff in zip(parts[1::2], parts[2::2])}
        return tuple(
            ExportedPatch(info, diffs.get(commit, b""), min(last_update(info), self.date))
            for info, commit in zip(self.infos, self.commits)
        )

    @cached_property
    def files(self) -> tuple[ChangedFile, ...]:
        """Every file that the series changes, by path."""
        raw = self.git.run("diff-tree", "-r", "-z", "--no-renames", self.base, self.tip).stdout
        fields = raw.decode("utf-8", "surrogateescape").split("\0")[:-1]
        entries = [(header.lstrip(":").split(), path) for header, path in zip(fields[::2], fields[1::2])]
        objects = self.git.objects(blob for entry, _ in entries for blob in entry[2:4] if blob.strip("0"))
        changed = []
        for (old_mode, new_mode, old, new, _), path in entries:
            mode = new_mode if new.strip("0") else old_mode
            before, after = (objects[blob][1] if blob.strip("0") else None for blob in (old, new))
            sets_mode = after is not None and new_mode != (REGULAR if before is None else old_mode)
            changed.append(ChangedFile(path, mode, before, after, sets_mode))
        return tuple(changed)

    def mails(self) -> list[bytes]:
        """The patches as ``git format-patch`` writes them, in order.

        A mail starts at a line that no diff has; that no message has it is for the caller to make sure.
        """
        flags = ("--numbered", "--zero-commit", "--no-signature", f"--base={self.base}", "--quiet")
        commits = f"{self.base}..{self.tip}"
        output = self.git.run("format-patch", *flags, *_DIFF, "--stat", "--stdout", *self._relative, commits).stdout
        return [_MAIL + mail for mail in re.split(b"^" + _MAIL, output, flags=re.MULTILINE)[1:]]

    def tree(self, commit: str) -> dict[str, tuple[str, bytes]]:
        """Mode and bytes of every file of a commit, by path in the chosen layout, sorted."""
        self.complete()
        listing = self.git.run("ls-tree", "-r", "-z", "--full-tree", commit).stdout
        entries = [line.partition("\t") for line in listing.decode("utf-8", "surrogateescape").split("\0") if line]
        blobs = {path: header.split() for header, _, path in entries}
        objects = self.git.objects(oid for _, kind, oid in blobs.values() if kind == "blob")
        files = {}
        for path, (mode, kind, oid) in sorted(blobs.items()):  # a submodule is a commit, and has no bytes here
            files[self.in_layout(path)] = (mode, objects[oid][1] if kind == "blob" else b"")
        return files

    @cached_property
    def release_archive(self) -> bytes:
        """The release without the patches, ``.tar.bz2``, all files in one folder that is named after it."""
        from patchtool.adapters.tarballs import tar_bz2  # late: few formats have archives

        prefix = f"{self.project}-{self.upstream_version}"
        return tar_bz2({f"{prefix}/{path}": file for path, file in self.tree(self.base).items()}, DEFAULT_DATE)

    def in_layout(self, path: str) -> str:
        """A path in the git layout as the chosen layout has it.

        Raises:
            InputError: An installed package has no such path.
        """
        return self.installed(path) if self.layout is Layout.PACKAGE else path

    @property
    def _relative(self) -> tuple[str, ...]:
        root = self.package.root if self.layout is Layout.PACKAGE else ""
        for file in self.files if root else ():
            self.installed(file.path)  # git would leave out what a package does not have
        return (f"--relative={root}",) if root else ()

    def installed(self, path: str) -> str:
        """A path in the git layout as an installed package has it.

        Raises:
            InputError: It has no such path.
        """
        if not path.startswith(self.package.root):
            raise InputError(
                f"the series changes {path}, which is outside of {self.package.root}: no installed package has it",
                hint="export patches for the git repository, --layout git",
            )
        return self.package.installed(path)


def commit_for_export(git: Git, base: str, rendering: Rendering, latest: int | None) -> tuple[str, ...]:
    """Commit the patches that change the tree, each with the date of its author or of its last update.

    Args:
        git: The store.
        base: The release's commit.
        rendering: The series on it.
        latest: ``SOURCE_DATE_EPOCH``; what is later gets this date.
    """
    dates = {patch.info.name: f"{last_update(patch.info)} +0000" for patch in rendering.patches}
    commits = []
    for commit in patch_commits(rendering):
        date = commit.date or dates[commit.trailer("Patchtool-Patch")]
        late = latest is not None and int(date.partition(" ")[0]) > latest
        commits.append(replace(commit, date=f"{latest} +0000" if late else date))
    return tuple(commit_patches(git, base, commits))


def with_local(version: str, local: str) -> str:
    """A version with one more local part."""
    return f"{version}{'.' if '+' in version else '+'}{local}"


def local_version(text: str) -> str:
    """The local part of a version in its normal form.

    Raises:
        InputError: It is none.

    Source: the packaging specification for version specifiers.
    """
    try:
        local = Version(f"0+{text}").local
    except InvalidVersion:
        local = None
    if local is None:
        hint = "letters, digits and dots, such as npu.1"
        raise InputError(f"{text!r} is not the local part of a version", hint=hint)
    return local

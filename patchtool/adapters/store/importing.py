"""Stream an artifact's files into git as one commit, whose id depends on their content only."""

from __future__ import annotations

import hashlib
from email import message_from_bytes
from typing import IO, TYPE_CHECKING

from patchtool.adapters.store.archive import open_archive
from patchtool.adapters.store.records import StoredArtifact
from patchtool.domain.errors import EnvironmentFault, InputError, RefusedError
from patchtool.domain.package import Package, normalized
from patchtool.domain.release import Release

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from patchtool.adapters.git.plumbing import Git
    from patchtool.adapters.store.archive import Member, SourceArchive, Wheel

# 2000-01-01 UTC: a release's commit must not depend on who imports it, or when.
_SIGNATURE = "patchtool <patchtool> 946684800 +0000"
_CHUNK = 1 << 20
_STREAMED = "--big-file-threshold=1m"
"""Larger files, of which a package has few, are not held in git's memory."""


def read_release(
    git: Git,
    release: Release,
    package: Package,
    path: Path,
    sha256: str,
    ref: str,
    progress: Callable[[int, int], None] | None = None,
) -> StoredArtifact:
    """Verify an artifact and stream its package into a commit.

    Args:
        git: The store's repository.
        release: What the artifact must be.
        package: The package that is imported, a folder of the artifact, and the distribution's name.
        path: The artifact.
        sha256: Expected hash of its bytes, hex.
        ref: The ref that the commit is left on; set last.
        progress: Called with the unpacked bytes so far and in total.

    Returns:
        The record of the artifact.

    Raises:
        EnvironmentFault: Hash mismatch, or git failed.
        RefusedError: A member is unsafe, or the artifact is another project or release.
        InputError: There is no such file.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"cannot read {path}", cause=str(error)) from error
    # One handle for hashing and reading: the file at the path may be replaced in between.
    with file:
        _verify(file, path, sha256)
        with open_archive(file, path.name) as archive:
            members = archive.members()
            _check_metadata(archive, members, package.distribution, release, path.name)
            wanted = [member for member in members if member.path.startswith(f"{package.name}/")]
            portable = [member for member in wanted if not member.native]
            if not portable:
                raise RefusedError(f"{path.name} has no {package.name}/ folder")
            with git.feeding("fast-import", "--quiet", "--done", "--force", _STREAMED) as sink:
                message = f"{package.distribution} {release}\n"
                _write_commit(sink, ref, message, archive, portable, package.root, path.name, progress)
    native = tuple(sorted(package.root + member.path for member in wanted if member.native))
    return StoredArtifact(path.name, sha256, native)


def _verify(file: IO[bytes], path: Path, sha256: str) -> None:
    digest = hashlib.sha256()
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
    if digest.hexdigest() != sha256:
        raise EnvironmentFault(
            f"{path.name}: hash mismatch: got sha256:{digest.hexdigest()}, expected sha256:{sha256}",
            hint="remove the file and run `patchtool fetch` again; nothing was stored",
        )


def _check_metadata(
    archive: Wheel | SourceArchive, members: list[Member], project: str, release: Release, filename: str
) -> None:
    metadata = [member for member in members if archive.is_metadata(member.path)]
    if len(metadata) != 1:
        raise RefusedError(f"{filename} has {len(metadata)} metadata files, expected 1")
    with archive.open(metadata[0]) as stream:
        fields = message_from_bytes(stream.read(_CHUNK))
    name, version = str(fields["Name"]), str(fields["Version"])
    try:
        same = Release.parse(version) == release
    except InputError:
        same = False
    if normalized(name) != normalized(project) or not same:
        raise RefusedError(f"{filename}: metadata mismatch: got {name} {version}, expected {project} {release.version}")


def _write_commit(
    sink: IO[bytes],
    ref: str,
    message: str,
    archive: Wheel | SourceArchive,
    members: list[Member],
    root: str,
    filename: str,
    progress: Callable[[int, int], None] | None,
) -> None:
    text = message.encode()
    sink.write(f"commit {ref}\ncommitter {_SIGNATURE}\ndata {len(text)}\n".encode() + text)
    total, done = sum(member.size for member in members), 0
    for member in members:
        _write_file(sink, archive, member, root, filename)
        done += member.size
        if progress is not None:
            progress(done, total)
    sink.write(b"done\n")


def _write_file(sink: IO[bytes], archive: Wheel | SourceArchive, member: Member, root: str, filename: str) -> None:
    """Stream one file, with a mode derived from its content.

    A wheel may lack the executable bits that the source archive of the release has, and both must give one commit.
    """
    with archive.open(member) as stream:
        chunk = stream.read(_CHUNK)
        mode = "100755" if chunk.startswith(b"#!") else "100644"
        # An unquoted path extends to the end of the line: it starts with a folder and has no line break.
        sink.write(f"M {mode} inline {root}{member.path}\ndata {member.size}\n".encode())
        remaining = member.size
        while chunk:
            remaining -= len(chunk)
            sink.write(chunk)
            chunk = stream.read(min(_CHUNK, remaining)) if remaining > 0 else stream.read(1)
        if remaining != 0:
            raise RefusedError(f"{filename}: {member.path!r} does not have the size in the archive's directory")
        sink.write(b"\n")

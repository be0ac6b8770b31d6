"""What all upstream sources share: the protocol, artifacts and their order, and the verification of hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from patchtool.domain.errors import EnvironmentFault, InputError, RefusedError
from patchtool.domain.release import Release

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

Progress = Callable[[int, "int | None"], None]
"""Called with the bytes received and, if known, the total."""
NO_NETWORK = "run `patchtool fetch` on a machine with a network, or name a folder of wheels with `--find-links DIR`"
_CHUNK = 1 << 20
_LONGEST_NAME = 255
"""Characters of a file name, as on common file systems."""
_NEAREST = 2


@dataclass(frozen=True)
class Artifact:
    """One file of a release, as a source lists it.

    Args:
        filename: Of a wheel or a ``.tar.gz`` source archive.
        sha256: Hex, or None if the source does not list it.
        size: Bytes, or None if the source does not list it.
        url: ``https:`` or ``file:``, without credentials.
        yanked: Whether the release was yanked.
        yanked_reason: Why, or empty.
    """

    filename: str
    sha256: str | None
    size: int | None
    url: str
    yanked: bool = False
    yanked_reason: str = ""


class Upstream(Protocol):
    """A source of releases."""

    def releases(self, project: str, /) -> list[Release]:
        """List the releases that have a file which is not yanked, oldest first.

        Raises:
            EnvironmentFault: The source cannot be read.
        """

    def artifacts(self, project: str, release: Release, /) -> list[Artifact]:
        """List the files of a release, yanked ones too, in the order of `cheapest_first`.

        Raises:
            EnvironmentFault: The source cannot be read.
            InputError: The source has no such release; names the nearest.
        """

    def download(
        self, artifact: Artifact, folder: Path, progress: Progress | None = None, /, *, accept: Collection[str] = ()
    ) -> Path:
        """Download a file and verify its hash.

        Args:
            artifact: The file.
            folder: Where to put it; a file that is on this machine already may stay where it is.
            progress: Called while bytes arrive.
            accept: SHA-256 values, hex, that it may have, those of the pin; by default the one that the source lists.

        Returns:
            The path of the file, complete and verified.

        Raises:
            EnvironmentFault: It cannot be downloaded, or its hash is another; nothing is kept.
            RefusedError: There is no hash to verify it by.
        """


def release_of(filename: str, project: str) -> Release | None:
    """Parse the release out of the name of a wheel or source archive.

    Returns:
        None for another project, another kind of file, and a version that is not a `Release`.

    Source: the packaging specifications for wheel and source distribution file names.
    """
    from packaging.utils import (
        InvalidSdistFilename,
        InvalidWheelFilename,
        canonicalize_name,
        parse_sdist_filename,
        parse_wheel_filename,
    )

    if len(filename) > _LONGEST_NAME:
        return None
    try:
        if filename.endswith(".whl"):
            name, version = parse_wheel_filename(filename)[:2]
        elif filename.endswith(".tar.gz"):
            name, version = parse_sdist_filename(filename)
        else:
            return None
        return Release.parse(str(version)) if name == canonicalize_name(project) else None
    except (InvalidWheelFilename, InvalidSdistFilename, InputError):
        return None


def is_file_name(name: str) -> bool:
    """Whether a name that a source lists is one of a file in a folder, which a terminal and a pin can hold."""
    return 0 < len(name) <= _LONGEST_NAME and name.isascii() and name.isprintable() and Path(name).name == name


def pinned(artifacts: Iterable[Artifact], hashes: Collection[str]) -> list[Artifact]:
    """Filter artifacts by the hashes of the pin; one without a listed hash stays, its download is verified."""
    return [artifact for artifact in artifacts if artifact.sha256 is None or artifact.sha256 in hashes]


def cheapest_first(artifacts: Iterable[Artifact]) -> list[Artifact]:
    """Order artifacts: not yanked, wheels, with a hash, smaller."""
    return sorted(
        artifacts,
        key=lambda artifact: (
            artifact.yanked,
            not artifact.filename.endswith(".whl"),
            artifact.sha256 is None,
            artifact.size is None,
            artifact.size or 0,
            artifact.filename,
        ),
    )


def unknown_release(project: str, release: Release, known: Iterable[Release], source: str) -> InputError:
    """Make the error for a release that a source does not have; the hint names the nearest ones."""
    ordered = sorted(known)
    older = [other for other in ordered if other < release][-_NEAREST:]
    newer = [other for other in ordered if other > release][:_NEAREST]
    nearest = ", ".join(map(str, older + newer))
    hint = f"the nearest there: {nearest}" if nearest else f"there is no release of {project} at all"
    return InputError(f"{source} has no {project} {release}", hint=hint)


def expected_hashes(artifact: Artifact, accept: Collection[str]) -> Collection[str]:
    """Choose what to verify an artifact by: the hashes of the pin before the one that the source lists.

    Raises:
        RefusedError: There is neither.
    """
    expected = accept or ({artifact.sha256} if artifact.sha256 else ())
    if not expected:
        raise RefusedError(f"there is no hash to verify {artifact.filename} by", hint="pin the release with its hashes")
    return expected


def verify(filename: str, sha256: str, expected: Collection[str]) -> None:
    """Compare the SHA-256 of a file with the expected ones.

    Raises:
        EnvironmentFault: It is none of them.
    """
    if sha256 not in expected:
        allowed = " or ".join(f"sha256:{value}" for value in sorted(expected))
        raise EnvironmentFault(
            f"hash mismatch: {filename} has sha256:{sha256}, expected {allowed}",
            hint="the file was not kept; try again, and do not trust this source if the mismatch persists",
        )


def local_path(url: str) -> Path | None:
    """The path that a ``file:`` URL or a plain path means; None for a URL of the network."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        from urllib.request import url2pathname  # late: it brings http, email and ssl, and most runs need no URL

        return Path(url2pathname(parts.path))
    return None if "://" in url else Path(url).expanduser().absolute()


def sha256_of(path: Path) -> str:
    """Compute the SHA-256 of a file, hex."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()

"""Where releases come from: one module per kind of source, all with the same face."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from patchtool.domain.errors import EnvironmentFault, InputError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from patchtool.domain.release import Release

Progress = Callable[[int, "int | None"], None]
"""Called with the bytes that are done and, where known, all bytes."""
NO_NETWORK = "run `patchtool fetch` on a machine with a network, or name a folder of wheels with `--find-links DIR`"
_CHUNK = 1 << 20
_NEAREST = 2


@dataclass(frozen=True)
class Artifact:
    """One file of a release, as a source lists it.

    Args:
        filename: Wheel or ``.tar.gz`` source archive.
        sha256: Hex, or None where the source does not say.
        size: Bytes, or None where the source does not say.
        url: Where it is, ``https:`` or ``file:``, without credentials.
        yanked: Whether its makers took the release back.
    """

    filename: str
    sha256: str | None
    size: int | None
    url: str
    yanked: bool = False


class Upstream(Protocol):
    """A source of releases."""

    def releases(self, project: str, *, yanked: bool = False) -> list[Release]:
        """Releases that have a file, oldest first; with `yanked` also those that were taken back."""

    def artifacts(self, project: str, release: Release) -> list[Artifact]:
        """Files of a release, the cheapest to fetch first.

        Raises:
            InputError: The source has no such release; names the nearest.
        """

    def download(
        self,
        artifact: Artifact,
        folder: Path,
        progress: Progress | None = None,
        *,
        accept: Collection[str] = (),
    ) -> Path:
        """Fetch a file and verify it before anyone sees it.

        Args:
            artifact: Which.
            folder: Where to put it; an artifact that is a file already stays where it is.
            progress: Told about bytes.
            accept: SHA-256 values it may have, those of the pin; without them the source's own is taken.

        Raises:
            EnvironmentFault: No network, or other bytes than expected; nothing is kept.
        """


def open_upstream(*, find_links: Path | None = None, offline: bool = False) -> Upstream:
    """Choose the source a command line asks for.

    Args:
        find_links: A folder of wheels, or one wheel; then no network is used.
        offline: Whether the network must not be used.
    """
    if find_links is not None:
        from patchtool.adapters.upstreams.findlinks import FindLinks

        return FindLinks(find_links)
    if offline:
        from patchtool.adapters.upstreams.offline import Offline

        return Offline()
    from patchtool.adapters.upstreams.pypi import PyPI

    return PyPI()


def pinned(artifacts: Iterable[Artifact], hashes: Collection[str]) -> list[Artifact]:
    """Those artifacts the pin allows, in their order; one without a listed hash is judged by its download."""
    return [each for each in artifacts if each.sha256 is None or each.sha256 in hashes]


def cheapest_first(artifacts: Iterable[Artifact]) -> list[Artifact]:
    """Order artifacts: not yanked, wheels, with a hash, smaller."""
    return sorted(
        artifacts,
        key=lambda each: (
            each.yanked,
            not each.filename.endswith(".whl"),
            each.sha256 is None,
            each.size is None,
            each.size or 0,
            each.filename,
        ),
    )


def unknown_release(project: str, release: Release, known: Iterable[Release], where: str) -> InputError:
    """Say that a source has no such release, and which ones are nearest to it."""
    ordered = sorted(known)
    older = [each for each in ordered if each < release][-_NEAREST:]
    newer = [each for each in ordered if not each < release][:_NEAREST]
    nearest = ", ".join(map(str, older + newer))
    hint = f"the nearest there: {nearest}" if nearest else f"there is no release of {project} at all"
    return InputError(f"{where} has no {project} {release}", hint=hint)


def expected_hashes(artifact: Artifact, accept: Collection[str]) -> Collection[str]:
    """What a file's hash may be: the pin's word goes before the source's."""
    expected = accept or ({artifact.sha256} if artifact.sha256 else ())
    if not expected:
        raise RefusedError(
            f"nothing says what {artifact.filename} must hash to", hint="pin the release with its hashes"
        )
    return expected


def check_hash(filename: str, found: str, expected: Collection[str]) -> None:
    """Compare a file's SHA-256 with what it may be.

    Raises:
        EnvironmentFault: Another; names all of them.
    """
    if found not in expected:
        allowed = ", ".join(f"sha256:{value}" for value in sorted(expected))
        raise EnvironmentFault(
            f"{filename} has not the expected hash: sha256:{found}, expected {allowed}",
            hint="nothing of it was kept; try again, and if it stays so, do not trust this source",
        )


def sha256_of(path: Path) -> str:
    """Hash a file, hex."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()

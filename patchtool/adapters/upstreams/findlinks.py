"""A folder of wheels, or one wheel: ``--find-links DIR`` and a wheel's own path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchtool.adapters.upstreams import (
    Artifact,
    Progress,
    cheapest_first,
    check_hash,
    expected_hashes,
    sha256_of,
    unknown_release,
)
from patchtool.adapters.upstreams.filenames import release_of
from patchtool.domain.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from patchtool.domain.release import Release


class FindLinks:
    """The artifacts that lie in a folder; see `Upstream`.

    Args:
        place: The folder, or a single wheel or source archive.
    """

    def __init__(self, place: Path) -> None:
        self.place = place.expanduser().absolute()

    def releases(self, project: str, *, yanked: bool = False) -> list[Release]:  # noqa: ARG002 - no file is yanked
        """Releases that have a file here, oldest first."""
        found = {release_of(path.name, project) for path in self._files()}
        return sorted(release for release in found if release is not None)

    def artifacts(self, project: str, release: Release) -> list[Artifact]:
        """Files of a release, hashed.

        Raises:
            InputError: There is none.
        """
        found = [path for path in self._files() if release_of(path.name, project) == release]
        if not found:
            raise unknown_release(project, release, self.releases(project), str(self.place))
        return cheapest_first(
            Artifact(path.name, sha256_of(path), path.stat().st_size, path.as_uri()) for path in found
        )

    def download(
        self,
        artifact: Artifact,
        folder: Path,  # noqa: ARG002 - the file stays where it is
        progress: Progress | None = None,  # noqa: ARG002
        *,
        accept: Collection[str] = (),
    ) -> Path:
        """Verify the file where it is.

        Raises:
            EnvironmentFault: It has another hash.
        """
        path = self.place if self.place.is_file() else self.place / artifact.filename
        check_hash(artifact.filename, sha256_of(path), expected_hashes(artifact, accept))
        return path

    def _files(self) -> list[Path]:
        if self.place.is_file():
            return [self.place]
        if not self.place.is_dir():
            raise InputError(
                f"{self.place} is neither a folder nor a wheel", hint="name an existing one with --find-links"
            )
        return sorted(path for path in self.place.iterdir() if path.is_file())

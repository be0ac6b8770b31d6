"""``--find-links``: wheels in a folder, or a single wheel, for machines without a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchtool.adapters.upstreams.base import (
    Artifact,
    Progress,
    cheapest_first,
    expected_hashes,
    local_path,
    release_of,
    sha256_of,
    unknown_release,
    verify,
)
from patchtool.domain.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from patchtool.domain.release import Release


def open_source(find_links: Path | None, *, offline: bool) -> Folder | None:  # noqa: ARG001
    """Open the folder or file that the options name, if any."""
    return None if find_links is None else Folder(find_links)


class Folder:
    """The artifacts in a folder; see `Upstream`.

    Args:
        path: The folder, or a single wheel or source archive.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().absolute()

    def releases(self, project: str) -> list[Release]:
        """List the releases that have a file here."""
        releases = {release_of(path.name, project) for path in self._files()}
        return sorted(release for release in releases if release is not None)

    def artifacts(self, project: str, release: Release) -> list[Artifact]:
        """List the files of a release; each is hashed."""
        paths = [path for path in self._files() if release_of(path.name, project) == release]
        if not paths:
            raise unknown_release(project, release, self.releases(project), str(self.path))
        return cheapest_first(
            Artifact(path.name, sha256_of(path), path.stat().st_size, path.as_uri()) for path in paths
        )

    def download(
        self, artifact: Artifact, _folder: Path, _progress: Progress | None = None, *, accept: Collection[str] = ()
    ) -> Path:
        """Verify the file; it stays where it is."""
        path = local_path(artifact.url) or self.path
        verify(artifact.filename, sha256_of(path), expected_hashes(artifact, accept))
        return path

    def _files(self) -> list[Path]:
        if self.path.is_file():
            return [self.path]
        if not self.path.is_dir():
            raise InputError(
                f"{self.path} is neither a folder nor a wheel", hint="name an existing one with --find-links"
            )
        return sorted(path for path in self.path.iterdir() if path.is_file())

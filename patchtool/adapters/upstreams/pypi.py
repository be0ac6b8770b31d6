"""The package indexes of the user's pip settings.

Any artifact of a release will do, whatever the Python and the platform of this machine, and a pin lists the hashes of
all of them. pip can do neither: it lists only what it could install here (ADR 0016). So its settings are read, and its
locations are listed and downloaded from here.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.adapters.upstreams.base import (
    NO_NETWORK,
    Artifact,
    Progress,
    cheapest_first,
    expected_hashes,
    is_file_name,
    local_path,
    release_of,
    sha256_of,
    unknown_release,
    verify,
)
from patchtool.domain.errors import EnvironmentFault, RefusedError

if TYPE_CHECKING:
    from collections.abc import Collection

    from patchtool.adapters.upstreams.locations import Locations
    from patchtool.adapters.upstreams.pipconfig import PipConfig
    from patchtool.domain.release import Release


def open_source(find_links: Path | None, *, offline: bool) -> PyPI:  # noqa: ARG001
    """Open the user's indexes.

    Raises:
        EnvironmentFault: The network must not be used.
    """
    if offline:
        raise EnvironmentFault("releases cannot be listed or fetched: --offline forbids the network", hint=NO_NETWORK)
    return PyPI()


class PyPI:
    """Everything that pip would search; see `Upstream`.

    Args:
        config: pip's settings; None to read them from pip when they are first needed.
        backoff: Seconds before the first retry, doubled for each further one.
        retries: How often to ask again, instead of what pip is configured with.
    """

    def __init__(self, config: PipConfig | None = None, *, backoff: float = 0.5, retries: int | None = None) -> None:
        self.notes: list[str] = []
        """Locations that could not be read while others could, for warnings."""
        self._config = config
        self._backoff = backoff
        self._retries = retries
        self._listings: dict[str, list[tuple[Release, Artifact]]] = {}

    def releases(self, project: str) -> list[Release]:
        """List the releases of all locations."""
        return sorted({release for release, artifact in self._listing(project) if not artifact.yanked})

    def artifacts(self, project: str, release: Release) -> list[Artifact]:
        """List the files of a release in all locations."""
        artifacts = [artifact for other, artifact in self._listing(project) if other == release]
        if not artifacts:
            if self.notes:  # a location that cannot be read may have it
                raise EnvironmentFault(
                    f"{project} {release} was not found, and not every location could be asked",
                    hint=NO_NETWORK,
                    cause="; ".join(self.notes),
                )
            raise unknown_release(project, release, self.releases(project), "the index")
        return cheapest_first(map(_hashed, artifacts))

    def download(
        self, artifact: Artifact, folder: Path, progress: Progress | None = None, *, accept: Collection[str] = ()
    ) -> Path:
        """Download a file; it gets its name only when it is complete and verified."""
        expected = expected_hashes(artifact, accept)
        if not is_file_name(artifact.filename):
            raise RefusedError(f"{artifact.filename!r} is not a file name")
        target, partial = folder / artifact.filename, folder / f"{artifact.filename}.part"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as sink:
                self._locations.fetch(artifact.url, sink, progress, artifact.size)
            verify(artifact.filename, sha256_of(partial), expected)
            partial.replace(target)
        except OSError as error:  # errors of the network are EnvironmentFaults already
            raise EnvironmentFault(f"cannot write {target}", cause=str(error)) from error
        finally:
            with suppress(OSError):
                partial.unlink()
        return target

    @cached_property
    def _locations(self) -> Locations:
        from patchtool.adapters.upstreams.locations import Locations
        from patchtool.adapters.upstreams.pipconfig import read_pip_config

        config = self._config or read_pip_config()
        return Locations(config if self._retries is None else replace(config, retries=self._retries), self._backoff)

    def _listing(self, project: str) -> list[tuple[Release, Artifact]]:
        """Every file of all locations with its release; a location may fail as long as another one has files."""
        if project not in self._listings:
            artifacts, faults = self._locations.list_files(project)
            if faults and not artifacts:
                raise faults[0]
            self.notes += [fault.message for fault in faults]
            pairs = ((release_of(artifact.filename, project), artifact) for artifact in dict.fromkeys(artifacts))
            self._listings[project] = [(release, artifact) for release, artifact in pairs if release is not None]
        return self._listings[project]


def _hashed(artifact: Artifact) -> Artifact:
    """Add the hash of a file on this machine, where no index lists one."""
    path = local_path(artifact.url) if artifact.sha256 is None else None
    return replace(artifact, sha256=sha256_of(path)) if path is not None else artifact

"""The source of a user who forbade the network: it has nothing, and says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchtool.adapters.upstreams import NO_NETWORK, Artifact, Progress
from patchtool.domain.errors import EnvironmentFault

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from patchtool.domain.release import Release


class Offline:
    """Refuses every question; see `Upstream`."""

    def releases(self, project: str, *, yanked: bool = False) -> list[Release]:  # noqa: ARG002 - the port's face
        """Refuse."""
        raise _refused(f"the releases of {project} cannot be listed")

    def artifacts(self, project: str, release: Release) -> list[Artifact]:
        """Refuse."""
        raise _refused(f"{project} {release} is not in the store")

    def download(
        self,
        artifact: Artifact,
        folder: Path,  # noqa: ARG002 - the port's face
        progress: Progress | None = None,  # noqa: ARG002
        *,
        accept: Collection[str] = (),  # noqa: ARG002
    ) -> Path:
        """Refuse."""
        raise _refused(f"{artifact.filename} is not here")


def _refused(what: str) -> EnvironmentFault:
    return EnvironmentFault(f"{what}, and --offline forbids the network", hint=NO_NETWORK)

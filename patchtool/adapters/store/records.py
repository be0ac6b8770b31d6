"""What the store knows of a release, and how it writes down which artifacts it came from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from patchtool.domain.errors import EnvironmentFault

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from patchtool.domain.release import Release

SCHEMA = 1


class StoredArtifact(NamedTuple):
    """One file a release was imported from.

    Args:
        filename: As the index names it.
        sha256: Of the file, hex.
        native: Paths of its native modules, which are not in the tree; git layout.
    """

    filename: str
    sha256: str
    native: tuple[str, ...] = ()


class StoredRelease(NamedTuple):
    """A release in the store.

    Args:
        release: Which.
        commit: The same id on every machine and from every artifact.
        tree: Its tree's id.
        artifacts: What it was imported from, in the order of import.
    """

    release: Release
    commit: str
    tree: str
    artifacts: tuple[StoredArtifact, ...]

    @property
    def digests(self) -> tuple[str, ...]:
        """SHA-256 of every artifact it was imported from, hex."""
        return tuple(artifact.sha256 for artifact in self.artifacts)

    def matches(self, hashes: Collection[str] | None) -> bool:
        """Whether an artifact it was imported from has one of these SHA-256 values; None allows any."""
        return hashes is None or not set(self.digests).isdisjoint(hashes)

    @property
    def native_modules(self) -> tuple[str, ...]:
        """Paths that were left out of the tree, over all artifacts, sorted."""
        return tuple(sorted({path for artifact in self.artifacts for path in artifact.native}))


def write_record(artifacts: Iterable[StoredArtifact]) -> bytes:
    """The side ref's content, JSON."""
    record = {"schema": SCHEMA, "artifacts": [each._asdict() for each in artifacts]}
    return json.dumps(record, indent=1).encode()


def read_record(record: bytes) -> tuple[StoredArtifact, ...]:
    """The artifacts of a side ref's content.

    Raises:
        EnvironmentFault: Another version of the tool wrote it.
    """
    document = json.loads(record)
    if document.get("schema") != SCHEMA:
        raise EnvironmentFault(
            f"the store has schema {document.get('schema')}, this patchtool reads {SCHEMA}",
            hint="use the newer patchtool, or another store",
        )
    return tuple(
        StoredArtifact(each["filename"], each["sha256"], tuple(each["native"])) for each in document["artifacts"]
    )

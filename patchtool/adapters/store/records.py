"""A release in the store, and the record of the artifacts that it was imported from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from patchtool.domain.errors import EnvironmentFault

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from patchtool.domain.release import Release

_SCHEMA = 1


class StoredArtifact(NamedTuple):
    """One file a release was imported from.

    Args:
        filename: As on the index.
        sha256: Of the file, hex.
        native: Paths of its native modules, which are left out of the tree; git layout.
        yanked: Why the index withdrew it, may be empty; None if it did not, when it was last asked.
    """

    filename: str
    sha256: str
    native: tuple[str, ...] = ()
    yanked: str | None = None


class StoredRelease(NamedTuple):
    """A release in the store.

    Args:
        release: The release.
        commit: The same id on every machine and from every artifact.
        tree: The id of its tree.
        artifacts: The files it was imported from, in order of import; none for a commit of upstream's own repository.
        origin: ``git+URL@COMMIT`` of such a commit, where the run knows its repository.
        project: The distribution's name.
    """

    release: Release
    commit: str
    tree: str
    artifacts: tuple[StoredArtifact, ...]
    origin: str = ""
    project: str = ""

    @property
    def digests(self) -> tuple[str, ...]:
        """SHA-256 of every artifact it was imported from, hex."""
        return tuple(artifact.sha256 for artifact in self.artifacts)

    def matches(self, hashes: Collection[str] | None) -> bool:
        """Whether it came from an artifact with one of these SHA-256 values; None allows any, a commit needs none."""
        return hashes is None or bool(self.release.commit) or not set(self.digests).isdisjoint(hashes)

    @property
    def yanked(self) -> str | None:
        """Why the index withdrew the release; None if it did not withdraw every artifact that it came from."""
        reasons = [artifact.yanked for artifact in self.artifacts]
        withdrawn = reasons and all(reason is not None for reason in reasons)
        return next(filter(None, reasons), "") if withdrawn else None

    @property
    def native_modules(self) -> tuple[str, ...]:
        """Paths that were left out of the tree, of all artifacts, sorted."""
        return tuple(sorted({path for artifact in self.artifacts for path in artifact.native}))


def tree_of(commit: bytes) -> str:
    """The id of the root tree in a commit object."""
    return commit.split(b"\n", 1)[0].removeprefix(b"tree ").decode()


def write_record(artifacts: Iterable[StoredArtifact]) -> bytes:
    """Serialize the content of the ref ``artifacts/<release>`` of a package as JSON."""
    items = [{key: value for key, value in each._asdict().items() if value is not None} for each in artifacts]
    record = {"schema": _SCHEMA, "artifacts": items}
    return json.dumps(record, indent=1).encode()


def read_record(record: bytes) -> tuple[StoredArtifact, ...]:
    """Parse the content of the ref ``artifacts/<release>`` of a package.

    Raises:
        EnvironmentFault: Another version of the tool wrote it, or it is damaged.
    """
    try:
        document = json.loads(record)
        schema = document.get("schema")
        artifacts = tuple(
            StoredArtifact(item["filename"], item["sha256"], tuple(item["native"]), item.get("yanked"))
            for item in (document["artifacts"] if schema == _SCHEMA else ())
        )
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError) as error:
        raise EnvironmentFault(
            "a record of the store is damaged", hint="use another store", cause=str(error)
        ) from error
    if schema != _SCHEMA:
        raise EnvironmentFault(
            f"the store has schema {schema}, this patchtool reads {_SCHEMA}",
            hint="use a newer patchtool, or another store",
        )
    return artifacts

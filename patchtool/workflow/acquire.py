"""Acquiring a release: one of its artifacts fetched, verified by hash and imported into the store."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

from patchtool.adapters.store.records import StoredRelease
from patchtool.adapters.upstreams import Artifact, Upstream, open_upstream, pinned
from patchtool.domain.errors import EnvironmentFault
from patchtool.domain.release import Release
from patchtool.workflow.session import Session, missing


def acquire(
    session: Session, release: Release, hashes: Collection[str] | None, source: Upstream | None = None
) -> StoredRelease:
    """Fetch one artifact of a release, verify it and import it.

    Args:
        session: The run.
        release: Which.
        hashes: SHA-256 values that the pin allows; None to go by what the index says.
        source: Where from; by default what the run's options say.

    Raises:
        EnvironmentFault: No network and not in the store, or other bytes than expected.
        InputError: There is no such release.
    """
    project = session.project.pin.project
    if source is None and session.offline and session.find_links is None:
        raise missing(release)
    upstream = source or open_upstream(find_links=session.find_links, offline=session.offline)
    offered = upstream.artifacts(project, release)
    allowed = pinned(offered, hashes) if hashes is not None else offered
    if not allowed:
        raise _other_hashes(project, release, offered, hashes or ())
    accept = tuple(hashes) if hashes is not None else _hashes_of_index(session, project, release, allowed)
    with tempfile.TemporaryDirectory(prefix="patchtool-") as folder:
        wheel, digest = _download(session, upstream, allowed, Path(folder), accept)
        return session.store.import_wheel(
            release,
            wheel,
            digest,
            lambda done, total: session.progress(f"reading {wheel.name}", done, total),
            lock_timeout=session.lock_timeout,
        )


def _other_hashes(
    project: str, release: Release, offered: Sequence[Artifact], hashes: Collection[str]
) -> EnvironmentFault:
    there = ", ".join(f"{a.filename} sha256:{a.sha256}" for a in offered[:2])
    return EnvironmentFault(
        f"no artifact of {project} {release} has a hash that the pin lists",
        hint="compare upstream-pin.txt with the index: the pin may be mistyped, or the index another",
        cause=f"there is {there}; the pin lists {', '.join(f'sha256:{value}' for value in hashes)}",
    )


def _hashes_of_index(session: Session, project: str, release: Release, offered: Sequence[Artifact]) -> tuple[str, ...]:
    """What the index says, also where the file itself comes from a folder that says nothing."""
    told = tuple(a.sha256 for a in offered if a.sha256)
    if told:
        return told
    if session.offline:
        raise EnvironmentFault(
            f"nothing here says what an artifact of {project} {release} must hash to",
            hint="pin it with its hashes, or run without --offline to ask the index",
        )
    return tuple(a.sha256 for a in open_upstream().artifacts(project, release) if a.sha256)


def _download(
    session: Session, upstream: Upstream, allowed: Sequence[Artifact], folder: Path, accept: Collection[str]
) -> tuple[Path, str]:
    """The cheapest artifact that verifies; a source that does not list hashes may hold others beside it."""
    from patchtool.adapters.upstreams import sha256_of

    problem: EnvironmentFault | None = None
    for artifact in allowed:
        try:
            path = upstream.download(
                artifact,
                folder,
                lambda done, total, name=artifact.filename: session.progress(f"fetching {name}", done, total or done),  # type: ignore[misc]
                accept=accept,
            )
            return path, artifact.sha256 or sha256_of(path)
        except EnvironmentFault as error:  # noqa: PERF203 -- one file after the other, each a download
            problem = problem or error
            if artifact.sha256 is not None:
                raise
    raise problem or EnvironmentFault("there is no artifact to fetch")

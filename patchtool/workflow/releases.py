"""Looking releases up: in the store first, fetched where they are missing."""

from __future__ import annotations

from collections.abc import Collection

from patchtool.adapters.store.records import StoredRelease
from patchtool.domain.errors import EnvironmentFault
from patchtool.domain.release import Release
from patchtool.domain.report import UpstreamReport
from patchtool.workflow.session import Session, not_in_store


def stored_release(session: Session, release: Release, hashes: Collection[str] | None) -> StoredRelease | None:
    """Look a release up in the store.

    Args:
        session: The run.
        release: The release.
        hashes: SHA-256 values, hex, one of which its artifact must have; None for any.
    """
    stored = session.store.release(release)
    return stored if stored is not None and (hashes is None or set(stored.digests) & set(hashes)) else None


def ensure_release(session: Session, release: Release, hashes: Collection[str] | None) -> StoredRelease:
    """Return a release from the store, after fetching it if the store lacks it.

    Args:
        session: The run.
        release: The release.
        hashes: SHA-256 values, hex, that the pin allows; None to trust the index.

    Raises:
        EnvironmentFault: It is not in the store and cannot be fetched.
        InputError: There is no such release.
    """
    stored = stored_release(session, release, hashes)
    if stored is not None:
        return stored
    from patchtool.workflow.acquire import acquire  # late: a release in the store needs no network code

    return acquire(session, release, hashes)


def pinned_release(session: Session, *, fetch: bool = True) -> StoredRelease:
    """Return the pinned release, after fetching it if the store lacks it.

    Args:
        session: The run.
        fetch: Whether it may be fetched.

    Raises:
        EnvironmentFault: It is not in the store and cannot or must not be fetched.
    """
    pin = session.project.pin
    stored = session.store.release(pin.release)
    if stored is not None and set(stored.digests) & set(pin.hashes):
        return stored
    if fetch and session.can_fetch:
        from patchtool.workflow.acquire import acquire

        return acquire(session, pin.release, pin.hashes)
    if stored is None:
        raise not_in_store(pin.release)
    raise EnvironmentFault(
        f"{stored.release} is in the store, but from no artifact that the pin lists",
        hint=f"patchtool fetch {stored.release} brings one; the pin may be mistyped",
        cause=", ".join(f"{a.filename} sha256:{a.sha256}" for a in stored.artifacts[:2]),
    )


def named_release(session: Session, text: str | None) -> StoredRelease:
    """Return the release that the user named, after fetching it if the store lacks it.

    Args:
        session: The run.
        text: The release, as ``v0.5.14`` or ``0.5.14``; None for the pin.

    Raises:
        EnvironmentFault: It is not in the store and cannot be fetched.
        InputError: There is no such release.
    """
    pin = session.project.pin.release
    release = Release.parse(text) if text else pin
    return pinned_release(session) if release == pin else ensure_release(session, release, None)


def index_releases(session: Session) -> list[Release]:
    """List the final releases of the index, oldest first.

    Raises:
        EnvironmentFault: The network is forbidden or does not answer.
    """
    from patchtool.adapters.upstreams import open_upstream

    upstream = open_upstream(find_links=session.find_links, offline=session.offline)
    return [r for r in upstream.releases(session.project.pin.project) if r.is_final]


def upstream_report(stored: StoredRelease, hashes: Collection[str] = ()) -> UpstreamReport:
    """Describe a stored release in a report.

    Args:
        stored: The release.
        hashes: SHA-256 values of the pin; the artifact that has one of them is shown.
    """
    artifact = next((a for a in stored.artifacts if a.sha256 in hashes), stored.artifacts[0])
    return UpstreamReport(stored.release, "pypi", artifact.sha256, stored.commit, stored.tree, artifact.filename)

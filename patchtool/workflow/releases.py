"""Looking releases up: in the store first, fetched where they are missing."""

from __future__ import annotations

from collections.abc import Sequence

from patchtool.adapters.store.records import StoredRelease
from patchtool.domain.errors import EnvironmentFault
from patchtool.domain.release import Release
from patchtool.domain.report import UpstreamReport
from patchtool.workflow.session import Session, missing


def pinned_release(session: Session, *, fetch: bool = True) -> StoredRelease:
    """Return the pinned release, fetching it if the store lacks it.

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
    if not fetch or (session.offline and session.find_links is None):
        raise _not_verified(stored) if stored is not None else missing(pin.release)
    from patchtool.workflow.acquire import acquire  # late: a release in the store needs no network code

    return acquire(session, pin.release, pin.hashes)


def _not_verified(stored: StoredRelease) -> EnvironmentFault:
    return EnvironmentFault(
        f"{stored.release} is in the store, but from no artifact that the pin lists",
        hint=f"patchtool fetch {stored.release} brings one; the pin may be mistyped",
        cause=", ".join(f"{a.filename} sha256:{a.sha256}" for a in stored.artifacts[:2]),
    )


def named_release(session: Session, text: str | None) -> StoredRelease:
    """Return the release that the user named, or the pinned one, fetching it if the store lacks it.

    Args:
        session: The run.
        text: The release, as ``v0.5.14`` or ``0.5.14``; None for the pin.

    Raises:
        EnvironmentFault: It is not in the store and cannot be fetched.
        InputError: There is no such release.
    """
    release = Release.parse(text) if text else session.project.pin.release
    if release == session.project.pin.release:
        return pinned_release(session)
    stored = session.store.release(release)
    if stored is not None:
        return stored
    from patchtool.workflow.acquire import acquire

    return acquire(session, release, None)


def index_releases(session: Session) -> list[Release]:
    """List the final releases of the index, oldest first.

    Raises:
        EnvironmentFault: The network is forbidden or does not answer.
    """
    from patchtool.adapters.upstreams import open_upstream

    upstream = open_upstream(find_links=session.find_links, offline=session.offline)
    return [r for r in upstream.releases(session.project.pin.project) if r.is_final]


def upstream_of(stored: StoredRelease, hashes: Sequence[str] = ()) -> UpstreamReport:
    """A stored release as a report shows it, with the artifact that the pin names first."""
    chosen = next((a for a in stored.artifacts if a.sha256 in hashes), stored.artifacts[0])
    return UpstreamReport(stored.release, "pypi", chosen.sha256, stored.commit, stored.tree, chosen.filename)

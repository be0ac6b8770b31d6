"""Looking releases and commits up: in the store first, fetched where they are missing."""

from __future__ import annotations

from collections.abc import Collection

from patchtool.adapters.store.records import StoredRelease
from patchtool.domain.errors import EnvironmentFault, InputError
from patchtool.domain.release import Release
from patchtool.domain.report import UpstreamReport
from patchtool.workflow.session import Session, not_in_store, tell_if_yanked


def ensure_release(
    session: Session, release: Release, hashes: Collection[str] | None, *, fetch: bool = True
) -> StoredRelease:
    """Return a release from the store, after fetching it if the store lacks it.

    Args:
        session: The run.
        release: The release or commit.
        hashes: SHA-256 values, hex, that the pin allows; None to trust the index. A commit has none.
        fetch: Whether it may be fetched.

    Raises:
        EnvironmentFault: It is not in the store and cannot or must not be fetched.
        InputError: There is no such release.
    """
    stored = session.store.release(release)
    if stored is not None and stored.matches(hashes):
        tell_if_yanked(session, stored)
        return stored
    if fetch and release.commit and session.store.remote is not None:
        from patchtool.workflow.upstream_history import acquire_commits  # late: as below

        return acquire_commits(session, [release])[0]
    pin = session.project.pin
    here = release == pin.release and pin.url.startswith("file:")
    if fetch and (session.can_fetch or here) and not release.commit:
        from patchtool.workflow.acquire import acquire  # late: a release in the store needs no network code

        return acquire(session, release, hashes)
    if stored is None:
        raise not_in_store(release)
    raise EnvironmentFault(
        f"{release} is in the store, but from no artifact that the pin lists",
        hint=f"patchtool fetch {release} brings one; the pin may be mistyped",
        cause=", ".join(f"{a.filename} sha256:{a.sha256}" for a in stored.artifacts[:2]),
    )


def pinned_release(session: Session, *, fetch: bool = True) -> StoredRelease:
    """Return the pinned release as ``ensure_release`` does."""
    pin = session.project.pin
    return ensure_release(session, pin.release, pin.hashes, fetch=fetch)


def find_release(session: Session, text: str) -> Release:
    """Find out which release or commit the user means.

    With a pin on an index that is a release: ``v0.5.14``. With a pin on a commit it is a tag, a branch or a commit of
    the git upstream, or else a release of the index; ``PROJECT==RELEASE`` is always one of the index.

    Raises:
        InputError: It is neither.
        EnvironmentFault: The git upstream cannot be asked.
    """
    pin = session.project.pin
    project, exact, version = text.partition("==")
    if exact:
        if project.strip() != pin.project:
            raise InputError(f"{text!r} is another project than the pin's, {pin.project}")
        return Release.parse(version)
    recorded = (pin.release, *session.project.lock.releases)
    named = next((release for release in recorded if text in (release.tag, release.name, str(release))), None)
    if named is not None and (named.version or named.name != text):
        return named  # a branch has moved since, a release has not
    try:
        release = Release.parse(text)
    except InputError:
        if session.git_source is None:
            raise
        release = None
    if release is not None and (release.commit or session.git_source is None or pin.git is None):
        return release
    from patchtool.workflow.upstream_history import resolve  # late: most runs name a release of the index or none

    try:
        return resolve(session, text)
    except InputError:
        if release is None:
            raise
        return release


def named_release(session: Session, text: str | None) -> StoredRelease:
    """Return the release that the user named, or the pinned one, as ``ensure_release`` does."""
    pin = session.project.pin
    release = find_release(session, text) if text else pin.release
    return ensure_release(session, release, pin.hashes if release == pin.release else None)


def index_releases(session: Session) -> list[Release]:
    """List the final releases of the index, oldest first.

    Raises:
        EnvironmentFault: The network is forbidden or does not answer.
    """
    from patchtool.adapters.upstreams import open_upstream

    upstream = open_upstream(find_links=session.find_links, offline=session.offline)
    project = session.project.pin.project
    with session.waiting_for(f"asking for the releases of {project}"):
        return [release for release in upstream.releases(project) if release.is_final]


def newest_release(session: Session) -> Release:
    """Return the newest final release of the index, or offline of the store.

    Raises:
        EnvironmentFault: The network does not answer, or there is no release.
    """
    stored = sorted(each for each in session.store.releases() if not each.commit and each.is_final)
    releases = index_releases(session) if session.can_fetch or not stored else stored
    if not releases:
        raise EnvironmentFault(f"no release of {session.project.pin.project} is listed")
    return releases[-1]


def upstream_report(stored: StoredRelease, hashes: Collection[str] = ()) -> UpstreamReport:
    """Describe a stored release in a report.

    Args:
        stored: The release.
        hashes: SHA-256 values of the pin; the artifact that has one of them is shown.
    """
    if stored.release.commit:
        return UpstreamReport(stored.release, "git", "", stored.commit, stored.tree, stored.origin, stored.project)
    artifact = next((a for a in stored.artifacts if a.sha256 in hashes), stored.artifacts[0])
    where = (stored.commit, stored.tree, artifact.filename, stored.project)
    return UpstreamReport(stored.release, "pypi", artifact.sha256, *where)

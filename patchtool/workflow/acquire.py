"""Acquiring a release: one of its artifacts is downloaded, verified by hash and imported into the store."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from patchtool.adapters.scratch import scratch_folder
from patchtool.adapters.store.records import StoredRelease
from patchtool.adapters.upstreams import Artifact, Upstream, index_hashes, local_path, open_upstream, pinned, sha256_of
from patchtool.domain.errors import EnvironmentFault
from patchtool.domain.release import Release
from patchtool.workflow.session import Session, not_in_store, tell_if_yanked, yanked_sentence


def acquire(
    session: Session, release: Release, hashes: Collection[str] | None, source: Upstream | None = None
) -> StoredRelease:
    """Download one artifact of a release, verify it and import it.

    Args:
        session: The run.
        release: The release.
        hashes: SHA-256 values, hex, that the pin allows; None to trust the index.
        source: Where to download from; by default the source that the run's options name.

    Raises:
        EnvironmentFault: No network and not in the store, or a hash mismatch.
        InputError: There is no such release.
    """
    project = session.project.pin.project
    direct = direct_artifact(session, release) if source is None else None
    here = local_path(direct.url) if direct else None
    if source is None and not session.can_fetch and here is None:
        raise not_in_store(release)
    upstream = source or open_upstream(find_links=here or session.find_links, offline=session.offline)
    offered = [direct] if direct and here is None else _offered(session, upstream, release)
    allowed = pinned(offered, hashes) if hashes is not None else offered
    if not allowed:
        raise _no_pinned_artifact(project, release, offered, hashes or ())
    if hashes is None and (session.find_links is not None or source is not None):
        allowed = _confirmed(session, release, offered)
    accept = tuple(hashes) if hashes is not None else _index_hashes(session, project, release, allowed)
    with scratch_folder(session.store.beside("scratch")) as folder:
        wheel, digest = _download(session, upstream, allowed, folder, accept)
        session.store.import_wheel(
            release,
            wheel,
            digest,
            lambda done, total: session.progress(f"reading {wheel.name}", done, total, "bytes"),
            lock_timeout=session.lock_timeout,
        )
    _record_yanked(session, release, offered)
    stored = session.store.release(release)
    if stored is None:
        raise not_in_store(release)
    tell_if_yanked(session, stored)
    return stored


def direct_artifact(session: Session, release: Release) -> Artifact | None:
    """The artifact that the pin names by its URL, for the pinned release; None where there is none to be used."""
    pin = session.project.pin
    if not pin.url or session.find_links is not None or release != pin.release:
        return None
    return Artifact(unquote(urlsplit(pin.url).path).rpartition("/")[2], pin.hashes[0], None, pin.url)


class ArtifactHashes(NamedTuple):
    """What a pin on a release is to list.

    Args:
        hashes: SHA-256 values, hex, sorted.
        notes: Where they come from, unless that is the index.
        confirmed: Whether an index lists them; else the pin says so.
    """

    hashes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    confirmed: bool = True


def artifact_hashes(session: Session, release: Release) -> ArtifactHashes:
    """List the hashes of every artifact of a release, for a pin on it; a commit has none.

    Raises:
        EnvironmentFault: Offline, and the release is not in the store.
        InputError: There is no such release.
    """
    pin, find_links = session.project.pin, session.find_links
    if release == pin.release or release.commit:
        return ArtifactHashes(pin.hashes if release == pin.release else ())
    if not session.can_fetch:
        stored = session.store.release(release)
        if stored is None:
            raise not_in_store(release)
        count = len(stored.digests)
        listed = "the only artifact hash" if count == 1 else f"the {count} artifact hashes"
        return ArtifactHashes(tuple(sorted(stored.digests)), (f"offline: the pin lists {listed} in the store",))
    artifacts = _offered(session, open_upstream(find_links=find_links), release)
    _record_yanked(session, release, artifacts)
    if artifacts and all(artifact.yanked for artifact in artifacts):
        session.remarks.append(yanked_sentence(release, artifacts[0].yanked_reason or ""))
    if find_links is None:
        return ArtifactHashes(tuple(sorted({a.sha256 for a in artifacts if a.sha256})))
    known = _index_knows(session, release)
    if known:
        _confirmed_by(known, find_links, release, artifacts)
        return ArtifactHashes(tuple(sorted(known)))
    hashes = tuple(sorted({a.sha256 or "" for a in artifacts}))
    listed = "the only artifact" if len(hashes) == 1 else f"the {len(hashes)} artifacts"
    return ArtifactHashes(hashes, (f"the pin lists {listed} in {find_links}, which no index confirmed",), False)


def _offered(session: Session, upstream: Upstream, release: Release) -> list[Artifact]:
    """What a source has of a release."""
    with session.waiting_for(f"asking for the artifacts of {release}"):
        return upstream.artifacts(session.project.pin.project, release)


def _index_knows(session: Session, release: Release) -> frozenset[str]:
    """The hashes that the index lists for a release; empty offline, and where it cannot be asked."""
    if session.offline:
        return frozenset()
    with session.waiting_for(f"asking the index about {release}"):
        return index_hashes(session.project.pin.project, release)


def _confirmed(session: Session, release: Release, offered: Sequence[Artifact]) -> list[Artifact]:
    """Those files of a folder that the index knows by their hash; all of them, and a remark, if it cannot be asked."""
    known = _index_knows(session, release)
    if not known:
        session.remarks.append(f"{release} is from a folder: no index confirmed the hash of its file")
        return list(offered)
    return _confirmed_by(known, session.find_links, release, offered)


def _confirmed_by(
    known: Collection[str], folder: Path | None, release: Release, offered: Sequence[Artifact]
) -> list[Artifact]:
    confirmed = [artifact for artifact in offered if artifact.sha256 in known]
    if not confirmed:
        where = f" in {folder}" if folder else ""
        raise EnvironmentFault(
            f"hash mismatch: no artifact of {release}{where} has a hash that the index lists",
            hint="do not trust these files; --offline takes them as they are, with a note",
            cause=", ".join(f"{a.filename} has sha256:{a.sha256}" for a in offered[:2]),
        )
    return confirmed


def _record_yanked(session: Session, release: Release, offered: Sequence[Artifact]) -> None:
    """Keep which artifacts the index has withdrawn: runs without a network tell it, too."""
    reasons = {a.sha256: a.yanked_reason if a.yanked else None for a in offered if a.sha256}
    session.store.record_yanked(release, reasons, lock_timeout=session.lock_timeout)


def _no_pinned_artifact(
    project: str, release: Release, offered: Sequence[Artifact], hashes: Collection[str]
) -> EnvironmentFault:
    listed = ", ".join(f"{a.filename} sha256:{a.sha256}" for a in offered[:2])
    return EnvironmentFault(
        f"no artifact of {project} {release} has a hash that the pin lists",
        hint="compare upstream-pin.txt with the index: the pin may be mistyped, or this is another index",
        cause=f"the index has {listed}; the pin lists {', '.join(f'sha256:{value}' for value in hashes)}",
    )


def _index_hashes(session: Session, project: str, release: Release, offered: Sequence[Artifact]) -> tuple[str, ...]:
    """The hashes that the source lists; those of the index if the source is a folder, which lists none."""
    listed = tuple(a.sha256 for a in offered if a.sha256)
    if listed:
        return listed
    if session.offline:
        raise EnvironmentFault(
            f"the hash of no artifact of {project} {release} is known",
            hint="pin it with its hashes, or run without --offline to ask the index",
        )
    return tuple(a.sha256 for a in _offered(session, open_upstream(), release) if a.sha256)


def _fetching(session: Session, name: str, done: int, total: int) -> None:
    session.progress(f"fetching {name}", done, total or done, "bytes")


def _download(
    session: Session, upstream: Upstream, allowed: Sequence[Artifact], folder: Path, accept: Collection[str]
) -> tuple[Path, str]:
    """Download the first artifact that verifies; in a folder without hashes the next one may be the pinned one."""
    failure: EnvironmentFault | None = None
    for artifact in allowed:
        try:
            path = upstream.download(
                artifact,
                folder,
                partial(_fetching, session, artifact.filename),
                accept=accept,
            )
            return path, artifact.sha256 or sha256_of(path)
        except EnvironmentFault as error:  # noqa: PERF203 -- at most a few files, each a download
            failure = failure or error
            if artifact.sha256 is not None:
                raise
    raise failure or EnvironmentFault("there is no artifact to fetch")

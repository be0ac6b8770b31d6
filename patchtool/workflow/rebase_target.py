"""What a pin is moved to, the release or commit that the user named, and the pin's file."""

from __future__ import annotations

from dataclasses import replace

from patchtool.adapters.store.records import StoredRelease
from patchtool.domain.errors import EnvironmentFault
from patchtool.domain.pin import Pin, parse_git_reference
from patchtool.domain.release import Release
from patchtool.workflow.acquire import ArtifactHashes
from patchtool.workflow.releases import find_release, newest_release
from patchtool.workflow.session import Session

_UNCONFIRMED = b"# of files in a folder: no index confirmed these hashes\n"


def with_git(session: Session, to: str) -> tuple[Session, str]:
    """The run with the git upstream that ``git+URL@NAME`` names, and the name."""
    if not to.startswith("git+"):
        return session, to
    source, name = parse_git_reference(to)
    if not source.subdirectory:
        source = source._replace(subdirectory=session.project.subdirectory)
    changed = replace(session, git=source)
    vars(changed)["project"] = session.project
    return changed, name


def find_target(session: Session, name: str) -> Release:
    """The release or commit to move to; a name of the git upstream is looked up now."""
    pin = session.project.pin
    if session.git is None and pin.git is None:
        return newest_release(session) if name == "latest" else find_release(session, name)
    if "==" in name:
        return find_release(session, name)
    from patchtool.workflow.upstream_history import newest_tag, resolve

    release = newest_tag(session) if name == "latest" else resolve(session, name)
    recorded = [each for each in (pin.release, *session.project.lock.releases) if each.name == release.name]
    if release.version and recorded and release not in recorded:
        was = recorded[0].commit[:10]
        session.remarks.append(f"{release.name} was at {was} when it was recorded, and is at {release.commit[:10]} now")
    return release


def compare_with_git(session: Session, stored: StoredRelease) -> None:
    """Remark how a release of the index compares with its commit, where a git upstream is known."""
    if session.git_source is None or stored.release.commit:
        return
    from patchtool.workflow.upstream_history import match_release

    try:
        match = match_release(session, stored)
    except EnvironmentFault as error:
        session.remarks.append(f"{stored.release} was not compared with its commit: {error.message}")
        return
    if match is not None:
        session.remarks.append(match.sentence(stored.release))


def pin_file(pin: Pin, listed: ArtifactHashes) -> bytes:
    """The file of a pin, which says where no index confirmed the hashes."""
    return pin.format().encode() + (b"" if listed.confirmed else _UNCONFIRMED)

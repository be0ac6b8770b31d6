"""``fetch``: brings releases into the store, each verified by hash."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.adapters.upstreams import Upstream, open_upstream, release_of
from patchtool.domain.errors import InputError
from patchtool.domain.release import Release
from patchtool.domain.report import Report
from patchtool.workflow.acquire import acquire
from patchtool.workflow.releases import ensure_release, find_release, upstream_report
from patchtool.workflow.session import Session

if TYPE_CHECKING:
    from patchtool.domain import documents

_FILES = (".whl", ".tar.gz")


def fetch(session: Session, wanted: Sequence[str]) -> Report:
    """Bring releases into the store.

    Args:
        session: The run.
        wanted: Releases, commits, or paths of artifacts; the pin where empty.
    """
    pin = session.project.pin
    session.store.repair(lock_timeout=session.lock_timeout)
    rows: list[documents.FetchedRelease] = []
    outcomes: list[str] = []
    for text in wanted or (pin.release.tag,):
        source, release = _parse(session, text)
        hashes = pin.hashes if release == pin.release else None
        known = session.store.release(release)
        known = known if known is not None and known.matches(hashes) else None
        if known is not None and source is None:
            stored = known
        elif release.commit:
            stored = ensure_release(session, release, None)
        else:
            stored = acquire(session, release, hashes, source)
        rows.append(
            {
                "release": stored.release.tag,
                "commit": stored.commit,
                "tree": stored.tree,
                "fetched": known is None,
                "digests": [f"sha256:{digest}" for digest in stored.digests],
            }
        )
        outcomes.append(f"{stored.release} {'is in the store already' if known else 'fetched'}")
    return Report(
        "fetch",
        upstream=upstream_report(stored, pin.hashes),
        headline="; ".join(outcomes),
        notes=session.notes(),
        extra={"releases": rows},
        kind="none",
    )


def _parse(session: Session, text: str) -> tuple[Upstream | None, Release]:
    """Parse an argument: a release, or the path of an artifact, which is then the source."""
    if not text.endswith(_FILES):
        return None, find_release(session, text)
    project = session.project.pin.project
    path = Path(text)
    if not path.is_file():
        raise InputError(f"{text} does not exist", hint="fetch takes releases and paths of wheels")
    release = release_of(path.name, project)
    if release is None:
        raise InputError(f"{text} is no artifact of {project}", hint=f"a wheel of it is named {project}-RELEASE-….whl")
    return open_upstream(find_links=path), release

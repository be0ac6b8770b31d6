"""``fetch``: brings releases into the store, each verified by hash."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.adapters.store.records import StoredRelease
from patchtool.adapters.upstreams import Upstream, open_upstream
from patchtool.domain.errors import InputError
from patchtool.domain.release import Release
from patchtool.domain.report import Report
from patchtool.workflow.acquire import acquire
from patchtool.workflow.releases import upstream_of
from patchtool.workflow.session import Session

if TYPE_CHECKING:
    from patchtool.domain import documents

_FILES = (".whl", ".tar.gz")


def fetch(session: Session, wanted: Sequence[str]) -> Report:
    """Bring releases into the store.

    Args:
        session: The run.
        wanted: Releases, or paths of artifacts; the pin where empty.
    """
    project = session.project
    pin = project.pin
    fetched: list[StoredRelease] = []
    new: list[bool] = []
    for text in wanted or (pin.release.tag,):
        source, release = _named(text, pin.project)
        hashes = pin.hashes if release == pin.release else None
        known = session.store.release(release)
        there = known is not None and (hashes is None or bool(set(known.digests) & set(hashes)))
        stored = known if there and known and source is None else acquire(session, release, hashes, source)
        fetched.append(stored)
        new.append(not there)
    rows: list[documents.FetchedRelease] = [
        {"release": s.release.tag, "commit": s.commit, "tree": s.tree, "fetched": n,
         "digests": [f"sha256:{d}" for d in s.digests]}
        for s, n in zip(fetched, new)
    ]  # fmt: skip
    words = [f"{s.release} {'fetched' if n else 'is in the store already'}" for s, n in zip(fetched, new)]
    return Report(
        "fetch",
        upstream=upstream_of(fetched[-1], pin.hashes),
        headline="; ".join(words),
        notes=session.notes(),
        extra={"releases": rows},
        kind="none",
    )


def _named(text: str, project: str) -> tuple[Upstream | None, Release]:
    """What an argument means: a release, or a file that holds one."""
    if not text.endswith(_FILES):
        return None, Release.parse(text)
    from patchtool.adapters.upstreams.filenames import release_of

    path = Path(text)
    if not path.is_file():
        raise InputError(f"{text} does not exist", hint="fetch takes releases and paths of wheels")
    release = release_of(path.name, project)
    if release is None:
        raise InputError(f"{text} is no artifact of {project}", hint=f"a wheel of it is named {project}-RELEASE-….whl")
    return open_upstream(find_links=path), release

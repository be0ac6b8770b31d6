"""Names that a shell completes: of patches, releases and tiers; nothing is fetched and no code of the series is run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def patches(incomplete: str) -> list[str]:
    """Names of the patches of the series in this folder, or of the packaged one."""
    from patchtool.cli.runtime import session
    from patchtool.domain.errors import PatchtoolError

    try:
        return _starting(incomplete, (info.name for info in session().project.patches))
    except (PatchtoolError, OSError):
        return []


def releases(incomplete: str) -> list[str]:
    """Releases in the store and in the lock, newest first."""
    from patchtool.cli.runtime import session
    from patchtool.domain.errors import PatchtoolError

    try:
        run = session()
        known = {run.project.pin.release, *run.project.lock.releases, *run.store.releases()}
        return _starting(incomplete, (release.tag for release in sorted(known, reverse=True)))
    except (PatchtoolError, OSError):
        return []


def series_actions(incomplete: str) -> list[str]:
    """What `patchtool series` does to a patch."""
    return _starting(incomplete, ("move", "drop", "split"))


def tiers(incomplete: str) -> list[str]:
    """Tiers of the matrix."""
    return _starting(incomplete, ("static", "emulated", "npu"))


def modes(incomplete: str) -> list[str]:
    """Modes of the matrix."""
    return _starting(incomplete, ("eager", "graph"))


def executors(incomplete: str) -> list[str]:
    """Executors of the matrix."""
    return _starting(incomplete, ("local", "ray"))


def formats(incomplete: str) -> list[str]:
    """Formats of `patchtool export`."""
    from patchtool.exporters import FORMATS

    return _starting(incomplete, FORMATS)


def _starting(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]

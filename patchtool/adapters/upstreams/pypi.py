"""The indexes and folders that pip is configured with, listed and fetched by file."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.adapters.upstreams import (
    Artifact,
    Progress,
    cheapest_first,
    check_hash,
    expected_hashes,
    sha256_of,
    unknown_release,
)
from patchtool.adapters.upstreams.filenames import release_of
from patchtool.domain.errors import EnvironmentFault, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from patchtool.adapters.upstreams.locations import Places
    from patchtool.adapters.upstreams.pipconfig import PipConfig
    from patchtool.domain.release import Release


class PyPI:
    """Everything pip would look at; see `Upstream`.

    Args:
        config: Pip's settings; if None, read from pip itself when the network is first needed.
        backoff: Seconds before trying again, doubled each time.
    """

    def __init__(self, config: PipConfig | None = None, *, backoff: float = 0.5) -> None:
        self.notes: list[str] = []
        """Places that did not answer while others did, for a warning."""
        self._config = config
        self._backoff = backoff
        self._listings: dict[str, list[tuple[Release, Artifact]]] = {}

    def releases(self, project: str, *, yanked: bool = False) -> list[Release]:
        """Releases that have a file, oldest first; with `yanked` also those that were taken back.

        Raises:
            EnvironmentFault: No place answers.
        """
        return sorted({release for release, each in self._listing(project) if yanked or not each.yanked})

    def artifacts(self, project: str, release: Release) -> list[Artifact]:
        """Files of a release, the cheapest to fetch first; for yanked ones too, flagged.

        Raises:
            InputError: There is no such release; names the nearest.
            EnvironmentFault: No place answers.
        """
        from patchtool.adapters.upstreams.locations import local_path

        found = [each for its, each in self._listing(project) if its == release]
        if not found:
            raise unknown_release(project, release, self.releases(project), "the index")
        for number, each in enumerate(found):
            path = local_path(each.url)
            if each.sha256 is None and path is not None:
                found[number] = replace(each, sha256=sha256_of(path))
        return cheapest_first(found)

    def download(
        self,
        artifact: Artifact,
        folder: Path,
        progress: Progress | None = None,
        *,
        accept: Collection[str] = (),
    ) -> Path:
        """Fetch a file and verify it before anyone sees it.

        Args:
            artifact: Which.
            folder: Where to put it; it is there under its name only when it is whole and verified.
            progress: Told about bytes.
            accept: SHA-256 values it may have, those of the pin; without them the index's own is taken.

        Raises:
            EnvironmentFault: No network, or other bytes than expected; nothing is kept.
        """
        expected = expected_hashes(artifact, accept)
        if Path(artifact.filename).name != artifact.filename:
            raise RefusedError(f"{artifact.filename!r} is no file name")
        target, partial = folder / artifact.filename, folder / f"{artifact.filename}.part"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as sink:
                self._places.fetch(artifact.url, sink, progress)
            check_hash(artifact.filename, sha256_of(partial), expected)
            partial.replace(target)
        except OSError as error:  # those of the network are faults already
            raise EnvironmentFault(f"cannot write {target}", cause=str(error)) from error
        finally:
            with suppress(OSError):
                partial.unlink()
        return target

    @cached_property
    def _places(self) -> Places:
        from patchtool.adapters.upstreams.locations import Places
        from patchtool.adapters.upstreams.pipconfig import read_pip_config

        return Places(self._config or read_pip_config(), self._backoff)

    def _listing(self, project: str) -> list[tuple[Release, Artifact]]:
        """Every file with its release, over all places; one may be silent as long as another is not."""
        if project not in self._listings:
            found = dict.fromkeys(self._ask(project))
            pairs = ((release_of(each.filename, project), each) for each in found)
            self._listings[project] = [(release, each) for release, each in pairs if release is not None]
        return self._listings[project]

    def _ask(self, project: str) -> list[Artifact]:
        places = self._places
        found: list[Artifact] = []
        faults: list[EnvironmentFault] = []

        def ask(listing: Callable[[str, str], list[Artifact]], url: str) -> None:
            try:
                found.extend(listing(url, project))
            except EnvironmentFault as fault:
                faults.append(fault)

        for url in places.indexes:
            ask(places.index, url)
        for url in places.links:
            ask(places.link, url)
        if faults and not found:
            raise faults[0]
        self.notes += [fault.message for fault in faults]
        return found

"""What every verb works with: the options of the run, the project, the store and the cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from patchtool.adapters.files import LOCK_TIMEOUT
from patchtool.adapters.project.project import Project, open_project
from patchtool.adapters.store.judgement_cache import JudgementCache
from patchtool.adapters.store.store import Store
from patchtool.domain.errors import EnvironmentFault, InputError
from patchtool.domain.patch import Judgement
from patchtool.domain.release import Release

Progress = Callable[[str, int, int], None]
"""Told what is done, how much of it, and how much there is; bytes."""


def _silent(what: str, done: int, total: int) -> None:
    """Show nothing."""


class _Reading(JudgementCache):
    """Judgements of earlier runs, to which nothing is added."""

    def put(self, key: str, judgement: Judgement) -> None:
        """Keep nothing."""


@dataclass(frozen=True)
class Session:
    """One run of the tool.

    Args:
        folder: The project folder that the user named, or None.
        store_path: The store that the user named, or None.
        offline: Whether the network is forbidden.
        find_links: A folder of wheels, or one wheel, to take artifacts from instead of the network.
        lock_timeout: Seconds to wait for another run.
        progress: Where to tell of long work.
        keep: Whether judgements are kept for later runs; a dry run keeps nothing.
    """

    folder: Path | None = None
    store_path: Path | None = None
    offline: bool = False
    find_links: Path | None = None
    lock_timeout: float = LOCK_TIMEOUT
    progress: Progress = _silent
    keep: bool = True

    @cached_property
    def project(self) -> Project:
        """The user's project, or the series that ships with the tool."""
        return open_project(self.folder)

    def own_project(self, verb: str) -> Project:
        """The user's project, for verbs that write to it.

        Raises:
            InputError: There is none.
        """
        project = self.project
        if project.packaged:
            raise InputError(
                f"{verb} needs a project, and neither {Path.cwd()} nor a folder around it has patches/series",
                hint=f"patchtool -C DIR {verb} …",
            )
        return project

    @cached_property
    def store(self) -> Store:
        """The releases on this machine."""
        return Store(self.store_path)

    @cached_property
    def cache(self) -> JudgementCache:
        """Judgements of earlier runs."""
        return (JudgementCache if self.keep else _Reading)(self.store.path / "judgements")

    def notes(self) -> tuple[str, ...]:
        """What a user must know about where the series came from."""
        return ("no project here: this is the series that ships with patchtool",) if self.project.packaged else ()


def missing(release: Release) -> EnvironmentFault:
    """The error for a release that is not in the store."""
    return EnvironmentFault(
        f"{release} is not in the store",
        hint=f"patchtool fetch {release}, or patchtool fetch {release} --find-links DIR with its wheel in DIR",
    )

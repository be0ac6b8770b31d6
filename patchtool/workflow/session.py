"""What every verb works with: the options of the run, the project, the store and the cache."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from patchtool.adapters.files import LOCK_TIMEOUT
from patchtool.adapters.project.project import Project, open_project
from patchtool.adapters.project.transaction import reading_lock, writing_lock
from patchtool.adapters.store.judgement_cache import JudgementCache
from patchtool.adapters.store.records import StoredRelease
from patchtool.adapters.store.store import Store
from patchtool.domain.errors import EnvironmentFault, InputError
from patchtool.domain.patch import Judgement, PatchReport
from patchtool.domain.pin import GitSource
from patchtool.domain.release import Release

if TYPE_CHECKING:
    from patchtool.domain.text_patch import TextChange


class Progress(Protocol):
    """Called with what is under way, how much of it is done, how much there is, and of what."""

    def __call__(self, what: str, done: int, total: int, unit: str) -> None:
        """Tell; bytes are the unit ``bytes``."""


NO_PROJECT = "no project here: this is the series that ships with patchtool"


def _no_progress(what: str, done: int, total: int, unit: str) -> None:
    pass


class _ReadOnlyCache(JudgementCache):
    def put(self, key: str, judgement: Judgement) -> None:
        pass


class _KeptJudgements(_ReadOnlyCache):
    only_kept = True


@dataclass(frozen=True)
class Session:
    """One run of the tool.

    Args:
        folder: The project folder that the user named, or None.
        store_path: The store that the user named, or None.
        offline: Whether the network is forbidden.
        find_links: A folder of wheels, or one wheel, to take artifacts from instead of the network.
        git: The git repository of upstream that the user named; by default the pin's.
        lock_timeout: Seconds to wait for another run.
        progress: Called during long work.
        no_exec: Whether no code of the series may be run, so that only kept judgements count.
        cache_writes: Whether judgements are cached for later runs; a dry run writes nothing.
        remarks: What the run found that the user should know, one sentence each.
        text_changes: What text patches change on their base, for each base and series that was judged, by name; and
            the patches of the series that were not judged there yet.
    """

    folder: Path | None = None
    store_path: Path | None = None
    offline: bool = False
    find_links: Path | None = None
    git: GitSource | None = None
    lock_timeout: float = LOCK_TIMEOUT
    progress: Progress = _no_progress
    no_exec: bool = False
    cache_writes: bool = True
    remarks: list[str] = field(default_factory=list)
    text_changes: dict[tuple[str, ...], tuple[dict[str, TextChange], Iterator[PatchReport]]] = field(
        default_factory=dict, repr=False
    )

    @cached_property
    def project(self) -> Project:
        """The user's project as it is at one moment, or the series that ships with the tool."""
        project = open_project(self.folder)
        if not project.packaged:
            with reading_lock(project.root, self.lock_timeout) as notes:
                self.remarks.extend(notes)
                project.read()
        return project

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

    @contextmanager
    def changing(self, verb: str) -> Iterator[Project]:
        """Keep other runs from the user's project while a verb reads it and then writes to it.

        Raises:
            InputError: There is no project.
            EnvironmentFault: Another run holds the lock for longer than ``lock_timeout``.
        """
        from patchtool.adapters.scratch import remove_left_folders  # late: not to tell a state

        project = open_project(self.folder)
        if project.packaged:
            self.own_project(verb)
        with writing_lock(project.root, self.lock_timeout) as notes:
            remove_left_folders()  # a verb that is refused needs none of its own
            self.remarks.extend(notes)
            vars(self)["project"] = project  # what is read from now on is read under the lock
            yield project

    @cached_property
    def store(self) -> Store:
        """The releases on this machine."""
        source = self.git_source
        reachable = source is not None and (not self.offline or source.url.startswith("file:"))
        url = source.url if source and reachable else None
        return Store(self.store_path, self.project.package, url, self.progress)

    @property
    def git_source(self) -> GitSource | None:
        """The git repository of upstream, where one is known."""
        return self.git or self.project.pin.git or self.project.git

    @property
    def footprint(self) -> tuple[str, ...]:
        """All files that the series may read."""
        return tuple(sorted({path for info in self.project.patches for path in info.footprint}))

    @cached_property
    def cache(self) -> JudgementCache:
        """Judgements of earlier runs."""
        kind = _KeptJudgements if self.no_exec else JudgementCache if self.cache_writes else _ReadOnlyCache
        return kind(self.store.beside("judgements"))

    @contextmanager
    def waiting_for(self, what: str) -> Iterator[None]:
        """Tell that another machine is asked, which may take long, and does not say how far it is."""
        self.progress(what, 0, 1, "answers")
        try:
            yield
        finally:
            self.progress(what, 1, 1, "answers")

    @property
    def can_fetch(self) -> bool:
        """Whether there is anywhere to fetch an artifact from."""
        return not self.offline or self.find_links is not None

    def notes(self) -> tuple[str, ...]:
        """What the user should know about where the series and upstream came from."""
        packaged = (NO_PROJECT,) if self.project.packaged else ()
        return (*packaged, *dict.fromkeys(self.remarks))


def not_in_store(release: Release) -> EnvironmentFault:
    """Create the error for a release that is not in the store and may not be fetched."""
    if release.commit:
        where = "[upstream] git in patchtool.toml, or rebase --to git+URL@COMMIT"
        return EnvironmentFault(
            f"{release} is not in the store", hint=f"name the repository that has it: {where}; without --offline"
        )
    return EnvironmentFault(
        f"{release} is not in the store",
        hint=f"patchtool fetch {release}, or patchtool fetch {release} --find-links DIR with its wheel in DIR",
    )


def tell_if_yanked(session: Session, stored: StoredRelease) -> None:
    """Remark that the index has withdrawn a release, as pip does where it installs one."""
    if stored.yanked is not None:
        session.remarks.append(yanked_sentence(stored.release, stored.yanked))


def yanked_sentence(release: Release, reason: str) -> str:
    """Say that the index has withdrawn a release; the reason may be empty."""
    return f"{release} was yanked by its authors: {reason or 'no reason is given'}"

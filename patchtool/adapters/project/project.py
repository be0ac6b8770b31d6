"""The project folder: finding it, and reading pin, series, patches and lock from it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from patchtool.adapters.foreign_files import is_special, special_file
from patchtool.adapters.project.metadata import read_patch, written_targets
from patchtool.adapters.project.settings import SETTINGS, Upstream, read_settings
from patchtool.domain.changelog import CHANGELOG
from patchtool.domain.errors import InputError, PatchtoolError, RefusedError
from patchtool.domain.kinds import source_files
from patchtool.domain.lock import Lock, unreadable_hint
from patchtool.domain.package import ROOT, Package, likely_name, normalized, package_in
from patchtool.domain.patch import PatchInfo
from patchtool.domain.pin import UNKNOWN, GitSource, Pin, example_pin, parse_pin
from patchtool.domain.release import Release
from patchtool.domain.series import SeriesEntry, parse_series
from patchtool.domain.toml_text import invalid, parse_toml

SERIES = "patches/series"
PIN = "upstream-pin.txt"
LOCK = "patches/series.lock"


@dataclass(frozen=True)
class Project:
    """A folder with a series and a pin.

    Args:
        root: The folder.
        packaged: Whether it is the read-only copy that ships with the tool.
    """

    root: Path
    packaged: bool = False

    def read(self) -> None:
        """Read pin, series, patches and lock now; what is wrong with them is reported where they are used."""
        for read in (lambda: self.pin, lambda: self.patches, lambda: self.lock):
            with suppress(PatchtoolError, OSError):
                read()

    @cached_property
    def pin(self) -> Pin:
        """The pin.

        Raises:
            InputError: Missing or malformed.
        """
        path = self.root / PIN
        if not self.is_pinned:
            raise self._unpinned()
        return parse_pin(_text(path).removeprefix("\ufeff"), str(path), self._likely_distribution)

    @property
    def is_pinned(self) -> bool:
        """Whether there is a pin."""
        return (self.root / PIN).exists()

    @classmethod
    def new(cls, root: Path, distribution: str | None) -> Project | None:
        """A project that is not there yet, without a patch or a pin.

        Args:
            root: Its folder; it may have settings already.
            distribution: What it is about; by default what the settings say.

        Returns:
            None where neither says it.

        Raises:
            InputError: The settings are malformed, or about another distribution.
        """
        project = cls(root)
        said = project.upstream.distribution
        if distribution and (root / SETTINGS).exists() and normalized(distribution) != normalized(said or ""):
            raise InputError(
                f"{root / SETTINGS} does not say that the distribution is {distribution}",
                hint=f'[upstream]\ndistribution = "{distribution}"',
            )
        vars(project)["upstream"] = project.upstream._replace(distribution=said or distribution)
        vars(project)["series"] = ()
        if project.upstream.distribution is None:
            return None
        project.start_without_pin()
        return project

    def start_without_pin(self) -> None:
        """Let a project that has no pin yet be read, for the verb that writes the first one.

        Raises:
            InputError: Its settings do not say which distribution is to be pinned.
        """
        if self.upstream.distribution is None:
            raise self._unpinned()
        vars(self)["pin"] = Pin(self.upstream.distribution, Release("0"))

    def _unpinned(self) -> InputError:
        distribution = self._likely_distribution()
        return InputError(
            f"{self.root / PIN} does not exist",
            hint=f"`patchtool rebase --to RELEASE` writes the first pin if {SETTINGS} says what to pin:\n"
            f'[upstream]\ndistribution = "{distribution}"\n\n'
            f"or write it yourself:\n{example_pin(distribution)}",
        )

    def _likely_distribution(self) -> str:
        """The distribution to show in examples of a pin, by the settings or else by the patches' targets."""
        with suppress(InputError, OSError):  # the pin is what is told, not what is wrong with its neighbours
            return self.upstream.distribution or self.upstream.package or likely_name(self._all_targets()) or UNKNOWN
        return UNKNOWN

    @cached_property
    def upstream(self) -> Upstream:
        """What the project's settings say of upstream.

        Raises:
            InputError: Malformed.
        """
        return read_settings(self.root / SETTINGS)

    @property
    def git(self) -> GitSource | None:
        """Upstream's git repository by the settings; None where they name none."""
        return self.upstream.git

    @cached_property
    def package(self) -> Package:
        """The package that the series patches: by the settings, else by the pin and the patches' targets.

        Raises:
            InputError: The settings or the pin are malformed, or name different distributions.
        """
        said = self.upstream
        distribution = self.pin.project if self.is_pinned or said.distribution is None else said.distribution
        if said.distribution and normalized(said.distribution) != normalized(distribution):
            raise InputError(
                f"{self.root / PIN} pins {distribution}, {SETTINGS} says the distribution is {said.distribution}",
                hint="correct one of them",
            )
        targets = self._all_targets() if said.package is None or said.layout is None else ()
        found = package_in(targets, said.package or distribution)
        name = said.package or (found.name if found else normalized(distribution).replace("-", "_"))
        source = self._repository
        subdirectory = f"{source.subdirectory}/" if source and source.subdirectory else ""
        root = found.root if found else subdirectory or ROOT
        return Package(name, root if said.layout is None else f"{said.layout}/".lstrip("/"), distribution)

    @property
    def subdirectory(self) -> str:
        """The folder of upstream's repository that has the distribution, where a URL does not say it."""
        source, layout = self._repository, self.package.layout.split("/")
        return source.subdirectory if source else "/".join(layout[:-1] if layout[-1] == "src" else layout)

    @property
    def _repository(self) -> GitSource | None:
        return (self.pin.git if self.is_pinned else None) or self.git

    def _all_targets(self) -> list[str]:
        """The targets of all patches, as they are written; what is wrong with them is told where they are read."""
        return [path for entry in self.series for path in written_targets(self.root / "patches" / entry.name)]

    @cached_property
    def series(self) -> tuple[SeriesEntry, ...]:
        """The order of the patches.

        Raises:
            InputError: Malformed, or it names a patch that has no folder, or leaves one out.
        """
        path = self.root / SERIES
        text = _text(path)
        entries = parse_series(text, str(path))
        folders = {p.name for p in path.parent.iterdir() if p.is_dir() and _is_patch(p)}
        for entry in entries:
            if entry.name not in folders:
                raise InputError(
                    f"{path}:{entry.line}: there is no patch {entry.name!r}",
                    hint=f"patchtool new {entry.name} creates it, or remove the line",
                )
        unlisted = sorted(folders - {entry.name for entry in entries})
        if unlisted:
            raise InputError(
                f"{path}:{len(text.splitlines()) + 1}: {unlisted[0]!r} is not listed",
                hint="add it to the series, or move its folder away",
            )
        return entries

    @cached_property
    def patches(self) -> tuple[PatchInfo, ...]:
        """Every patch's metadata, in the series' order.

        Raises:
            InputError: A patch.toml is wrong, or requires a patch that does not precede it.
        """
        infos = tuple(read_patch(self.root / "patches" / entry.name, self.package) for entry in self.series)
        seen: set[str] = set()
        for info in infos:
            for required in info.requires:
                if required not in seen:
                    raise self._unmet(infos, info, required)
            seen.add(info.name)
        return infos

    def _unmet(self, infos: tuple[PatchInfo, ...], info: PatchInfo, required: str) -> InputError:
        """Explain why a requirement does not precede the patch that has it."""
        requires = {patch.name: patch.requires for patch in infos}
        cycle = _cycle(requires, info.name)
        if required not in requires:
            rule, hint = f"requires {required!r}, which is not in the series", f"add it to {SERIES}"
        elif cycle:
            rule, hint = f"requirements form a cycle: {' -> '.join(cycle)}", "remove one of them"
        else:
            rule = f"requires {required!r}, which comes later in the series"
            hint = f"move {required} before {info.name} in {SERIES}"
        path = self.root / "patches" / info.name / "patch.toml"
        return invalid(path.read_bytes(), str(path), ("requires",), rule, hint)

    @cached_property
    def lock(self) -> Lock:
        """The lock, empty where there is no file.

        Raises:
            InputError: The file is not a lock that patchtool wrote.
        """
        path = self.root / LOCK
        if not path.exists():
            return Lock()
        try:
            document = parse_toml(path.read_bytes(), str(path))
        except InputError as error:
            raise InputError(error.message, cause=error.cause, hint=unreadable_hint(str(path))) from None
        return Lock.from_document(document, str(path))


def _is_patch(folder: Path) -> bool:
    names = {path.name for path in folder.iterdir()}
    return "patch.toml" in names or bool(source_files(names))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise InputError(f"{path}:{line}: not UTF-8", cause=str(error)) from None


def _cycle(requires: Mapping[str, Sequence[str]], start: str) -> list[str]:
    """Find a path of requirements from a patch back to itself; empty where there is none."""
    paths = [[start]]
    seen: set[str] = set()
    while paths:
        path = paths.pop()
        for name in requires.get(path[-1], ()):
            if name == start:
                return [*path, name]
            if name not in seen:
                seen.add(name)
                paths.append([*path, name])
    return []


def open_project(folder: Path | None, *, start: Path | None = None) -> Project:
    """Find the project.

    Args:
        folder: The folder the user named, or None to look in the nearest parents of ``start``.
        start: Where to begin, default the working directory.

    Returns:
        The project; without one, the series that ships with the tool.

    Raises:
        InputError: The named folder has no series.
        RefusedError: The nearest series belongs to another user: a series is code.
    """
    if folder is not None:
        if not (folder / SERIES).is_file():
            raise InputError(f"{folder} has no {SERIES}", hint="-C takes the folder that has patches/ and the pin")
        return _readable(Project(folder.resolve()))
    begin = (start or Path.cwd()).resolve()
    device = begin.stat().st_dev
    for parent in (begin, *begin.parents):
        if parent.stat().st_dev != device:
            break
        if os.access(parent / SERIES, os.F_OK) and (parent / SERIES).is_file():
            _refuse_foreign(parent)
            return _readable(Project(parent))
    return Project(packaged_root(), packaged=True)


def _readable(project: Project) -> Project:
    """Refuse a project in which reading would wait for ever."""
    own = (project.root / name for name in (PIN, SETTINGS, CHANGELOG))
    found = next(filter(is_special, own), None) or special_file(project.root / "patches")
    if found is not None:
        raise InputError(f"{found} is not a regular file", hint="remove it, or replace it by one")
    return project


def packaged_root() -> Path:
    """The folder with the series that ships with the tool; in a checkout of the tool, that checkout."""
    package = Path(__file__).resolve().parents[2]
    shipped = package / "_project"
    return shipped if shipped.is_dir() else package.parent


def _refuse_foreign(folder: Path) -> None:
    for path in (folder, folder / SERIES):
        owner = path.stat().st_uid
        if owner not in (os.geteuid(), 0) and os.environ.get("SUDO_UID") != str(owner):
            raise RefusedError(
                f"{path} belongs to another user (uid {owner}), and a series is code",
                hint=f"patchtool -C {folder} … if you trust it",
            )


def write_lock(lock: Lock) -> bytes:
    """Serialize the lock; the verb writes it in one transaction with other files."""
    import tomlkit

    header = tomlkit.comment("Written by patchtool: what each patch came to on each release. Not to be edited by hand.")
    document = tomlkit.document()
    document.add(header)
    for key, value in lock.to_document().items():
        document[key] = value
    return tomlkit.dumps(document).encode()

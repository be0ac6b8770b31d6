"""The project folder: finding it, and reading pin, series, patches and lock from it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from patchtool.adapters.project.metadata import read_patch
from patchtool.domain.errors import InputError, PatchtoolError, RefusedError
from patchtool.domain.kinds import source_files
from patchtool.domain.lock import Lock, unreadable_hint
from patchtool.domain.patch import PatchInfo
from patchtool.domain.pin import EXAMPLE, GitSource, Pin, parse_git_reference, parse_pin
from patchtool.domain.series import SeriesEntry, parse_series
from patchtool.domain.toml_text import invalid, parse_toml

SERIES = "patches/series"
PIN = "upstream-pin.txt"
LOCK = "patches/series.lock"
SETTINGS = "patchtool.toml"
SETTINGS_EXAMPLE = '[upstream]\ngit = "https://github.com/sgl-project/sglang#subdirectory=python"'


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
        if not path.exists():
            raise InputError(f"{path} does not exist", hint=f"write the pin:\n{EXAMPLE}")
        return parse_pin(_text(path), str(path))

    @cached_property
    def git(self) -> GitSource | None:
        """Upstream's git repository, ``git`` in the table ``[upstream]`` of `SETTINGS`; None where none is given.

        Raises:
            InputError: Malformed, or the table has another key.
        """
        path = self.root / SETTINGS
        if not path.exists():
            return None
        document = parse_toml(path.read_bytes(), str(path))
        table = document.get("upstream", {})
        unknown = [*(key for key in document if key != "upstream"), *(key for key in table if key != "git")]
        url = table.get("git", "")
        if unknown or not isinstance(url, str):
            rule = f"unknown key {unknown[0]!r}" if unknown else "git must be a URL"
            raise InputError(f"{path}: {rule}", hint=f"it looks like\n{SETTINGS_EXAMPLE}")
        return parse_git_reference(f"git+{url.removeprefix('git+')}")[0] if url else None

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
        infos = tuple(read_patch(self.root / "patches" / entry.name) for entry in self.series)
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
        return Project(folder.resolve())
    begin = (start or Path.cwd()).resolve()
    device = begin.stat().st_dev
    for parent in (begin, *begin.parents):
        if parent.stat().st_dev != device:
            break
        if os.access(parent / SERIES, os.F_OK) and (parent / SERIES).is_file():
            _refuse_foreign(parent)
            return Project(parent)
    return Project(packaged_root(), packaged=True)


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

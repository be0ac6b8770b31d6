"""Detect the release of a tree from tags and files; nothing of the tree is imported."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from patchtool.adapters.foreign_files import read_head
from patchtool.adapters.worktree.layout import dist_infos
from patchtool.domain.errors import InputError
from patchtool.domain.release import Release

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

    from patchtool.domain.package import Package

_VERSION_PY = re.compile(r"^(?:__version__|version)\b[^\n]*?=\s*['\"]([^'\"]+)['\"]", re.MULTILINE)
_METADATA = re.compile(r"^Version:\s*(\S+)", re.MULTILINE)


def release_from_tags(tags: Iterable[str]) -> Release | None:
    """The newest release among tag names such as ``v0.5.13`` or ``4.9.0``; other tags are ignored."""
    found = (Release.of_tag(tag) for tag in tags)
    return max((release for release in found if release and "dev" not in release.version), default=None)


def release_from_files(folder: Path, package: Package, known: Collection[Release] = ()) -> Release | None:
    """Read the release from version files in the package and metadata beside it.

    Args:
        folder: The package's folder.
        package: The package.
        known: Releases that are recognised as they are, local versions and development releases too.

    Returns:
        None when there are none, or the tree is between two releases.
    """
    for file, pattern in _sources(folder, package):
        match = pattern.search(read_head(file))
        if match:
            exact = next((release for release in known if not release.commit and release == _parsed(match[1])), None)
            # Otherwise the local part (+g1a2b3c) names the build, not the release.
            return exact or _release(match[1].split("+")[0])
    return None


def _sources(folder: Path, package: Package) -> Iterator[tuple[Path, re.Pattern[str]]]:
    beside = folder.parent
    metadata = [*(info / "METADATA" for info in dist_infos(beside, package)), beside / "PKG-INFO"]
    for name in ("_version.py", "version.py"):
        yield from ((file, _VERSION_PY) for file in (folder / name,) if file.is_file())
    yield from ((file, _METADATA) for file in metadata if file.is_file())


def _release(text: str) -> Release | None:
    release = _parsed(text)
    return None if release is None or release.commit or "dev" in release.version else release


def _parsed(text: str) -> Release | None:
    try:
        return Release.parse(text)
    except InputError:
        return None

"""The trees of one release: the pristine folder, and the files that each subset of the series changes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.domain.errors import InputError
from patchtool.emulation import PACKAGE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from patchtool.domain.package import Package
    from patchtool.domain.release import Release
    from patchtool.matrix.cell import Cell


@dataclass(frozen=True)
class ReleaseTrees:
    """All trees of one release that cells run on.

    Args:
        release: The release.
        tree: Folder that holds the pristine package.
        overlays: Changed files of each subset of patches, by path in the git layout; the empty subset needs no entry.
        package: The package.

    Raises:
        InputError: A path is outside the tree.
    """

    release: Release
    tree: Path
    overlays: Mapping[tuple[str, ...], Mapping[str, bytes]]
    package: Package = PACKAGE

    def __post_init__(self) -> None:
        for path in {path for files in self.overlays.values() for path in files}:
            if not self.package.has(path):
                raise InputError(f"{path!r} is not a file of the tree in the git layout ({self.package.folder}/…)")

    def write_overlay(self, patches: tuple[str, ...], scratch: Path) -> Path:
        """Write a subset's changed files, laid out as the tree is, to a folder named by their content."""
        files = self.overlays.get(patches, {})
        digest = hashlib.sha256()
        for path, content in sorted(files.items()):
            digest.update(path.encode() + b"\0" + hashlib.sha256(content).digest())
        root = scratch / "overlays" / digest.hexdigest()[:16]
        root.mkdir(parents=True, exist_ok=True)
        for path, content in files.items():
            file = root / self.package.installed(path)
            if not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
        return root


def trees_by_release(cells: Iterable[Cell], trees: Sequence[ReleaseTrees]) -> Mapping[Release, ReleaseTrees]:
    """Index trees by release.

    Raises:
        InputError: There is no tree for a cell's release and subset.
    """
    found = {each.release: each for each in trees}
    for cell in cells:
        known = {(), *found[cell.release].overlays} if cell.release in found else set()
        if not known >= {cell.patches, cell.before}:
            raise InputError(f"no tree was given for {cell.id}")
    return found

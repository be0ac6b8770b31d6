"""The trees of one release, pristine and patched."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.domain.errors import InputError
from patchtool.emulation.overlay import module_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from patchtool.domain.release import Release

LAYOUT = "python/"
"""What the git layout puts before ``sglang/``."""


@dataclass(frozen=True)
class ReleaseTrees:
    """What cells of one release are run on.

    Args:
        release: The release.
        tree: Folder that holds the pristine ``sglang/``.
        overlays: Changed files of each patch subset, by path in the git layout; the empty subset needs none.

    Raises:
        InputError: A path is not one of the tree's.
    """

    release: Release
    tree: Path
    overlays: Mapping[tuple[str, ...], Mapping[str, bytes]]

    def __post_init__(self) -> None:
        for path in {path for files in self.overlays.values() for path in files}:
            if not path.startswith(f"{LAYOUT}sglang/") or ".." in Path(path).parts:
                raise InputError(f"{path!r} is not a file of the tree in the git layout (python/sglang/…)")

    @property
    def replaced(self) -> tuple[str, ...]:
        """Modules that differ between the subsets."""
        paths = {path.removeprefix(LAYOUT) for files in self.overlays.values() for path in files}
        return tuple(sorted(module_name(path) for path in paths))

    def write_overlay(self, patches: tuple[str, ...], scratch: Path) -> Path:
        """Lay a subset's changed files out as the tree does, in a folder named by their content."""
        files = self.overlays.get(patches, {})
        digest = hashlib.sha256()
        for path, content in sorted(files.items()):
            digest.update(path.encode() + b"\0" + hashlib.sha256(content).digest())
        root = scratch / "overlays" / digest.hexdigest()[:16]
        root.mkdir(parents=True, exist_ok=True)
        for path, content in files.items():
            file = root / path.removeprefix(LAYOUT)
            if not file.exists():
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
        return root

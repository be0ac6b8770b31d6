"""The lock files that a killed git leaves behind: they make every later git fail, and no git removes them itself."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def remove_stale_files(git_dir: Path) -> None:
    """Remove what killed git processes left in a repository of our own; the caller holds the lock of all who write."""
    for leftover in _stale_files(git_dir):
        with suppress(FileNotFoundError):
            leftover.unlink()


def _stale_files(git_dir: Path) -> Iterator[Path]:
    names = ("HEAD", "config", "packed-refs", "shallow")
    yield from (git_dir / f"{name}.lock" for name in names)
    yield from git_dir.glob("refs/**/*.lock")
    yield from git_dir.glob("reftable/*.lock")
    yield from git_dir.glob("objects/*/tmp_*")
    yield from git_dir.glob("fast_import_crash_*")

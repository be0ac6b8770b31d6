"""Objects of the store that a crash of the machine or a full disk truncated, and making room for new ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CHECKSUM = 20


def remove_damaged(git_dir: Path) -> list[str]:
    """Remove packs and objects that are not whole; the caller holds the store's lock.

    Git takes what a pack's index lists for stored, and would never write it again. What was in them is fetched again.

    Returns:
        The names of the files.
    """
    damaged = list(_damaged(git_dir / "objects"))
    for file in damaged:
        for each in file.parent.glob(f"{file.stem}.*") if file.suffix == ".pack" else (file,):
            each.unlink()
    return [file.name for file in damaged]


def is_damaged(git_dir: Path) -> bool:
    """Whether there is anything to remove."""
    return any(_damaged(git_dir / "objects"))


def _damaged(objects: Path) -> Iterator[Path]:
    """Packs whose end is not what their index says, and loose objects without a byte.

    Source: gitformat-pack: a pack ends with its SHA-1, and its index with that of the pack and its own.
    """
    for pack in objects.glob("pack/*.pack"):
        index = pack.with_suffix(".idx")
        if not index.exists() or _end(pack, _CHECKSUM) != _end(index, 2 * _CHECKSUM)[:_CHECKSUM]:
            yield pack
    yield from (file for file in objects.glob("[0-9a-f][0-9a-f]/*") if not file.stat().st_size)


def _end(file: Path, size: int) -> bytes:
    with file.open("rb") as stream:
        stream.seek(max(file.stat().st_size - size, 0))
        return stream.read()

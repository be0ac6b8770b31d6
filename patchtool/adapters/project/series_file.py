"""Editing ``patches/series``, and the folders that it lists, as contents for one transaction."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from patchtool.adapters.project.project import SERIES

if TYPE_CHECKING:
    from patchtool.adapters.project.project import Project


def without_patches(project: Project, names: Collection[str]) -> dict[str, bytes | None]:
    """The contents of a project without some of its patches: no files of them, and no lines in the series.

    Args:
        project: The project.
        names: The patches.

    Returns:
        New bytes by path; None for a file that goes. Nothing where no patch is named.
    """
    if not names:
        return {}
    lines = (project.root / SERIES).read_bytes().splitlines(keepends=True)
    gone = {entry.line for entry in project.series if entry.name in names}
    contents: dict[str, bytes | None] = {
        file.relative_to(project.root).as_posix(): None
        for name in sorted(names)
        for file in sorted((project.root / "patches" / name).rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts
    }
    contents[SERIES] = b"".join(line for number, line in enumerate(lines, start=1) if number not in gone)
    return contents


def in_order(project: Project, names: Sequence[str]) -> dict[str, bytes | None]:
    """The series in another order; comments and blank lines stay where they are.

    Args:
        project: The project.
        names: All patches.
    """
    lines = (project.root / SERIES).read_bytes().splitlines(keepends=True)
    if lines and not lines[-1].endswith(b"\n"):
        lines[-1] += b"\n"
    own = {entry.name: lines[entry.line - 1] for entry in project.series}
    for entry, name in zip(project.series, names):
        lines[entry.line - 1] = own[name]
    return {SERIES: b"".join(lines)}


def with_patches_after(project: Project, name: str, news: Sequence[str]) -> bytes:
    """The series with further patches after one of it."""
    lines = (project.root / SERIES).read_bytes().splitlines(keepends=True)
    at = next(entry.line for entry in project.series if entry.name == name)
    if not lines[at - 1].endswith(b"\n"):
        lines[at - 1] += b"\n"
    return b"".join([*lines[:at], *(f"{new}\n".encode() for new in news), *lines[at:]])

"""Which paths of an archive may enter a git repository and any file system it is checked out on."""

from __future__ import annotations

import unicodedata

_LONGEST_NAME = 255
"""Bytes; what common file systems take."""
# Control, invisible (HFS+ ignores them, so that they can hide a `.git`), lone surrogates, line separators.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


class PathCheck:
    """The paths of one archive so far, to find two that collide.

    Source: git's own rules for paths, with `core.protectNTFS` and `core.protectHFS`; fast-import does not
        apply them.
    """

    def __init__(self) -> None:
        # By folded spelling: the spelling that came first, and whether it is a folder.
        self._seen: dict[str, tuple[str, bool]] = {}

    def add(self, path: str, *, folder: bool = False) -> str | None:
        """Judge the next path.

        Args:
            path: As the archive spells it, without a trailing slash.
            folder: Whether it is a folder's own entry; those may come again.

        Returns:
            Why it is refused, or None when it is fine.
        """
        return _unsafe(path) or self._clash(path, folder=folder)

    def _clash(self, path: str, *, folder: bool) -> str | None:
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            prefix = "/".join(parts[:depth])
            now = (prefix, folder or depth < len(parts))
            before = self._seen.setdefault(unicodedata.normalize("NFC", prefix).casefold(), now)
            if before is now:
                continue
            if before[0] != prefix:
                return f"it differs from {before[0]!r} only in case or in Unicode form"
            if before != now:
                return f"{prefix!r} is a file and a folder"
            if not now[1]:
                return "it comes twice"
        return None


def _unsafe(path: str) -> str | None:
    if path.startswith("/"):
        return "it is absolute"
    if "\\" in path:
        return "it has a backslash"
    if any(unicodedata.category(character) in _UNSEEN for character in path):
        return "it has a control character or an invisible one"
    for part in path.split("/"):
        if part in ("", ".", ".."):
            return f"it has the component {part!r}"
        if _means_dot_git(part):
            return f"{part!r} is git's own folder on some file system"
        if len(part.encode()) > _LONGEST_NAME:
            return f"a component is longer than {_LONGEST_NAME} bytes"
    return None


def _means_dot_git(part: str) -> bool:
    """Whether a component is ``.git`` to a file system: any case, NTFS short name, trailing dots, streams."""
    return part.casefold().partition(":")[0].rstrip(" .") in (".git", "git~1")

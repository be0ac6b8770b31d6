"""Check the paths of an archive's members: safe in a git repository, and on any file system it is checked out to."""

from __future__ import annotations

import unicodedata

from patchtool.domain.package import is_dot_git

_LONGEST_NAME = 255
"""Bytes; the limit of common file systems."""
_LONGEST_PATH = 1024
"""Characters; checkouts of deeper or longer paths fail on common systems."""
# Control characters, invisible ones (HFS+ ignores them, so they can hide `.git`), lone surrogates, line separators.
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


class PathCheck:
    """Check the paths of one archive one by one, and find those that collide.

    Source: git's rules for paths with `core.protectNTFS` and `core.protectHFS`, which fast-import does not apply.
    """

    def __init__(self) -> None:
        # Spelling and kind (folder or file) that came first, by case-folded path.
        self._seen: dict[str, tuple[str, bool]] = {}

    def add(self, path: str, *, folder: bool = False) -> str | None:
        """Check the next path.

        Args:
            path: As the archive spells it, without a trailing slash.
            folder: Whether it is the entry of a folder; those may be repeated.

        Returns:
            Why it is refused, or None when it is safe.
        """
        return _unsafe(path) or self._clash(path, folder=folder)

    def _clash(self, path: str, *, folder: bool) -> str | None:
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            prefix = "/".join(parts[:depth])
            entry = (prefix, folder or depth < len(parts))
            first = self._seen.setdefault(unicodedata.normalize("NFC", prefix).casefold(), entry)
            if first is entry:
                continue
            if first[0] != prefix:
                return f"it differs from {first[0]!r} only in case or in Unicode form"
            if first != entry:
                return f"{prefix!r} is a file and a folder"
            if not entry[1]:
                return "it occurs twice"
        return None


def _unsafe(path: str) -> str | None:
    if len(path) > _LONGEST_PATH:
        return f"it is longer than {_LONGEST_PATH} characters"
    if path.startswith("/"):
        return "it is absolute"
    if "\\" in path:
        return "it has a backslash"
    if any(unicodedata.category(character) in _INVISIBLE for character in path):
        return "it has a control character or an invisible one"
    for part in path.split("/"):
        if part in ("", ".", ".."):
            return f"it has the component {part!r}"
        if is_dot_git(part):
            return f"{part!r} is git's own folder on some file systems"
        if len(part.encode()) > _LONGEST_NAME:
            return f"a component is longer than {_LONGEST_NAME} bytes"
    return None

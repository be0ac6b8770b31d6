"""What a patch is drafted from, and the draft."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class FileChange(NamedTuple):
    """One changed file.

    Args:
        path: In the git layout.
        before: Old bytes, None for a new file.
        after: New bytes, None for a deleted file.
    """

    path: str
    before: bytes | None
    after: bytes | None


class UnstatedHunk(NamedTuple):
    """A part of a change that a draft does not state.

    Args:
        path: The file, as the change names it.
        line: One-based line of the new file, or of the old one where it is deleted; 1 where there are no lines.
        hunk: The hunk's header, ``@@ -1,2 +1,3 @@``; empty for a whole file.
        reason: Why it cannot be stated, one sentence.
    """

    path: str
    line: int
    hunk: str
    reason: str

    def __str__(self) -> str:
        hunk = f" {self.hunk}" if self.hunk else ""
        return f"not stated: {self.path}:{self.line}{hunk}: {self.reason}"

    def to_json(self) -> dict[str, str | int | None]:
        """Return the element of ``unstated``."""
        return {"path": self.path, "line": self.line, "hunk": self.hunk or None, "reason": self.reason}


class ChangeSet(NamedTuple):
    """A diff or a commit.

    Args:
        files: The Python files of the package that it changes.
        unstated: What is no change of such a file.
        subject: The commit's first line, or empty.
        body: The rest of its message, or empty.
        author: ``Name <address>``, or empty.
        date: ISO date of the commit, or empty.
    """

    files: tuple[FileChange, ...]
    unstated: tuple[UnstatedHunk, ...] = ()
    subject: str = ""
    body: str = ""
    author: str = ""
    date: str = ""


class Draft(NamedTuple):
    """A drafted patch.

    Args:
        files: The files of the patch's folder, apart from its metadata, by path in it.
        targets: The paths that it edits or creates, in the git layout.
        unstated: What it does not state.
    """

    files: Mapping[str, bytes]
    targets: tuple[str, ...]
    unstated: tuple[UnstatedHunk, ...] = ()

"""Merge texts in memory, as git does it."""

from __future__ import annotations

from patchtool.adapters import process
from patchtool.adapters.git.plumbing import check_git_version
from patchtool.adapters.scratch import scratch_folder

CONFLICTS = range(1, 128)
"""What ``git merge-file`` exits with where so many of them are left, or more."""
_ZEALOUS = (2, 35)
"""The first git whose ``merge-file`` knows zdiff3."""


def merge(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Merge two texts that were made of a third; None where both changed the same lines, or lines side by side.

    Source: git-merge-file(1).
    """
    if any(b"\0" in text for text in (base, ours, theirs)):  # which git does not merge
        return None
    merged = _merge_file(base, ours, theirs)
    return merged.stdout if merged.code == 0 else None


def merge_with_markers(base: bytes, ours: bytes, theirs: bytes, labels: tuple[str, str, str]) -> tuple[bytes, bool]:
    """Merge two texts that were made of a third, with markers around what both changed.

    Args:
        base: The third.
        ours: One text.
        theirs: The other.
        labels: What ours, base and theirs are called beside the markers.

    Returns:
        The merged text, and whether there are markers in it.

    Source: git-merge-file(1).
    """
    style = "--zdiff3" if check_git_version() >= _ZEALOUS else "--diff3"
    merged = _merge_file(base, ours, theirs, style, *(argument for label in labels for argument in ("-L", label)))
    return merged.stdout, merged.code != 0


def merge_in_favour(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """Merge two texts that were made of a third; where both changed it, the lines of the last text are taken.

    Source: git-merge-file(1).
    """
    return _merge_file(base, ours, theirs, "--theirs").stdout


def _merge_file(base: bytes, ours: bytes, theirs: bytes, *options: str) -> process.ProcessResult:
    with scratch_folder() as folder:
        for name, content in (("ours", ours), ("base", base), ("theirs", theirs)):
            (folder / name).write_bytes(content)
        command = ["git", "merge-file", "-p", *options, "ours", "base", "theirs"]
        return process.run(command, cwd=folder, answers=CONFLICTS)

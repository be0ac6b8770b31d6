"""Merge texts in memory, as git does it."""

from __future__ import annotations

from patchtool.adapters import process
from patchtool.adapters.scratch import scratch_folder


def merge(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """Merge two texts that were made of a third; None where both changed the same lines, or lines side by side.

    Source: git-merge-file(1).
    """
    with scratch_folder() as folder:
        for name, content in (("ours", ours), ("base", base), ("theirs", theirs)):
            (folder / name).write_bytes(content)
        merged = process.run(["git", "merge-file", "-p", "ours", "base", "theirs"], cwd=folder, check=False)
    return merged.stdout if merged.code == 0 else None

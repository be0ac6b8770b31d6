"""The record of an output, in its git directory: what it was built from."""

from __future__ import annotations

import json
import os
import re
import stat
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

RECORD = "patchtool.json"
_PROGRAMS = re.compile(rb"\[\s*(filter|include|includeif)\b", re.IGNORECASE)


@dataclass(frozen=True)
class OutputRecord:
    """What a run built, stored in the git directory.

    Args:
        key: Hash of everything it was built from.
        branch: Short name.
        commits: Ids of the patches' commits.
        head: The last of them, or the upstream commit.
        tree: Its tree.
        signature: Of all this by the user who built it; a record that came from elsewhere has none that is valid.
    """

    key: str
    branch: str
    commits: tuple[str, ...]
    head: str
    tree: str
    signature: str = ""

    @property
    def signed(self) -> bytes:
        """What the signature is of."""
        return json.dumps({**asdict(self), "signature": ""}, sort_keys=True).encode()


def read_output_record(dest: Path) -> OutputRecord | None:
    """Read the record of a tree; None where there is none of this user's, or git would run programs in the tree."""
    file = dest / ".git" / RECORD
    try:
        if file.lstat().st_uid != os.geteuid() or not stat.S_ISREG(file.lstat().st_mode) or _may_run_programs(dest):
            return None
        document = json.loads(file.read_bytes())
        del document["schema"]
        return OutputRecord(**{**document, "commits": tuple(document["commits"])})
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None  # not an output of patchtool


def _may_run_programs(dest: Path) -> bool:
    """Whether the repository's configuration may name a program for `git status`; one that we built does not.

    Hooks, fsmonitor and fetching are off for every git command; what is left is a filter, in this file or another one.
    """
    git_dir = dest / ".git"
    if git_dir.is_symlink() or (git_dir / "commondir").exists() or (git_dir / "config.worktree").exists():
        return True
    return _PROGRAMS.search((git_dir / "config").read_bytes()) is not None

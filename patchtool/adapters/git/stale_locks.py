"""The files that a killed git leaves behind; with its lock files there, every later git fails.

In a repository of our own, whoever holds our lock may remove them. In the user's, another git may be at work: there
they are removed only if they were not there before our write, and no git is running in the checkout.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchtool.adapters.git.checkout import Checkout

_PROCESSES = Path("/proc")


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
    yield from (link for link in git_dir.glob("t??????") if link.is_symlink())  # git init tries whether links work


def lock_files(checkout: Checkout, branch: str) -> list[Path]:
    """Git's lock files in the user's repository that would keep us from changing the index, HEAD and a branch.

    Args:
        checkout: The user's checkout.
        branch: Full name.
    """
    own = [checkout.git_dir / name for name in ("index.lock", "HEAD.lock", "reftable/tables.list.lock")]
    names = (f"{branch}.lock", "packed-refs.lock", "reftable/tables.list.lock")
    shared = [checkout.common_dir / name for name in names]
    return [file for file in dict.fromkeys((*own, *shared)) if file.exists()]


def remove_stale_locks(checkout: Checkout, branch: str) -> None:
    """Remove the lock files that a killed git of ours left in the user's repository.

    The caller holds the worktree's lock, which our own git processes hold too, and found no lock file before it wrote.
    """
    locks = lock_files(checkout, branch)
    if locks and not _git_runs_in(checkout):
        for lock in locks:
            lock.unlink(missing_ok=True)


def _git_runs_in(checkout: Checkout) -> bool:
    """Whether a git process is at work in a checkout; true where that cannot be known."""
    folders = [os.fspath(folder) for folder in (checkout.root, checkout.git_dir, checkout.common_dir)]
    try:
        processes = [entry for entry in _PROCESSES.iterdir() if entry.name.isdigit()]
    except OSError:
        return True
    for process in processes:
        with suppress(OSError):  # it has ended, or is of another user, who has no business here
            if (process / "comm").read_text(errors="replace").startswith("git"):
                place = os.readlink(process / "cwd")  # noqa: PTH115 -- as text
                if any(place == folder or place.startswith(f"{folder}/") for folder in folders):
                    return True
    return False

"""A release's files in a folder, for whoever must run them; made once, named by content, never written to again."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from patchtool.adapters.files import LOCK_TIMEOUT, locked
from patchtool.adapters.git.plumbing import Git, sealed_environment
from patchtool.adapters.process import run

_DONE = ".complete"


def checkout_folder(git: Git, commit: str, tree: str, folder: Path, *, lock_timeout: float = LOCK_TIMEOUT) -> Path:
    """Lay a commit's files out in a folder, or find them there.

    Args:
        git: The store.
        commit: Which.
        tree: Its tree's id, the folder's name.
        folder: Where such folders are kept.
        lock_timeout: Seconds to wait for another run that makes the same.

    Returns:
        The folder that holds ``sglang/``.
    """
    place = folder / tree
    if not (place / _DONE).exists():
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / f"{tree}.lock", lock_timeout):
            if not (place / _DONE).exists():
                _lay_out(git, commit, place)
    return place / "python"


def _lay_out(git: Git, commit: str, place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)  # what a killed run left
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".new-") as name:
        new = Path(name) / "tree"
        new.mkdir()
        env = {**sealed_environment(), "GIT_INDEX_FILE": str(Path(name) / "index")}
        argv = ["git", f"--git-dir={git.git_dir}", f"--work-tree={new}"]
        run([*argv, "read-tree", commit], env=env)
        run([*argv, "checkout-index", "--all", "--quiet"], env=env, cwd=new)
        (new / _DONE).touch()
        new.rename(place)

"""Write a release's files to a folder for processes that import them; the folder is named after its tree's id."""

from __future__ import annotations

import shutil
from pathlib import Path

from patchtool.adapters.files import LOCK_TIMEOUT, locked
from patchtool.adapters.git.plumbing import Git, sealed_environment
from patchtool.adapters.process import run
from patchtool.adapters.scratch import scratch_folder

_COMPLETE = ".complete"


def materialize(
    git: Git, commit: str, tree: str, folder: Path, layout: str, *, lock_timeout: float = LOCK_TIMEOUT
) -> Path:
    """Write a commit's files to a folder, unless they are there.

    Args:
        git: The store.
        commit: The release's commit.
        tree: Its tree's id, the name of the subfolder.
        folder: The parent of all such folders.
        layout: The folder of the tree that has the package, empty for its root.
        lock_timeout: Seconds to wait for another run that writes the same tree.

    Returns:
        The folder that has the package.
    """
    target = folder / tree
    if not (target / _COMPLETE).exists():
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / f"{tree}.lock", lock_timeout):
            if not (target / _COMPLETE).exists():
                _check_out(git, commit, target)
    return target / layout


def _check_out(git: Git, commit: str, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)  # of a killed run
    git.write_files_raw()
    with scratch_folder(target.parent) as folder:
        new = folder / "tree"
        new.mkdir()
        env = {**sealed_environment(), "GIT_INDEX_FILE": str(folder / "index")}
        argv = ["git", f"--git-dir={git.git_dir}", f"--work-tree={new}"]
        run([*argv, "read-tree", commit], env=env)
        run([*argv, "checkout-index", "--all", "--quiet"], env=env, cwd=new)
        (new / _COMPLETE).touch()
        new.rename(target)

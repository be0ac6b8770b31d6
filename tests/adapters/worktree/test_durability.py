"""Objects, refs and journal reach the disk in order, with every version of git."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from patchtool.adapters.worktree import open_worktree, write
from patchtool.emulation import PACKAGE as SGLANG
from tests.adapters.worktree.conftest import BRANCH

if TYPE_CHECKING:
    from tests.adapters.worktree.conftest import Lab

REPOSITORY = Path(__file__).parents[3]
# Reports another version than the installed git, and records the commands.
GIT = """#!/bin/sh
case "$*" in *version) echo "git version {version}"; exit ;; esac
printf '%s\\n' "$*" >>{record}
exec {git} "$@"
"""
WRITE = f"""
import sys
from pathlib import Path
from patchtool.adapters.worktree import open_worktree, write
from patchtool.emulation import PACKAGE as SGLANG
from tests.adapters.worktree.conftest import Lab
series = Lab(Path()).series()
write(open_worktree(Path(sys.argv[1]), SGLANG), series, commit=True, branch={BRANCH!r})
"""


@pytest.mark.parametrize(
    ("version", "given", "other"),
    [
        ("2.34.1", "core.fsyncObjectFiles=true", "core.fsync="),
        ("2.35.8", "core.fsyncObjectFiles=true", "core.fsync="),
        ("2.36.0", "core.fsync=all", "core.fsyncObjectFiles"),
        ("3.0.0", "core.fsync=all", "core.fsyncObjectFiles"),
    ],
)
def test_fsync_setting_matches_the_git_version(lab: Lab, tmp_path: Path, version: str, given: str, other: str) -> None:
    root = lab.checkout()
    program, record = tmp_path / "bin" / "git", tmp_path / "record"
    program.parent.mkdir()
    program.write_text(GIT.format(version=version, record=record, git=shutil.which("git")))
    program.chmod(0o755)
    env = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(REPOSITORY)}
    subprocess.run([sys.executable, "-c", WRITE, str(root)], env=env, check=True)
    writing = [line for line in record.read_text().splitlines() if "unpack-objects" in line or "update-ref" in line]
    assert len(writing) == 2
    assert all(given in line and other not in line for line in writing)
    assert lab.git(root, "symbolic-ref", "HEAD") == f"refs/heads/{BRANCH}"


def test_branch_and_head_are_synced_before_the_journal_is_completed(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    root, real, synced = lab.checkout(), os.fsync, []

    def seen(handle: int) -> None:
        synced.append(Path(f"/proc/self/fd/{handle}").readlink())
        real(handle)

    monkeypatch.setattr(os, "fsync", seen)
    write(open_worktree(root, SGLANG), lab.series(), commit=True, branch=BRANCH)
    branch, head = (synced.index(root / ".git" / name) for name in (f"refs/heads/{BRANCH}", "HEAD"))
    assert branch < head < len(synced) - 1

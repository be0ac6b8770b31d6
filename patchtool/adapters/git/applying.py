"""What ``git apply`` says: whether it is the diff that does not apply, or the machine that failed."""

from __future__ import annotations

import os
from pathlib import Path

from patchtool.adapters.git.plumbing import UNKNOWN, sealed_environment
from patchtool.adapters.process import ProcessResult, run
from patchtool.domain.errors import EnvironmentFault

_BEFORE_HUNKS = 128


def words_of(applied: ProcessResult, diff: bytes) -> str:
    """Git's words on why a diff does not apply.

    Args:
        applied: How ``git apply`` ended: with 1 where hunks do not apply, with 128 where the diff cannot be read or
            the result not be written.
        diff: The diff.

    Raises:
        EnvironmentFault: The result could not be written.
    """
    told = applied.stderr.decode(errors="replace")
    if applied.code == _BEFORE_HUNKS:
        nowhere = outside_of_repositories(Path("/"))
        read = run(["git", "apply", "--numstat", "-p1", "-"], stdin=diff, env=nowhere, cwd=Path("/"), answers=UNKNOWN)
        if not read.code:
            hint = "make room there, or check who may use it; then run it again"
            raise EnvironmentFault("git cannot apply a patch in a scratch folder", hint=hint, cause=told.strip())
    return told


def outside_of_repositories(folder: Path) -> dict[str, str]:
    """Hide a repository around a folder from git: inside one, ``git apply`` silently skips paths."""
    parent = folder.resolve().parent
    return {**sealed_environment(), "GIT_CEILING_DIRECTORIES": os.fspath(parent), "GIT_DIR": os.devnull}

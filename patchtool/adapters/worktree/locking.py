"""Hold a worktree's lock, and its state folder while it is held."""

from __future__ import annotations

import errno
import shutil
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from patchtool.adapters.files import locked
from patchtool.adapters.folders import open_in_real_folder
from patchtool.adapters.git.checkout import discover
from patchtool.adapters.worktree.blockers import READ_ONLY_HINT
from patchtool.adapters.worktree.journal import Journal
from patchtool.adapters.worktree.ownership import claim, make_room
from patchtool.domain.errors import EnvironmentFault, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from patchtool.adapters.worktree.worktree import Worktree


@contextmanager
def locked_worktree(worktree: Worktree, timeout: float) -> Iterator[Worktree]:
    """Hold the worktree's lock, and reopen the worktree under it.

    Raises:
        RefusedError: The folder cannot be written to.
        EnvironmentFault: Another run held the lock for longer than ``timeout`` seconds.
    """
    journal = Journal(worktree.state_dir, worktree.upstream)
    try:
        _prepare(worktree, journal, make_room)
        with locked(journal.lock, timeout, opener=open_in_real_folder):
            try:
                _prepare(worktree, journal, claim)  # the run that had the lock may have removed the folder
                yield reopen(worktree)
            except OSError as error:
                raise _write_failed(worktree, error) from error
            finally:
                _remove_empty_state(worktree, journal)
    except BaseException:
        with suppress(OSError, EnvironmentFault):  # another run has the lock
            if not journal.lock.exists():
                _remove_empty_state(worktree, journal)
            else:
                with locked(journal.lock, 0, opener=open_in_real_folder):
                    _remove_empty_state(worktree, journal)
        raise


def reopen(worktree: Worktree) -> Worktree:
    """The same worktree with its current HEAD."""
    return replace(worktree, checkout=discover(worktree.base)) if worktree.checkout else worktree


def _prepare(worktree: Worktree, journal: Journal, prepare: Callable[[Path], None]) -> None:
    try:
        prepare(journal.folder)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise _write_failed(worktree, error) from error
        fault = f"{journal.folder} cannot be written to"
        raise RefusedError(fault, hint=READ_ONLY_HINT, cause=str(error)) from error


def _remove_empty_state(worktree: Worktree, journal: Journal) -> None:
    """Leave a wheel's folder as it came; in a git directory, owner and lock may stay."""
    if not worktree.checkout and not journal.has_record():
        shutil.rmtree(journal.folder, ignore_errors=True)


def _write_failed(worktree: Worktree, error: OSError) -> EnvironmentFault:
    fault = f"{worktree.root} could not be written to"
    return EnvironmentFault(fault, hint="make room, then run it again", cause=str(error))

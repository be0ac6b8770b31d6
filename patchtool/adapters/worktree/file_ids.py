"""Blob ids of a tree's files, kept between runs: reading 650 files is a fifth of an `apply` that has nothing to do."""

from __future__ import annotations

import json
import os
import re
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from patchtool.adapters.files import atomic_write
from patchtool.domain.errors import EnvironmentFault

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_SCHEMA = 1
_ENTRY = re.compile(r"(?:\d+ ){5}[0-9a-f]{40}")
_UNSETTLED = 3 * 10**9
"""Nanoseconds in which a file system may give two changes of a file the same time."""
_FEW = 64
"""Files that are read again rather than written down."""


class FileIds:
    """Ids of files by what ``lstat`` says of them: device, inode, size and the times of the last two changes.

    As in git's index, a file counts as unchanged where all of that is the same. One that was changed just before it was
    read is not kept: a later change might leave its times as they are.

    Args:
        file: Where they are kept; it can be deleted at any time. Where it cannot be written, nothing is kept.
        writes: Whether this run keeps what it finds.

    Source: git's Documentation/technical/racy-git.txt
    """

    def __init__(self, file: Path, *, writes: bool = True) -> None:
        self._file = file
        self._writes = writes
        self._known: dict[str, str] | None = None

    def known(self, found: Mapping[str, os.stat_result]) -> dict[str, str]:
        """Look up the ids of those files that are as they were when their ids were kept.

        Args:
            found: What ``lstat`` says of each, by path.
        """
        if self._known is None:
            self._known = self._read()
        kept = {path: self._known[path] for path in found if path in self._known}
        return {path: kept[path][-40:] for path in kept if kept[path][:-41] == _described(found[path])}

    def keep(self, found: Mapping[str, tuple[os.stat_result, str]]) -> None:
        """Keep ids for the next run.

        Args:
            found: What ``lstat`` said before a file was read, and the id of what was read, by path.
        """
        now = time.time_ns()
        new = {
            path: f"{_described(status)} {blob}"
            for path, (status, blob) in found.items()
            if stat.S_ISREG(status.st_mode) and now - max(status.st_mtime_ns, status.st_ctime_ns) > _UNSETTLED
        }
        if not self._writes or len(new) < _FEW:
            return
        self._known = {**(self._known or {}), **new}
        body = json.dumps({"schema": _SCHEMA, "files": self._known}, separators=(",", ":")).encode()
        with suppress(OSError, EnvironmentFault):  # a read-only or full store must not fail the run
            self._file.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(self._file, body, durable=False)

    def _read(self) -> dict[str, str]:
        try:
            document: Any = json.loads(self._file.read_bytes())
            files = document["files"] if document["schema"] == _SCHEMA else {}
            return {path: entry for path, entry in files.items() if _ENTRY.fullmatch(entry)}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return {}


def _described(found: os.stat_result) -> str:
    return f"{found.st_dev} {found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"

"""A file whose reader cannot be talked into reading much at once: archive modules trust the sizes in headers."""

from __future__ import annotations

import os
from typing import IO

from patchtool.domain.errors import RefusedError

LARGEST_READ = 8 * 1024**2
"""Bytes: of a wheel's directory, which has less than 1 MiB today."""
_HEADERS = 1024**2
"""Bytes read between two calls of `BoundedFile.reset`: of the headers of one member of a source archive."""


class BoundedFile:
    """Passes reads on, within limits.

    Args:
        file: Seekable.
        what: Its name, for messages.
        counted: Whether the sum of reads is bounded too, until `reset`.
    """

    def __init__(self, file: IO[bytes], what: str, *, counted: bool = False) -> None:
        self._file = file
        self._what = what
        self._counted = counted
        self._left = _HEADERS
        self.tell, self.seekable, self.close = file.tell, file.seekable, file.close

    def reset(self, *, counted: bool) -> None:
        """Start counting again, or stop counting: contents are read in pieces and counted by who reads them."""
        self._counted, self._left = counted, _HEADERS

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a position.

        Raises:
            RefusedError: There is no such position; a disk that fails is no such case, because nothing is read.
        """
        try:
            return self._file.seek(offset, whence)
        except (OSError, ValueError, OverflowError) as error:
            raise RefusedError(
                f"{self._what} is refused: it names a position outside of it", cause=str(error)
            ) from error

    def read(self, size: int = -1) -> bytes:
        """Read at most `size` bytes, or the rest of the file.

        Raises:
            RefusedError: That is too much.
        """
        data = self._file.read(min(size, LARGEST_READ + 1) if size >= 0 else LARGEST_READ + 1)
        self._left -= len(data) if self._counted else 0
        if len(data) > LARGEST_READ or self._left < 0:
            raise RefusedError(f"{self._what} is refused: its directory, or a member's header, is too large")
        return data

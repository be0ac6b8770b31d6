"""Git's id of a file's content, computed without git."""

from __future__ import annotations

import hashlib

MISSING = "0" * 40
"""Stands for the id of a file that does not exist, as in git's diffs."""


def blob_id(data: bytes, algorithm: str = "sha1") -> str:
    """Compute the blob id of a file, in hex.

    Args:
        data: The file's content.
        algorithm: The repository's object format, ``sha1`` or ``sha256``.

    Source: git's object format, ``blob <size> NUL <content>``.
    """
    return hashlib.new(algorithm, b"blob %d\0%s" % (len(data), data), usedforsecurity=False).hexdigest()

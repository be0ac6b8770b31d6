"""Git's name for a file's content, without git."""

from __future__ import annotations

import hashlib


def blob_id(data: bytes) -> str:
    """The SHA-1 blob id of some bytes, 40 hex digits.

    Source: git's object format, ``blob <size> NUL <content>``.
    """
    return hashlib.sha1(b"blob %d\x00" % len(data) + data, usedforsecurity=False).hexdigest()

"""Receive the body of an answer in bounded size, time and memory."""

from __future__ import annotations

import time
import zlib
from typing import TYPE_CHECKING

import requests
from urllib3.exceptions import HTTPError

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST_FILE = 2 * 1024**3
"""Bytes; wheels that are mostly Python have less than 100 MiB."""
_LARGEST_PAGE = 8 * 1024**2
"""Bytes; the pages of projects with hundreds of releases have some."""
_LONGEST_PAGE = 120.0
"""Seconds for a page."""
_SLOWEST = 1024
"""Bytes per second below which a file is given up, after `_LONGEST_PAGE`."""
_CHUNK = 1 << 16


class UnacceptableError(ValueError):
    """The answer is too large, too slow, or encoded in another way than was asked for."""


def pieces_of(response: requests.Response, most: int, *, slowest: int = _SLOWEST) -> Iterator[bytes]:
    """Read a body in pieces, as it is sent.

    Args:
        response: Opened with ``stream``.
        most: Bytes.
        slowest: Bytes per second; fewer are accepted for two minutes.

    Raises:
        UnacceptableError: There is more, or it comes too slowly.
        requests.ConnectionError: The connection broke.
    """
    received, started = 0, time.monotonic()
    while True:
        try:
            piece = response.raw.read(_CHUNK, decode_content=False)
        except HTTPError as error:
            raise requests.ConnectionError(error) from error
        if not piece:
            return
        received += len(piece)
        if received > most:
            raise UnacceptableError(f"more than {most} bytes")
        seconds = time.monotonic() - started
        if seconds > _LONGEST_PAGE and received < slowest * seconds:
            raise UnacceptableError(f"{received} bytes in {seconds:.0f} s")
        yield piece


def body_of(response: requests.Response) -> bytes:
    """Read the body of a page, and decompress it.

    Raises:
        UnacceptableError: It is too large, too slow, or compressed in an unusual way.
        requests.ConnectionError: The connection broke.
    """
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    data = b"".join(pieces_of(response, _LARGEST_PAGE, slowest=_LARGEST_PAGE))
    if encoding == "identity":
        return data
    if encoding not in ("gzip", "x-gzip"):
        raise UnacceptableError(f"the content encoding {encoding!r}")
    try:
        body = zlib.decompressobj(wbits=31).decompress(data, _LARGEST_PAGE + 1)
    except zlib.error as error:
        raise UnacceptableError(str(error)) from error
    if len(body) > _LARGEST_PAGE:
        raise UnacceptableError(f"it unpacks to more than {_LARGEST_PAGE} bytes")
    return body

"""Messages between the run and its workers: one line of JSON each, and with some of them an open file."""

from __future__ import annotations

import json
import select
import socket
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_CHUNK = 1 << 16


class Channel:
    """One end of a connection.

    Args:
        connection: A Unix socket, which the channel closes.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._received = b""
        self._files: list[int] = []

    def wait(self, seconds: float) -> bool:
        """Wait until a message, or the beginning of one, is there, or the other end is closed.

        Args:
            seconds: The longest wait.
        """
        return b"\n" in self._received or bool(select.select([self._socket], [], [], seconds)[0])

    def send(self, message: Mapping[str, Any], file: int | None = None) -> None:
        """Send a message.

        Args:
            message: Anything that JSON has.
            file: A descriptor that the other end gets a copy of.

        Raises:
            OSError: The other end is closed.
        """
        data = json.dumps({**message, "with_file": file is not None}).encode() + b"\n"
        if file is not None:
            data = data[socket.send_fds(self._socket, [data], [file]) :]
        self._socket.sendall(data)

    def receive(self) -> dict[str, Any] | None:
        """Wait for a message; None after the other end was closed. A file that came with it is its ``file``."""
        while b"\n" not in self._received:
            try:
                data, files, _, _ = socket.recv_fds(self._socket, _CHUNK, 1)
            except ConnectionResetError:
                return None
            self._files += files
            self._received += data
            if not data:
                return None
        line, _, self._received = self._received.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return {**message, "file": self._files.pop(0)} if message.pop("with_file") else message

    def close(self) -> None:
        """Close this end."""
        self._socket.close()

"""A server on this machine, on a port of its own, in a thread of its own."""

from __future__ import annotations

import threading
from http.server import ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl
    from http.server import BaseHTTPRequestHandler


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, *args: object) -> None:
        """Be quiet about a client that ends the conversation; the client's own test tells what it made of it."""


class LocalServer:
    """Serves from when it is made until `close`.

    Args:
        handler: Answers requests.
        tls: The server's side of TLS; without it plain HTTP.
    """

    def __init__(self, handler: type[BaseHTTPRequestHandler], tls: ssl.SSLContext | None = None) -> None:
        self._server = _Quiet(("127.0.0.1", 0), handler)
        if tls is not None:
            # The handshake belongs to the request's thread: one that fails must not stop the others.
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.host = f"127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

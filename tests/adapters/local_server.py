"""An HTTP server on a free port of this machine, in a thread."""

from __future__ import annotations

import threading
from http.server import ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl
    from http.server import BaseHTTPRequestHandler


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, *args: object) -> None:
        """Log nothing when a client closes the connection early."""


class LocalServer:
    """Serves until `close`.

    Args:
        handler: The request handler.
        tls: The server's side of TLS; without it plain HTTP.
    """

    def __init__(self, handler: type[BaseHTTPRequestHandler], tls: ssl.SSLContext | None = None) -> None:
        self._server = _Quiet(("127.0.0.1", 0), handler)
        if tls is not None:
            # In the thread of the request, because a handshake that fails must not stop the server.
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.host = f"127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

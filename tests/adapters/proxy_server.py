"""A forwarding proxy on this machine, for plain requests and for tunnels."""

from __future__ import annotations

import base64
import http.client
import select
import socket
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tests.adapters.local_server import LocalServer

if TYPE_CHECKING:
    from tests.adapters.index_server import Index


class Proxy(LocalServer):
    """Forwards to one index, whatever the host of a request; a name that does not resolve is reached only through it.

    Args:
        index: The target.
        credentials: ``user:password`` that it requires, or None for an open proxy.
    """

    def __init__(self, index: Index, credentials: str | None = None) -> None:
        self.seen: list[str] = []
        """The URLs of requests and the ``host:port`` of tunnels, denied ones too."""
        wanted = credentials and "Basic " + base64.b64encode(credentials.encode()).decode()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self._authorized():
                    owner.forward(self, index)

            def do_CONNECT(self) -> None:
                if self._authorized():
                    owner.tunnel(self, index)

            def _authorized(self) -> bool:
                owner.seen.append(self.path)
                if wanted in (None, self.headers["Proxy-Authorization"]):
                    return True
                self.send_response(407)
                self.send_header("Proxy-Authenticate", 'Basic realm="here"')
                self.send_header("Content-Length", "0")
                self.end_headers()
                return False

            def log_message(self, *args: object) -> None:
                """Log nothing."""

        super().__init__(Handler)

    def forward(self, request: BaseHTTPRequestHandler, index: Index) -> None:
        url = urlsplit(request.path)
        headers = {name: value for name, value in request.headers.items() if not name.startswith("Proxy-")}
        onward = http.client.HTTPConnection(index.host)
        onward.request("GET", url.path, headers=headers)
        answer = onward.getresponse()
        body = answer.read()
        onward.close()
        request.send_response(answer.status)
        for name, value in answer.getheaders():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(body)

    def tunnel(self, request: BaseHTTPRequestHandler, index: Index) -> None:
        host, _, port = index.host.partition(":")
        with socket.create_connection((host, int(port))) as onward:
            request.send_response(200)
            request.end_headers()
            ends = {onward: request.connection, request.connection: onward}
            while True:
                for end in select.select(ends, (), ())[0]:
                    data = end.recv(1 << 16)
                    if not data:
                        request.close_connection = True
                        return
                    ends[end].sendall(data)

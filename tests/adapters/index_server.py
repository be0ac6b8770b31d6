"""A package index on this machine: real HTTP, with failures on demand."""

from __future__ import annotations

import base64
import json
from collections import Counter
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING

from tests.adapters.local_server import LocalServer

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterable

    Answer = tuple[int, dict[str, str], bytes | Iterable[bytes]]

_NONE: dict[str, str] = {}
_WHO: bytes | Iterable[bytes] = b"who?"
_NOTHING: bytes | Iterable[bytes] = b"no"


class Index(LocalServer):
    """Serves `routes` by path.

    Each route is a function of the number of earlier requests for the path and of the request's headers; it returns
    status, headers and body. A body that is no `bytes` is sent piece by piece, without its length.

    Args:
        tls: The server's side of TLS; without it the index speaks plain HTTP.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.routes: dict[
            str, Callable[[int, dict[str, str]], tuple[int, dict[str, str], bytes | Iterable[bytes]]]
        ] = {}
        self.requests: Counter[str] = Counter()
        self.seen: list[tuple[str, dict[str, str]]] = []
        self.credentials: str | None = None
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner.answer(self)

            def log_message(self, *args: object) -> None:
                """Log nothing."""

        super().__init__(Handler, tls)
        self.url = f"{'https' if tls else 'http'}://{self.host}/simple"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        headers = dict(request.headers)
        self.seen.append((request.path, headers))
        wanted = self.credentials and "Basic " + base64.b64encode(self.credentials.encode()).decode()
        if wanted and headers.get("Authorization") != wanted:
            status, extra, body = 401, _NONE, _WHO
        elif request.path not in self.routes:
            status, extra, body = 404, _NONE, _NOTHING
        else:
            status, extra, body = self.routes[request.path](self.requests[request.path], headers)
            self.requests[request.path] += 1
        request.send_response(status)
        length = {"Content-Length": str(len(body))} if isinstance(body, bytes) else {}
        for name, value in {**length, **extra}.items():
            request.send_header(name, value)
        request.end_headers()
        with suppress(ConnectionError):  # the client has seen enough
            for piece in [body] if isinstance(body, bytes) else body:
                request.wfile.write(piece)

    def page(self, body: bytes, kind: str = "text/html", path: str = "/simple/sglang/") -> None:
        self.routes[path] = lambda earlier, headers: (200, {"Content-Type": kind}, body)

    def html(self, *links: str) -> None:
        self.page(("<!DOCTYPE html><html><body>" + "".join(links) + "</body></html>").encode())

    def json(self, *files: dict[str, object]) -> None:
        document = {"meta": {"api-version": "1.1"}, "name": "sglang", "versions": [], "files": list(files)}
        self.page(json.dumps(document).encode(), "application/vnd.pypi.simple.v1+json")

    def file(self, name: str, body: bytes) -> None:
        self.routes[f"/files/{name}"] = lambda earlier, headers: (200, {}, body)

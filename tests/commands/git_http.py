"""Git over smart HTTP: `git http-backend` behind an HTTP server on this machine."""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from tests.adapters.local_server import LocalServer
from tests.commands.small_git import GitUpstream

USER = "reader:secret"


class _Backend(BaseHTTPRequestHandler):
    """One request, as a CGI server passes it on."""

    root: Path
    needs_user = False
    packs = 0
    broken: frozenset[int] = frozenset()
    """Numbers of the packs that break off in the middle, from one."""

    def do_GET(self) -> None:
        self._serve(b"")

    def do_POST(self) -> None:
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self._serve(body)

    def _serve(self, body: bytes) -> None:
        given = self.headers.get("Authorization", "")
        if self.needs_user and given != f"Basic {base64.b64encode(USER.encode()).decode()}":
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        path, _, query = self.path.partition("?")
        env = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
            "GIT_PROJECT_ROOT": str(self.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": "127.0.0.1",
        }
        answer = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True, check=True).stdout
        head, _, content = answer.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.send_response(int(fields.pop("Status", "200").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        kind = type(self)
        if b"PACK" in content:
            kind.packs += 1
            if kind.packs in kind.broken:
                content = content[: len(content) // 2]
        self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        """Log nothing."""


class HttpUpstream:
    """A repository that is served.

    Args:
        git: The repository.
        url: Where it is served.
        handler: The server's settings.
    """

    def __init__(self, git: GitUpstream, url: str, handler: type[_Backend]) -> None:
        self.git = git
        self.url = url
        self.handler = handler


@contextmanager
def served(git: GitUpstream) -> Iterator[HttpUpstream]:
    """Serve a repository."""
    handler = type("Backend", (_Backend,), {"root": git.path.parent})
    server = LocalServer(handler)
    try:
        yield HttpUpstream(git, f"http://{server.host}/{git.path.name}", handler)
    finally:
        server.close()

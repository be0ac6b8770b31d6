"""The locations that pip searches: indexes, pages of links and folders, and the files that they link to."""

from __future__ import annotations

import shutil
import time
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING
from urllib.parse import urlsplit

import requests
from packaging.utils import canonicalize_name

from patchtool.adapters.upstreams.base import Artifact, Progress, local_path
from patchtool.adapters.upstreams.faults import network_fault
from patchtool.adapters.upstreams.pages import ACCEPT, HTML, Page, read_page
from patchtool.adapters.upstreams.received import LARGEST_FILE, body_of, pieces_of
from patchtool.adapters.upstreams.session import HostCredentials, open_session
from patchtool.domain.errors import EnvironmentFault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from patchtool.adapters.upstreams.pipconfig import PipConfig

_PYPI = "https://pypi.org/simple/"
_TRIES = 4
_PARTIAL_CONTENT, _NOT_FOUND = 206, 404
_DIGITS = 16
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Locations:
    """All locations, in pip's order.

    Args:
        config: pip's settings.
        backoff: Seconds before the first retry, doubled for each further one.
    """

    def __init__(self, config: PipConfig, backoff: float) -> None:
        self._config = config
        self._backoff = backoff
        self._credentials = HostCredentials()
        indexes = () if config.no_index else (config.index or _PYPI, *config.extra_indexes)
        self._indexes = [self._credentials.strip(url) for url in indexes]
        self._links = [self._credentials.strip(url) for url in config.find_links]
        self._session = open_session(config, self._credentials, backoff)

    def list_files(self, project: str) -> tuple[list[Artifact], list[EnvironmentFault]]:
        """List what all locations link to; files of other projects are among them.

        Returns:
            The files, and the errors of the locations that could not be read.
        """
        pages = [f"{url.rstrip('/')}/{canonicalize_name(project)}/" for url in self._indexes]
        artifacts: list[Artifact] = []
        faults: list[EnvironmentFault] = []
        for url in (*pages, *self._links):
            try:
                page = self._list(url, may_be_missing=url in pages)
                artifacts += page.artifacts
                if page.left_out:
                    faults.append(_left_out(url, page.left_out))
            except EnvironmentFault as fault:  # noqa: PERF203 - a few locations, each a request
                faults.append(fault)
        return artifacts, faults

    def fetch(self, url: str, sink: IO[bytes], progress: Progress | None, size: int | None = None) -> None:
        """Write the bytes of a file, and resume if the connection breaks.

        Args:
            url: Of the file.
            sink: Where to write it.
            progress: Called while bytes arrive.
            size: What the index says it has; more is not received.

        Raises:
            EnvironmentFault: It cannot be downloaded or read.
        """
        path = local_path(url)
        if path is not None:
            try:
                with path.open("rb") as source:
                    shutil.copyfileobj(source, sink)
            except OSError as error:
                raise EnvironmentFault(f"cannot read {path}", cause=str(error)) from error
            return
        with self._network(url):
            for attempt in range(_TRIES):
                broken = self._stream(url, sink, progress, min(size or LARGEST_FILE, LARGEST_FILE))
                if broken is None:
                    return
                time.sleep(self._backoff * 2**attempt)
            raise broken or requests.ConnectionError("no answer")

    def _stream(self, url: str, sink: IO[bytes], progress: Progress | None, most: int) -> Exception | None:
        """Append the rest of a file; returns the error of a connection that broke."""
        received = sink.tell()
        headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={received}-"} if received else {})}
        with self._session.get(url, stream=True, headers=headers) as response:
            if received and response.status_code != _PARTIAL_CONTENT:
                received = sink.seek(0)
                sink.truncate()
            response.raise_for_status()
            length = response.headers.get("Content-Length", "")
            total = received + int(length) if length.isdecimal() and len(length) < _DIGITS else None
            try:
                for piece in pieces_of(response, most - received):
                    sink.write(piece)
                    if progress is not None:
                        progress(sink.tell(), total)
            except requests.ConnectionError as error:
                return error
        return None

    def _list(self, url: str, *, may_be_missing: bool) -> Page:
        path = local_path(url)
        with self._network(url):
            if path is not None:
                return self._list_local(path)
            # Compression other than this one is not undone here.
            headers = {"Accept": ACCEPT, "Accept-Encoding": "gzip"}
            with self._session.get(url, stream=True, headers=headers) as response:
                if may_be_missing and response.status_code == _NOT_FOUND:
                    return Page([], 0)
                response.raise_for_status()
                kind = response.headers.get("Content-Type", HTML[1])
                return read_page(body_of(response), kind, response.url, self._credentials.strip)

    def _list_local(self, path: Path) -> Page:
        """List a page, or a folder with or without ``index.html``; as in pip, a missing one is empty."""
        page = path / "index.html" if path.is_dir() else path
        if page.suffix in (".html", ".htm") and page.is_file():
            return read_page(page.read_bytes(), HTML[1], page.as_uri(), self._credentials.strip)
        if not path.is_dir():
            return Page([], 0)
        files = sorted(file for file in path.iterdir() if file.is_file())
        return Page([Artifact(file.name, None, file.stat().st_size, file.as_uri()) for file in files], 0)

    @contextmanager
    def _network(self, url: str) -> Iterator[None]:
        """Refuse unencrypted connections, and turn errors of the network into `EnvironmentFault`."""
        parts = urlsplit(url)
        unencrypted = (*_LOOPBACK, *self._config.trusted_hosts)
        if parts.scheme == "http" and parts.hostname not in unencrypted and parts.netloc not in unencrypted:
            raise EnvironmentFault(
                f"the connection to {parts.netloc} would not be encrypted",
                hint="use https, or name the host in pip's trusted-host",
            )
        try:
            yield
        except (requests.RequestException, ValueError) as error:
            raise network_fault(self._session, url, error) from error


def _left_out(url: str, count: int) -> EnvironmentFault:
    entries = "an entry is" if count == 1 else f"{count} entries are"
    return EnvironmentFault(
        f"{urlsplit(url).netloc or url}: {entries} left out, with a malformed name or a link that is not of http",
        hint="tell those who run the index",
    )

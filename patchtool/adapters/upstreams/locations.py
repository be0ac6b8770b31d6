"""One place pip looks at - an index, a page of links, a folder - and the files behind its links."""

from __future__ import annotations

import shutil
import time
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

import requests
from packaging.utils import canonicalize_name
from pypi_simple import PYPI_SIMPLE_ENDPOINT, NoSuchProjectError, ProjectPage, PyPISimple
from pypi_simple.errors import UnsupportedContentTypeError, UnsupportedRepoVersionError

from patchtool.adapters.upstreams import Artifact, Progress
from patchtool.adapters.upstreams.faults import fault
from patchtool.adapters.upstreams.session import HostCredentials, open_session
from patchtool.domain.errors import EnvironmentFault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pypi_simple import DistributionPackage

    from patchtool.adapters.upstreams.pipconfig import PipConfig

_CHUNK = 1 << 16
_TRIES = 4
_PARTIAL_CONTENT = 206
_NO_PAGE = (UnsupportedContentTypeError, UnsupportedRepoVersionError, ValueError)
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Places:
    """All of them, in pip's order.

    Args:
        config: Pip's settings.
        backoff: Seconds before trying again, doubled each time.
    """

    def __init__(self, config: PipConfig, backoff: float) -> None:
        self._config = config
        self._backoff = backoff
        self._credentials = HostCredentials()
        indexes = () if config.no_index else (config.index or PYPI_SIMPLE_ENDPOINT, *config.extra_indexes)
        self.indexes = [self._credentials.bare(url) for url in indexes]
        self.links = [self._credentials.bare(url) for url in config.find_links]
        self._session = open_session(config, self._credentials, backoff)

    def index(self, url: str, project: str) -> list[Artifact]:
        """List a project's files on an index; none where the index does not know it."""
        folder = local_path(url)
        with self._talking_to(url):
            if folder is not None:
                return self._local(folder / canonicalize_name(project), project)
            try:
                return self._artifacts(PyPISimple(url, session=self._session).get_project_page(project))
            except NoSuchProjectError:
                return []

    def link(self, url: str, project: str) -> list[Artifact]:
        """List a project's files in a folder or on a page that names files of many projects."""
        folder = local_path(url)
        with self._talking_to(url):
            if folder is not None:
                return self._local(folder, project)
            response = self._session.get(url)
            response.raise_for_status()
            return self._artifacts(ProjectPage.from_response(response, project))

    def fetch(self, url: str, sink: IO[bytes], progress: Progress | None) -> None:
        """Write a file's bytes, going on where a broken connection left off.

        Raises:
            EnvironmentFault: It cannot be had.
        """
        path = local_path(url)
        if path is not None:
            try:
                with path.open("rb") as source:
                    shutil.copyfileobj(source, sink)
            except OSError as error:
                raise EnvironmentFault(f"cannot read {path}", cause=str(error)) from error
            return
        with self._talking_to(url):
            for attempt in range(_TRIES):
                broken = self._stream(url, sink, progress)
                if broken is None:
                    return
                time.sleep(self._backoff * 2**attempt)
            raise broken or requests.ConnectionError("no answer")

    def _stream(self, url: str, sink: IO[bytes], progress: Progress | None) -> Exception | None:
        have = sink.tell()
        headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={have}-"} if have else {})}
        with self._session.get(url, stream=True, headers=headers) as response:
            if have and response.status_code != _PARTIAL_CONTENT:
                have = sink.seek(0)
                sink.truncate()
            response.raise_for_status()
            length = response.headers.get("Content-Length", "")
            total = have + int(length) if length.isdigit() else None
            try:
                for chunk in response.iter_content(_CHUNK):
                    sink.write(chunk)
                    if progress is not None:
                        progress(sink.tell(), total)
            except (requests.exceptions.ChunkedEncodingError, requests.ConnectionError) as error:
                return error
        return None

    def _local(self, path: Path, project: str) -> list[Artifact]:
        """A folder of files or with an ``index.html``, or a page; as in pip, a missing one has nothing."""
        page = path / "index.html" if path.is_dir() else path
        if page.suffix in (".html", ".htm") and page.is_file():
            return self._artifacts(ProjectPage.from_html(project, page.read_bytes(), page.as_uri()))
        if not path.is_dir():
            return []
        files = sorted(each for each in path.iterdir() if each.is_file())
        return [Artifact(each.name, None, each.stat().st_size, each.as_uri()) for each in files]

    def _artifacts(self, page: ProjectPage) -> list[Artifact]:
        return [self._artifact(package) for package in page.packages]

    def _artifact(self, package: DistributionPackage) -> Artifact:
        url = self._credentials.bare(package.url)
        return Artifact(package.filename, package.digests.get("sha256"), package.size, url, bool(package.is_yanked))

    @contextmanager
    def _talking_to(self, url: str) -> Iterator[None]:
        """Say every failure of the network as one of ours, without secrets."""
        if urlsplit(url).scheme == "http" and not self._may_be_plain(url):
            raise EnvironmentFault(
                f"{urlsplit(url).netloc} would be asked without encryption",
                hint="use https, or name the host in pip's trusted-host",
            )
        try:
            yield
        except (requests.RequestException, *_NO_PAGE) as error:
            raise fault(self._session, url, error) from error

    def _may_be_plain(self, url: str) -> bool:
        parts = urlsplit(url)
        return not {parts.hostname, parts.netloc}.isdisjoint({*_LOOPBACK, *self._config.trusted_hosts})


def local_path(url: str) -> Path | None:
    """The path a ``file:`` URL or a plain path means; None for anything on the network."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        return Path(url2pathname(parts.path))
    return None if "://" in url else Path(url).expanduser().absolute()

"""An index behind a proxy, configured in pip's settings or in the environment."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from patchtool.adapters.upstreams.pypi import PyPI
from patchtool.domain.errors import EnvironmentFault, InputError, PatchtoolError
from patchtool.domain.release import Release
from tests.adapters.archives import VERSION, make_wheel
from tests.adapters.index_server import Index
from tests.adapters.pip_settings import PipSettings
from tests.adapters.proxy_server import Proxy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RELEASE = Release(VERSION)
NAME = f"sglang-{VERSION}-py3-none-any.whl"
BEHIND = "http://index.invalid/simple"  # the name does not resolve: only a proxy can reach it
USER, PASSWORD = "me", "s3/cr@t"
ESCAPED = "me:s3%2Fcr%40t"
INDEX = {"index_url": BEHIND, "trusted_host": "index.invalid"}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """An index with one wheel on it."""
    server = Index()
    digest = make_wheel(tmp_path / NAME)
    server.html(f'<a href="../../files/{NAME}#sha256={digest}">{NAME}</a>')
    server.file(NAME, (tmp_path / NAME).read_bytes())
    yield server
    server.close()


@contextmanager
def proxy(index: Index, credentials: str | None = None) -> Iterator[Proxy]:
    server = Proxy(index, credentials)
    try:
        yield server
    finally:
        server.close()


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PipSettings:
    """The user's pip.conf, with an index that cannot be reached directly."""
    pip_conf = PipSettings(tmp_path, monkeypatch)
    pip_conf(**INDEX)
    return pip_conf


def shown(fault: PatchtoolError) -> str:
    return f"{fault.message}\n{fault.hint}\n{fault.cause}"


@pytest.mark.slow
@pytest.mark.parametrize("credentials", [None, f"{USER}:{PASSWORD}"], ids=["open", "with-credentials"])
@pytest.mark.parametrize("where", ["pip.conf", "PIP_PROXY", "HTTP_PROXY", "http_proxy", "all_proxy", "without-scheme"])
def test_every_request_goes_through_the_proxy(
    index: Index,
    settings: PipSettings,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    where: str,
    credentials: str | None,
) -> None:
    with proxy(index, credentials) as through:
        address = f"{ESCAPED}@{through.host}" if credentials else through.host
        if where == "pip.conf":
            settings(**INDEX, proxy=f"http://{address}")
        elif where == "without-scheme":
            monkeypatch.setenv("PIP_PROXY", address)
        else:
            monkeypatch.setenv(where, f"http://{address}")
        upstream = PyPI(backoff=0.01)
        (artifact,) = upstream.artifacts("sglang", RELEASE)
        path = upstream.download(artifact, tmp_path / "new")
    assert path.read_bytes() == (tmp_path / NAME).read_bytes()
    assert through.seen == [f"{BEHIND}/sglang/", f"http://index.invalid/files/{NAME}"]
    assert [path for path, _ in index.seen] == ["/simple/sglang/", f"/files/{NAME}"]
    assert not any("authorization" in name.lower() for _, headers in index.seen for name in headers)


def test_proxy_of_pip_precedes_that_of_the_environment(
    index: Index, settings: PipSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "index.invalid")
    with proxy(index) as through:
        settings(**INDEX, proxy=f"http://{through.host}")
        assert PyPI().releases("sglang") == [RELEASE]
        assert through.seen


def test_no_proxy_is_respected(index: Index, settings: PipSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX", raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", index.url)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with proxy(index) as through:
        monkeypatch.setenv("HTTP_PROXY", f"http://{through.host}")
        assert PyPI().releases("sglang") == [RELEASE]
        assert through.seen == []


def test_index_and_proxy_have_separate_credentials(index: Index, settings: PipSettings) -> None:
    index.credentials = "reader:word"
    with proxy(index, f"{USER}:{PASSWORD}") as through:
        url = BEHIND.replace("://", "://reader:word@")
        settings(**INDEX | {"index_url": url}, proxy=f"http://{ESCAPED}@{through.host}")
        assert PyPI().releases("sglang") == [RELEASE]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("address", ["me:wr0ng@{}", "{}"], ids=["wrong", "none"])
@pytest.mark.parametrize("where", ["pip.conf", "environment"])
def test_proxy_that_denies_access_is_named_without_the_password(
    index: Index, settings: PipSettings, monkeypatch: pytest.MonkeyPatch, where: str, address: str, scheme: str
) -> None:
    with proxy(index, f"{USER}:{PASSWORD}") as through:
        index_settings = INDEX | {"index_url": BEHIND.replace("http:", f"{scheme}:")}
        url = f"http://{address.format(through.host)}"
        if where == "pip.conf":
            settings(**index_settings, proxy=url)
        else:
            settings(**index_settings)
            monkeypatch.setenv(f"{scheme.upper()}_PROXY", url)
        with pytest.raises(EnvironmentFault) as caught:
            PyPI(backoff=0.01).releases("sglang")
    assert caught.value.message == f"the proxy {through.host} denies access to index.invalid"
    assert "407" in (caught.value.cause or "")
    assert "config set global.proxy http://USER:" in (caught.value.hint or "")
    assert "wr0ng" not in shown(caught.value)
    assert len(through.seen) == 1
    assert index.seen == []


def test_index_that_answers_407_is_not_a_proxy(index: Index, settings: PipSettings) -> None:
    index.routes["/simple/sglang/"] = lambda earlier, headers: (407, {}, b"")
    settings(index_url=index.url)
    with pytest.raises(EnvironmentFault) as caught:
        PyPI(backoff=0.01).releases("sglang")
    assert caught.value.message == f"{index.host} answered 407"


def test_unreachable_proxy_is_named(settings: PipSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_PROXY", "http://me:s3cret@127.0.0.1:9")
    with pytest.raises(EnvironmentFault) as caught:
        PyPI(backoff=0.01).releases("sglang")
    assert caught.value.message == "cannot reach index.invalid through the proxy 127.0.0.1:9"
    assert "s3cret" not in shown(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "url"),
    [
        ("index-url", "https://me:s3/cret@index.invalid/simple"),
        ("extra-index-url", "https://index.invalid/simple https://me:s3#cret@index.invalid/simple"),
        ("find-links", "https://me:s3/cret@index.invalid/links"),
        ("proxy", "http://me:s3/cret@127.0.0.1:9"),
        ("proxy", "me:s3?cret@127.0.0.1:9"),
        ("proxy", "http://me:s3@cret@127.0.0.1:9"),
        ("index-url", "https://me:s3@cret@127.0.0.1:9/simple"),
        ("index-url", "https://me:s3 cret@127.0.0.1:9/simple"),
    ],
)
def test_no_part_of_an_unescaped_password_is_shown(settings: PipSettings, key: str, url: str) -> None:
    settings(**INDEX | {key.replace("-", "_"): url})
    with pytest.raises((EnvironmentFault, InputError)) as caught:
        PyPI(backoff=0.01).releases("sglang")
    text = shown(caught.value)
    assert "s3" not in text
    assert "cret" not in text
    assert "%2F" in text or "127.0.0.1:9" in text

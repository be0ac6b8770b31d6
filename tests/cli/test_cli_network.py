"""``fetch`` in a process with a company's pip.conf: an index with a password, a proxy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.adapters.archives import VERSION, make_wheel
from tests.adapters.index_server import Index
from tests.adapters.pip_settings import PipSettings
from tests.adapters.proxy_server import Proxy
from tests.cli.harness import REPOSITORY, CliResult

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = f"sglang-{VERSION}-py3-none-any.whl"


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    """An index with a password and the small release that a project pins."""
    digest = make_wheel(tmp_path / NAME)
    (tmp_path / "patches").mkdir()
    (tmp_path / "patches" / "series").write_text("")
    (tmp_path / "upstream-pin.txt").write_text(f"sglang=={VERSION} \\\n    --hash=sha256:{digest}\n")
    server = Index()
    server.credentials = "me:s3/cret"
    server.html(f'<a href="../../files/{NAME}#sha256={digest}">{NAME}</a>')
    server.file(NAME, (tmp_path / NAME).read_bytes())
    yield server
    server.close()


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PipSettings:
    return PipSettings(tmp_path, monkeypatch)


def fetch(folder: Path, *options: str) -> CliResult:
    code = "from patchtool.cli import run; run()"
    done = subprocess.run(
        [sys.executable, "-c", code, "fetch", "--store", str(folder / "store.git"), *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    return CliResult(done.returncode, done.stdout, done.stderr)


@pytest.mark.slow
def test_fetch_uses_credentials_of_the_index_url(index: Index, settings: PipSettings, tmp_path: Path) -> None:
    settings(index_url=index.url.replace("://", "://me:s3%2Fcret@"))
    answer = fetch(tmp_path)
    assert answer.code == 0, answer.err
    assert f"v{VERSION} fetched" in answer.out
    assert [path for path, _ in index.seen] == ["/simple/sglang/", f"/files/{NAME}"]
    assert f"v{VERSION} is in the store already" in fetch(tmp_path, "--offline").out


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["-v"], ["--json"]])
def test_wrong_index_credentials_exit_4(index: Index, settings: PipSettings, tmp_path: Path, more: list[str]) -> None:
    settings(index_url=index.url.replace("://", "://me:wr0ng@"))
    answer = fetch(tmp_path, *more)
    assert answer.code == 4
    assert f"error: {index.host} answered 401" in answer.err
    assert "hint: give pip the credentials for it, in the index URL or in netrc" in answer.err
    assert "wr0ng" not in answer.out + answer.err
    assert not (tmp_path / "store.git").exists()


@pytest.mark.slow
def test_fetch_goes_through_the_proxy(index: Index, settings: PipSettings, tmp_path: Path) -> None:
    proxy = Proxy(index, "me:pr0xy")
    try:
        url = "http://me:s3%2Fcret@index.invalid/simple"
        settings(index_url=url, trusted_host="index.invalid", proxy=f"http://me:pr0xy@{proxy.host}")
        answer = fetch(tmp_path)
    finally:
        proxy.close()
    assert answer.code == 0, answer.err
    assert proxy.seen == ["http://index.invalid/simple/sglang/", f"http://index.invalid/files/{NAME}"]


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["-v"], ["--json"]])
def test_wrong_proxy_credentials_exit_4(index: Index, settings: PipSettings, tmp_path: Path, more: list[str]) -> None:
    proxy = Proxy(index, "me:pr0xy")
    try:
        url = "http://me:s3%2Fcret@index.invalid/simple"
        settings(index_url=url, trusted_host="index.invalid", proxy=f"http://me:wr0ng@{proxy.host}")
        answer = fetch(tmp_path, *more)
    finally:
        proxy.close()
    assert answer.code == 4
    assert f"error: the proxy {proxy.host} denies access to index.invalid" in answer.err
    assert "hint: give pip the proxy's credentials: `python -m pip config set global.proxy" in answer.err
    assert not any(word in answer.out + answer.err for word in ("wr0ng", "s3", "cret"))
    if "--json" in more:
        assert json.loads(answer.out)["error"]["hint"].startswith("give pip the proxy's credentials")
    assert not (tmp_path / "store.git").exists()

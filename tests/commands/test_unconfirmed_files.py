"""Files of a folder are compared with the pin, else with the index; what neither knows is told."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from tests.adapters.index_server import Index
from tests.adapters.pip_settings import PipSettings
from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "sglang-1.1-py3-none-any.whl"
OTHER = "sglang-1.1-cp311-cp311-any.whl"


@pytest.fixture
def index() -> Iterator[Index]:
    server = Index()
    yield server
    server.close()


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PipSettings:
    return PipSettings(tmp_path, monkeypatch)


def _listed(index: Index, **digests: str) -> None:
    names = {"wheel": NAME, "other": OTHER}
    files: list[dict[str, object]] = [
        {"filename": names[key], "url": names[key], "hashes": {"sha256": digest}} for key, digest in digests.items()
    ]
    index.json(*files)


def _digest(upstream: SmallUpstream) -> str:
    return hashlib.sha256((upstream.links / NAME).read_bytes()).hexdigest()


@pytest.mark.parametrize("verb", [("rebase", "--to", "v1.1"), ("fetch", "v1.1"), ("status", "--on", "v1.1")])
def test_tampered_file_is_refused_where_the_index_knows_better(
    upstream: SmallUpstream, index: Index, settings: PipSettings, verb: tuple[str, ...]
) -> None:
    upstream.release("1.1", {CACHE: SOURCE})
    settings(index_url=index.url)
    _listed(index, wheel="0" * 64)
    before = upstream.written()
    answer = upstream.run(*verb)
    assert answer.code == 4
    assert "has a hash that the index lists" in answer.err
    assert _digest(upstream) in answer.err
    assert upstream.written() == before


def test_pin_lists_what_the_index_lists(upstream: SmallUpstream, index: Index, settings: PipSettings) -> None:
    upstream.release("1.1", {CACHE: SOURCE})
    settings(index_url=index.url)
    _listed(index, wheel=_digest(upstream), other="1" * 64)
    answer = upstream.run("rebase", "--to", "v1.1")
    assert answer.code == 0, answer.err
    assert "no index confirmed" not in answer.out
    pin = (upstream.project / "upstream-pin.txt").read_text()
    assert pin.count("--hash=sha256:") == 2
    assert "#" not in pin


@pytest.mark.parametrize("why", ["no-index", "offline", "unreachable", "unknown"])
def test_what_no_index_confirmed_is_told(
    upstream: SmallUpstream, index: Index, settings: PipSettings, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream.release("1.1", {CACHE: SOURCE})
    settings(index_url="http://127.0.0.1:1/simple" if why == "unreachable" else index.url)
    if why == "no-index":
        monkeypatch.setenv("PIP_NO_INDEX", "1")
    answer = upstream.run("rebase", "--to", "v1.1", *(["--offline"] if why == "offline" else []))
    assert answer.code == 0, answer.err
    assert "which no index confirmed" in answer.out
    pin = (upstream.project / "upstream-pin.txt").read_text()
    assert pin.endswith("\n# of files in a folder: no index confirmed these hashes\n")
    assert upstream.run("status").code == 0
    assert "no index confirmed" not in upstream.run("status").out


def test_pinned_file_is_compared_with_the_pin_alone(
    upstream: SmallUpstream, index: Index, settings: PipSettings
) -> None:
    settings(index_url=index.url)
    assert upstream.run("fetch").code == 0
    assert index.seen == []
    (upstream.links / "sglang-1.0-py3-none-any.whl").write_bytes(b"tampered")
    (upstream.folder / "store").rename(upstream.folder / "earlier-store")
    answer = upstream.run("fetch")
    assert answer.code == 4
    assert "has a hash that the pin lists" in answer.err

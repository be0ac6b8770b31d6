"""Releases that are no plain ones: local versions, nightly builds, other distributions, yanked files."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.adapters.index_server import Index
from tests.adapters.local_server import LocalServer
from tests.adapters.pip_settings import PipSettings
from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream

OTHER = SOURCE.replace("total = len(rows)", "total = rows.count")


@pytest.mark.parametrize("version", ["1.0+npu.1", "1.1.dev1154+g1a2b3c4", "1.1rc1", "1.0.post1"])
def test_release_of_another_form_is_pinned_applied_and_left(upstream: SmallUpstream, version: str) -> None:
    upstream.release(version, {CACHE: OTHER})
    assert upstream.run("refresh").code == 0
    moved = upstream.run("rebase", "--to", version, "--json")
    assert (moved.code, moved.states()) == (0, {"dense": "applied", "tracking": "applied"}), moved.err
    assert (upstream.project / "upstream-pin.txt").read_text().startswith(f"sglang=={version} \\\n")
    out = upstream.folder / "out"
    assert upstream.run("apply", "--output", str(out)).code == 0
    assert "total = rows.count" in (out / CACHE).read_text()
    assert upstream.run("status", "--json").document["upstream"]["release"] == f"v{version}"
    assert [r["release"] for r in upstream.run("survey", "1.0", version, "--json").document["releases"]][-1] in (
        f"v{version}",
        "v1.0",
    )
    assert upstream.run("rebase", "--to", "v1.0").code == 0


def test_distribution_of_another_name_has_releases_of_its_own(upstream: SmallUpstream) -> None:
    assert upstream.run("fetch").code == 0
    upstream.release("1.0", {CACHE: OTHER}, "amd_sglang")
    upstream.pin("1.0", "amd_sglang")
    assert upstream.run("status").code == 0
    applied = upstream.run("apply", "--output", str(upstream.folder / "out"))
    assert applied.code == 0, applied.err
    assert "total = rows.count" in (upstream.folder / "out" / CACHE).read_text()
    assert "amd-sglang v1.0" in applied.out
    upstream.pin("1.0")
    assert "total = len(rows)" in upstream.run("diff").out


@pytest.fixture
def index(upstream: SmallUpstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """An index with 1.0 and 1.1, from which releases come instead of a folder."""
    server = Index()
    PipSettings(tmp_path, monkeypatch)(index_url=server.url)
    upstream.release("1.1", {CACHE: SOURCE})
    upstream.source = ()
    for wheel in upstream.links.iterdir():
        server.file(wheel.name, wheel.read_bytes())
    yield server
    server.close()


def publish(server: Index, upstream: SmallUpstream, yanked: dict[str, str]) -> None:
    files: list[dict[str, object]] = []
    for wheel in upstream.links.iterdir():
        version, digest = wheel.name.split("-")[1], hashlib.sha256(wheel.read_bytes()).hexdigest()
        reason: dict[str, object] = {"yanked": yanked[version] or True} if version in yanked else {}
        url = f"../../files/{wheel.name}"
        files.append({"filename": wheel.name, "url": url, "hashes": {"sha256": digest}, **reason})
    server.json(*files)


def test_yanked_pin_is_reported_when_it_is_fetched_and_afterwards(upstream: SmallUpstream, index: Index) -> None:
    publish(index, upstream, {"1.0": "it deadlocks"})
    note = "v1.0 was yanked by its authors: it deadlocks"
    assert note in upstream.run("status", "--json").document["notes"]
    assert note in upstream.run("--offline", "status", "--json").document["notes"]
    assert note in upstream.run("apply", "--output", str(upstream.folder / "out"), "--json").document["notes"]


def test_rebase_reports_a_yanked_release_and_latest_avoids_it(upstream: SmallUpstream, index: Index) -> None:
    publish(index, upstream, {})
    assert upstream.run("fetch", "1.0", "1.1").code == 0
    publish(index, upstream, {"1.1": ""})
    assert upstream.run("rebase", "--to", "latest", "--json").document["plan"]["to"] == "v1.0"
    moved = upstream.run("rebase", "--to", "1.1", "--json")
    note = "v1.1 was yanked by its authors: no reason is given"
    assert (moved.code, note in moved.document["notes"]) == (0, True)
    assert note in upstream.run("status", "--json").document["notes"]


def test_new_project_on_a_yanked_release_says_so(upstream: SmallUpstream, index: Index, tmp_path: Path) -> None:
    publish(index, upstream, {"1.1": "it deadlocks"})
    note = "v1.1 was yanked by its authors: it deadlocks"
    assert note in upstream.run("init", str(tmp_path / "named"), "--release", "1.1", "--json").document["notes"]
    latest = upstream.run("init", str(tmp_path / "newest"), "--json")
    assert latest.code == 0, latest.err
    assert (tmp_path / "newest/upstream-pin.txt").read_text().startswith("sglang==1.0 ")
    upstream.project = tmp_path / "named"
    assert note in upstream.run("status", "--json").document["notes"]


def test_release_that_is_offered_again_is_not_yanked(upstream: SmallUpstream, index: Index) -> None:
    publish(index, upstream, {"1.1": "oops"})
    assert "yanked" in upstream.run("fetch", "1.1").out
    publish(index, upstream, {})
    assert "yanked" not in upstream.run("rebase", "--to", "1.1").out


@pytest.mark.parametrize("served", ["file", "http"])
def test_wheel_is_pinned_by_its_url(upstream: SmallUpstream, served: str) -> None:
    wheel = upstream.release("1.0+vendor.2", {CACHE: SOURCE})
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(upstream.links))
    server = LocalServer(handler)  # type: ignore[arg-type]
    try:
        url = wheel.as_uri() if served == "file" else f"http://{server.host}/{quote(wheel.name)}"
        pin = upstream.project / "upstream-pin.txt"
        pin.write_text(f"sglang @ {url}#sha256={'0' * 64}\n")
        upstream.source = ()
        refused = upstream.run("status")
        assert (refused.code, "hash" in refused.err) == (4, True), refused.err
        pin.write_text(f"sglang @ {url}#sha256={digest}\n")
        status = upstream.run(*(["--offline"] if served == "file" else []), "status", "--json")
        assert status.code == 0, status.err
        assert status.document["upstream"]["release"] == "v1.0+vendor.2"
        assert status.states() == {"dense": "applied", "tracking": "applied"}
        assert upstream.run("refresh").code == 0
        assert upstream.run("--offline", "rebase", "--to", "1.0+vendor.2").code == 0
        assert pin.read_text() == f"sglang @ {url}#sha256={digest}\n"
    finally:
        server.close()


def test_a_pin_that_an_editor_began_with_a_byte_order_mark_is_read(upstream: SmallUpstream) -> None:
    pin = upstream.project / "upstream-pin.txt"
    pin.write_bytes(b"\xef\xbb\xbf" + pin.read_bytes())
    assert upstream.run("status").code == 0

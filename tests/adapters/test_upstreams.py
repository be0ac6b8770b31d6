"""Sources of releases: what they list, what a download verifies, and what an error says."""

from __future__ import annotations

import contextlib
import hashlib
import socket
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from patchtool.adapters import upstreams
from patchtool.adapters.upstreams import SOURCES, open_upstream, pinned
from patchtool.adapters.upstreams.folder import Folder
from patchtool.adapters.upstreams.pipconfig import PipConfig, parse_pip_config, read_pip_config
from patchtool.adapters.upstreams.pypi import PyPI
from patchtool.adapters.upstreams.session import split_credentials
from patchtool.domain.errors import EnvironmentFault, ExitCode, InputError, RefusedError
from patchtool.domain.release import Release
from tests.adapters.archives import VERSION, make_wheel
from tests.adapters.index_server import Index

if TYPE_CHECKING:
    from collections.abc import Iterator

RELEASE = Release(VERSION)
NAME = f"sglang-{VERSION}-py3-none-any.whl"
DATA = b"wheel" * 100_000
DIGEST = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def index() -> Iterator[Index]:
    server = Index()
    yield server
    server.close()


def names_in(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


class Recorder:
    """Keeps the last progress."""

    last: tuple[int, int | None] = (0, None)

    def __call__(self, done: int, total: int | None) -> None:
        self.last = (done, total)


def link(name: str, digest: str = DIGEST, attributes: str = "", base: str = "../../files") -> str:
    fragment = f"#sha256={digest}" if digest else ""
    return f'<a href="{base}/{name}{fragment}" {attributes}>{name}</a>'


def entry(name: str, digest: str = DIGEST, **more: object) -> dict[str, object]:
    return {"filename": name, "url": f"../../files/{name}", "hashes": {"sha256": digest}, **more}


def client(index: Index, extra_indexes: tuple[str, ...] = (), find_links: tuple[str, ...] = ()) -> PyPI:
    config = PipConfig(index=index.url, extra_indexes=extra_indexes, find_links=find_links, retries=2)
    return PyPI(config, backoff=0.01)


NAMES = [
    "sglang-1.2.3-cp311-cp311-manylinux_2_34_x86_64.whl",
    "sglang-1.2.3-cp39-cp39-win_amd64.whl",
    "sglang-1.2.3.tar.gz",
    "sglang-1.2.3.post1-py3-none-any.whl",
    "sglang-1.2.2-py3-none-any.whl",
    "sglang-1.3.0rc1-py3-none-any.whl",
    "sglang-2019.final.whl",
    "sglang-1.0+local-py3-none-any.whl",
    "sglang-1!9-py3-none-any.whl",
    "sglang-1.2.3-py3.egg",
    "sglang_kernel-1.2.3-py3-none-any.whl",
]


@pytest.mark.parametrize("kind", ["html", "json"])
def test_listing_includes_files_for_every_python_and_platform(index: Index, kind: str) -> None:
    if kind == "html":
        index.html(*map(link, NAMES), link("sglang-1.1-py3-none-any.whl", attributes='data-yanked="bad"'))
    else:
        index.json(
            *(entry(name, size=1000 + number) for number, name in enumerate(reversed(NAMES))),
            entry("sglang-1.1-py3-none-any.whl", yanked="bad"),
        )
    upstream = client(index)
    assert list(map(str, upstream.releases("sglang"))) == [
        "v1.0+local",
        "v1.2.2",
        "v1.2.3",
        "v1.2.3.post1",
        "v1.3.0rc1",
    ]
    files = upstream.artifacts("sglang", RELEASE)
    assert files[-1].filename == "sglang-1.2.3.tar.gz"
    assert {each.filename for each in files[:2]} == set(NAMES[:2])
    assert all(each.sha256 == DIGEST for each in files)
    assert [each.yanked for each in upstream.artifacts("sglang", Release("1.1"))] == [True]
    if kind == "json":
        assert files[0].size is not None
        assert files[1].size is not None
        assert files[0].size < files[1].size
    assert index.requests["/simple/sglang/"] == 1


def test_pinned_keeps_artifacts_with_a_listed_hash_or_none(index: Index) -> None:
    index.html(link(NAMES[0], "a" * 64), link(NAMES[1], "b" * 64), link(NAMES[2], ""))
    files = client(index).artifacts("sglang", RELEASE)
    assert [each.filename for each in pinned(files, ["b" * 64])] == [NAMES[1], NAMES[2]]


def test_unknown_release_is_rejected_with_the_nearest_ones(index: Index) -> None:
    index.html(*(link(f"sglang-0.{minor}-py3-none-any.whl") for minor in range(1, 9)))
    with pytest.raises(InputError) as caught:
        client(index).artifacts("sglang", Release("0.4.1"))
    assert caught.value.hint is not None
    assert "v0.3, v0.4, v0.5, v0.6" in caught.value.hint
    assert "v0.8" not in caught.value.hint


def test_unknown_project_is_an_unknown_release(index: Index) -> None:
    with pytest.raises(InputError, match="has no sglang v1"):
        client(index).artifacts("sglang", RELEASE)


def test_download_is_verified_and_reports_progress(index: Index, tmp_path: Path) -> None:
    index.html(link(NAME))
    index.file(NAME, DATA)
    upstream, progress = client(index), Recorder()
    (artifact,) = upstream.artifacts("sglang", RELEASE)
    path = upstream.download(artifact, tmp_path / "new", progress, accept=[DIGEST])
    assert path == tmp_path / "new" / NAME
    assert path.read_bytes() == DATA
    assert progress.last == (len(DATA), len(DATA))
    assert names_in(path.parent) == [NAME]


@pytest.mark.parametrize("accept", [pytest.param((), id="by the index"), pytest.param(["a" * 64], id="by the pin")])
def test_file_with_another_hash_is_not_kept(index: Index, tmp_path: Path, accept: list[str]) -> None:
    index.html(link(NAME))
    index.file(NAME, DATA if accept else b"evil")
    upstream = client(index)
    (artifact,) = upstream.artifacts("sglang", RELEASE)
    with pytest.raises(EnvironmentFault) as caught:
        upstream.download(artifact, tmp_path, accept=accept)
    found = DIGEST if accept else hashlib.sha256(b"evil").hexdigest()
    assert found in caught.value.message
    assert (accept or [DIGEST])[0] in caught.value.message
    assert caught.value.exit_code is ExitCode.ENVIRONMENT
    assert names_in(tmp_path) == []


def test_download_is_refused_without_a_hash(index: Index, tmp_path: Path) -> None:
    index.html(link(NAME, ""))
    index.file(NAME, DATA)
    upstream = client(index)
    (artifact,) = upstream.artifacts("sglang", RELEASE)
    with pytest.raises(RefusedError):
        upstream.download(artifact, tmp_path)
    assert upstream.download(artifact, tmp_path, accept=[DIGEST]).read_bytes() == DATA


@pytest.mark.parametrize("status", [429, 500, 503])
def test_request_is_repeated_when_the_index_is_busy(index: Index, tmp_path: Path, status: int) -> None:
    index.html(link(NAME))
    page = index.routes["/simple/sglang/"]
    index.routes["/simple/sglang/"] = lambda earlier, headers: page(0, {}) if earlier else (status, {}, b"busy")
    index.routes[f"/files/{NAME}"] = lambda earlier, headers: (200, {}, DATA) if earlier else (status, {}, b"busy")
    upstream = client(index)
    (artifact,) = upstream.artifacts("sglang", RELEASE)
    assert upstream.download(artifact, tmp_path).read_bytes() == DATA


@pytest.mark.parametrize("resumes", [True, False])
def test_broken_download_resumes_or_restarts(index: Index, tmp_path: Path, resumes: bool) -> None:
    def serve(earlier: int, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        if earlier == 0:
            return 200, {"Content-Length": str(len(DATA))}, DATA[:100_000]
        start = int(headers["Range"].removeprefix("bytes=").removesuffix("-"))
        if resumes:
            return 206, {"Content-Range": f"bytes {start}-{len(DATA) - 1}/{len(DATA)}"}, DATA[start:]
        return 200, {}, DATA

    index.html(link(NAME))
    index.routes[f"/files/{NAME}"] = serve
    upstream, progress = client(index), Recorder()
    (artifact,) = upstream.artifacts("sglang", RELEASE)
    path = upstream.download(artifact, tmp_path, progress)
    assert path.read_bytes() == DATA
    assert progress.last == (len(DATA), len(DATA))
    assert index.requests[f"/files/{NAME}"] == 2


def test_download_fails_when_every_connection_breaks(index: Index, tmp_path: Path) -> None:
    index.html(link(NAME))
    index.routes[f"/files/{NAME}"] = lambda earlier, headers: (200, {"Content-Length": "1000000"}, b"x")
    upstream = client(index)
    (artifact,) = upstream.artifacts("sglang", RELEASE)
    with pytest.raises(EnvironmentFault, match="cannot reach"):
        upstream.download(artifact, tmp_path)
    assert names_in(tmp_path) == []


def test_index_credentials_apply_to_its_files_and_are_never_shown(index: Index, tmp_path: Path) -> None:
    index.credentials = "me:se/cret"
    index.html(link(NAME), link(NAMES[0], base=f"http://{index.host}/files"))
    index.file(NAME, DATA)
    index.file(NAMES[0], DATA)
    url = index.url.replace("//", "//me:se%2Fcret@")
    upstream = PyPI(PipConfig(index=url, retries=0), backoff=0.01)
    for artifact in upstream.artifacts("sglang", RELEASE):
        assert "cret" not in artifact.url
        assert upstream.download(artifact, tmp_path).read_bytes() == DATA
    index.credentials = "other:word"
    with pytest.raises(EnvironmentFault) as caught:
        PyPI(PipConfig(index=url, retries=0), backoff=0.01).releases("sglang")
    shown = f"{caught.value.message} {caught.value.hint} {caught.value.cause}"
    assert "401" in shown
    assert "credentials" in shown
    assert "cret" not in shown


def test_credentials_are_sent_to_their_host_only(index: Index, tmp_path: Path) -> None:
    other = Index()
    try:
        index.credentials = "me:secret"
        index.html(link(NAME, base=f"http://localhost:{other.host.partition(':')[2]}/files"))
        other.file(NAME, DATA)
        upstream = PyPI(PipConfig(index=index.url.replace("//", "//me:secret@")), backoff=0.01)
        (artifact,) = upstream.artifacts("sglang", RELEASE)
        upstream.download(artifact, tmp_path)
        assert all("Authorization" not in headers for _, headers in other.seen)
    finally:
        other.close()


def test_credentials_come_from_netrc(index: Index, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    index.credentials = "me:secret"
    index.html(link(NAME))
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret\n")
    (tmp_path / "netrc").chmod(0o600)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    assert client(index).releases("sglang") == [RELEASE]


def test_error_without_network_names_the_alternatives() -> None:
    attempts: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        done = threading.Event()

        def hang_up() -> None:
            while not done.is_set():
                with contextlib.suppress(TimeoutError):
                    connection, _ = server.accept()
                    attempts.append(connection)
                    connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        host = f"127.0.0.1:{server.getsockname()[1]}"
        try:
            with pytest.raises(EnvironmentFault) as caught:
                PyPI(PipConfig(index=f"http://{host}/simple", retries=1), backoff=0.01).releases("sglang")
        finally:
            done.set()
            thread.join()
    assert host in caught.value.message
    assert "--find-links" in (caught.value.hint or "")
    assert "patchtool fetch" in (caught.value.hint or "")
    assert len(attempts) == 2, "one attempt and one retry"


def test_unencrypted_index_must_be_a_trusted_host() -> None:
    config = PipConfig(index="http://index.invalid/simple", retries=0)
    with pytest.raises(EnvironmentFault, match="would not be encrypted"):
        PyPI(config, backoff=0.01).releases("sglang")
    trusting = PipConfig(index="http://index.invalid/simple", retries=0, trusted_hosts=("index.invalid",))
    with pytest.raises(EnvironmentFault, match="cannot reach"):
        PyPI(trusting, backoff=0.01).releases("sglang")


def test_answer_that_is_not_an_index_page_is_rejected(index: Index) -> None:
    index.page(b"%PDF", "application/pdf")
    with pytest.raises(EnvironmentFault, match="is not an index page"):
        client(index).releases("sglang")
    index.page(b"{}", "application/vnd.pypi.simple.v1+json")
    with pytest.raises(EnvironmentFault):
        client(index).releases("sglang")


def test_location_that_fails_is_a_note_if_others_have_files(index: Index, tmp_path: Path) -> None:
    index.html(link(NAME))
    upstream = client(index, extra_indexes=("http://127.0.0.1:9/simple",), find_links=(str(tmp_path / "gone"),))
    assert upstream.releases("sglang") == [RELEASE]
    assert upstream.notes == ["cannot reach 127.0.0.1:9"]


def test_pages_of_links_and_file_urls_are_locations(index: Index, tmp_path: Path) -> None:
    index.page(link("sglang-1.0-py3-none-any.whl", base="../files").encode(), path="/links/")
    folder = tmp_path / "simple" / "sglang"
    digest = make_wheel(folder / NAME)
    (folder / "index.html").write_text(f'<a href="{NAME}">{NAME}</a>')
    config = PipConfig(
        no_index=True,
        index="http://127.0.0.1:9/",
        find_links=(f"http://{index.host}/links/", folder.as_uri()),
    )
    assert list(map(str, PyPI(config).releases("sglang"))) == ["v1.0", "v1.2.3"]
    upstream = PyPI(PipConfig(index=(tmp_path / "simple").as_uri()))
    (artifact,) = upstream.artifacts("sglang", RELEASE)
    assert artifact.sha256 == digest
    assert upstream.download(artifact, tmp_path / "out").read_bytes() == (folder / NAME).read_bytes()


def test_unwritable_folder_is_an_environment_fault(index: Index, tmp_path: Path) -> None:
    index.html(link(NAME))
    (tmp_path / "file").write_text("")
    upstream = client(index)
    (artifact,) = upstream.artifacts("sglang", RELEASE)
    with pytest.raises(EnvironmentFault, match="cannot write"):
        upstream.download(artifact, tmp_path / "file")


def test_filename_with_a_folder_is_refused(index: Index, tmp_path: Path) -> None:
    index.html(link(NAME))
    upstream = client(index)
    (artifact,) = upstream.artifacts("sglang", RELEASE)
    with pytest.raises(RefusedError):
        upstream.download(replace(artifact, filename="../evil.whl"), tmp_path)


def test_find_links_names_a_folder_or_a_wheel(tmp_path: Path) -> None:
    digest = make_wheel(tmp_path / NAME)
    make_wheel(tmp_path / "sglang-0.9-py3-none-any.whl")
    (tmp_path / "other.txt").write_text("")
    folder = open_upstream(find_links=tmp_path)
    assert list(map(str, folder.releases("sglang"))) == ["v0.9", "v1.2.3"]
    for upstream in (folder, Folder(tmp_path / NAME)):
        (artifact,) = upstream.artifacts("sglang", RELEASE)
        assert artifact.sha256 == digest
        assert upstream.download(artifact, tmp_path / "unused", accept=[digest]) == tmp_path / NAME
    with pytest.raises(EnvironmentFault, match="a" * 64):
        folder.download(artifact, tmp_path, accept=["a" * 64])
    with pytest.raises(InputError) as caught:
        folder.artifacts("sglang", Release("1.0"))
    assert "v0.9, v1.2.3" in (caught.value.hint or "")
    with pytest.raises(InputError):
        Folder(tmp_path / "gone").releases("sglang")


def test_offline_without_a_folder_is_refused_with_the_alternatives(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFault) as caught:
        open_upstream(offline=True)
    assert "--offline" in caught.value.message
    assert "--find-links" in (caught.value.hint or "")
    assert isinstance(open_upstream(offline=True, find_links=tmp_path), Folder)


def test_every_module_with_a_source_is_registered() -> None:
    folder = Path(upstreams.__file__).parent
    modules = {path.stem for path in folder.glob("*.py") if "\ndef open_source(" in path.read_text()}
    assert modules == set(SOURCES)


def test_pip_settings_have_pips_precedence() -> None:
    listing = (
        "For variant 'global', will try loading '/etc/pip.conf'\n"
        "global.index-url='https://one/simple'\n"
        "global.extra-index-url='\\nhttps://two/simple\\nhttps://three/simple'\n"
        "download.index-url='https://four/simple'\n"
        "install.index-url='https://five/simple'\n"
        "global.trusted-host='one two:8443'\n"
        "global.no-index='yes'\n"
        ":env:.default-timeout='7'\n"
        ":env:.proxy='http://me:secret@proxy:1'\n"
    )
    config = parse_pip_config(listing)
    assert config.index == "https://four/simple"
    assert config.extra_indexes == ("https://two/simple", "https://three/simple")
    assert config.trusted_hosts == ("one", "two:8443")
    assert (config.no_index, config.timeout, config.proxy) == (True, 7.0, "http://me:secret@proxy:1")


@pytest.mark.slow
def test_pip_settings_come_from_files_and_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings = tmp_path / "pip.conf"
    settings.write_text("[global]\nextra-index-url =\n    https://me:p'w@a/simple\n    https://b/simple\nretries = 1\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
    monkeypatch.setenv("PIP_INDEX_URL", "https://env/simple")
    monkeypatch.setenv("PIP_QUIET", "2")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pip.py").write_text("raise SystemExit('not this one')")
    config = read_pip_config()
    assert config.index == "https://env/simple"
    assert config.extra_indexes == ("https://me:p'w@a/simple", "https://b/simple")
    assert config.retries == 1
    monkeypatch.setenv("PIP_TIMEOUT", "soon")
    with pytest.raises(EnvironmentFault) as caught:
        read_pip_config()
    assert "soon" in (caught.value.cause or "")
    with pytest.raises(InputError, match="are malformed"):
        parse_pip_config("global.retries='many'")


def test_download_with_settings_read_from_pip(index: Index, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wheel = tmp_path / NAME
    digest = make_wheel(wheel)
    index.json(entry(NAME, digest))
    index.file(NAME, wheel.read_bytes())
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", index.url)
    upstream = open_upstream()
    (artifact,) = upstream.artifacts("sglang", RELEASE)
    assert upstream.download(artifact, tmp_path / "out").read_bytes() == wheel.read_bytes()


@pytest.mark.parametrize(
    ("url", "bare", "pair"),
    [
        ("https://h/x", "https://h/x", None),
        ("https://u:p%40w@h:1/x?y", "https://h:1/x?y", ("u", "p@w")),
        ("https://token@h/", "https://h/", ("token", "")),
    ],
)
def test_split_credentials(url: str, bare: str, pair: tuple[str, str] | None) -> None:
    assert split_credentials(url) == (bare, pair)

"""A hostile index costs an entry or a location, in bounded time and memory, and never a file of this machine."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import ssl
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import trustme

from patchtool.adapters.upstreams.pages import HTML, JSON, read_page
from patchtool.adapters.upstreams.pipconfig import PipConfig
from patchtool.adapters.upstreams.pypi import PyPI
from patchtool.domain.errors import EnvironmentFault, InputError
from patchtool.domain.release import Release
from tests.adapters.archives import VERSION
from tests.adapters.index_server import Index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NAME = f"sglang-{VERSION}-py3-none-any.whl"
DIGEST = "0" * 64
GOOD = {"filename": NAME, "url": f"../../files/{NAME}", "hashes": {"sha256": DIGEST}}
GOOD_LINK = f'<a href="../../files/{NAME}#sha256={DIGEST}">{NAME}</a>'
PAGE = "/simple/sglang/"


@pytest.fixture
def index() -> Iterator[Index]:
    server = Index()
    yield server
    server.close()


def client(index: Index, **settings: Any) -> PyPI:
    return PyPI(PipConfig(index=index.url, retries=0, timeout=5, **settings), backoff=0)


def _named(filename: str) -> dict[str, object]:
    return {**GOOD, "filename": filename}


def _linked(url: str) -> dict[str, object]:
    return {**_named("sglang-6.6.6-py3-none-any.whl"), "url": url}


ENTRIES: dict[str, object] = {
    "version-of-thousands-of-digits": _named(f"sglang-{'9' * 5000}-py3-none-any.whl"),
    "version-of-many-digits": _named(f"sglang-{'9' * 200}-py3-none-any.whl"),
    "build-number-of-thousands-of-digits": _named(f"sglang-1.0-{'9' * 5000}-py3-none-any.whl"),
    "name-with-an-escape": _named("sglang-6.6.6\x1b[2J-py3-none-any.whl"),
    "name-with-a-line-break": _named("sglang-6.6.6\n--py3-none-any.whl"),
    "name-with-a-line-separator": _named("sglang-6.6.6\u2028-py3-none-any.whl"),
    "name-with-folders": _named("../../sglang-6.6.6-py3-none-any.whl"),
    "name-of-another-type": {**GOOD, "filename": 1},
    "no-name": {"url": "x", "hashes": {}},
    "empty-name": _named(""),
    "hash-of-another-type": {**_named("sglang-6.6.6-py3-none-any.whl"), "hashes": {"sha256": 1}},
    "hashes-of-another-type": {**_named("sglang-6.6.6-py3-none-any.whl"), "hashes": []},
    "size-of-another-type": {**_named("sglang-6.6.6-py3-none-any.whl"), "size": "1"},
    "not-an-object": 5,
    "file-url": _linked("file:///etc/passwd"),
    "file-url-of-a-host": _linked("file://host/etc/passwd"),
    "ftp-url": _linked("ftp://host/x"),
    "data-url": _linked("data:text/plain,x"),
    "script-url": _linked("javascript:x"),
    "url-without-a-scheme": _linked("x:/etc/passwd"),
    "url-that-cannot-be-split": _linked("http://[x"),
    "git-url": _linked("git+ssh://host/x"),
}


# A link has no types, and always has a name.
LINKS = [name for name, entry in ENTRIES.items() if name not in ("no-name", "not-an-object") and "type" not in name]


@pytest.mark.parametrize(("name", "kind"), [*((name, "json") for name in ENTRIES), *((name, "html") for name in LINKS)])
def test_hostile_entry_costs_one_entry(index: Index, name: str, kind: str) -> None:
    entry: Any = ENTRIES[name]
    if kind == "json":
        index.page(json.dumps({"meta": {"api-version": "1.0"}, "files": [entry, GOOD]}).encode(), JSON)
    else:
        index.html(f'<a href="{entry["url"]}">{entry["filename"]}</a>', GOOD_LINK)
    upstream = client(index)
    assert upstream.releases("sglang") == [Release(VERSION)]
    assert [artifact.sha256 for artifact in upstream.artifacts("sglang", Release(VERSION))] == [DIGEST]
    assert all(note.isprintable() for note in upstream.notes)


@pytest.mark.parametrize("digest", ["1" * 63, "Z" * 64, "0" * 64 + " \\\n    --hash=sha256:1", "", "md5=1"])
def test_hash_that_is_none_is_not_listed(index: Index, digest: str) -> None:
    index.json({**GOOD, "hashes": {"sha256": digest}})
    assert [artifact.sha256 for artifact in client(index).artifacts("sglang", Release(VERSION))] == [None]


def _zipped(data: bytes) -> bytes:
    return gzip.compress(data)


def _endless(piece: bytes) -> Iterator[bytes]:
    return itertools.repeat(piece)


MIB = 1 << 20
PAGES: dict[str, Callable[[], tuple[int, dict[str, str], Any]]] = {
    "endless": lambda: (200, {"Content-Type": JSON}, _endless(b" " * 65536)),
    "endless-html": lambda: (200, {"Content-Type": HTML[1]}, _endless(b"<a>" * 20000)),
    "endless-chunks": lambda: (
        200, {"Content-Type": JSON, "Transfer-Encoding": "chunked"}, _endless(b"1000\r\n" + b" " * 4096 + b"\r\n"),
    ),
    "endless-chunk-size": lambda: (
        200, {"Content-Type": JSON, "Transfer-Encoding": "chunked"}, _endless(b"0" * 65536),
    ),
    "endless-header": lambda: (200, {"Content-Type": JSON, "X": "a" * 1_000_000}, b"{}"),
    "large-length": lambda: (200, {"Content-Type": JSON, "Content-Length": str(1 << 40)}, _endless(b" " * 65536)),
    "bomb": lambda: (200, {"Content-Type": JSON, "Content-Encoding": "gzip"}, _zipped(b"[" + b" " * 64 * MIB)),
    "bomb-in-a-bomb": lambda: (
        200, {"Content-Type": JSON, "Content-Encoding": "gzip, gzip"}, _zipped(_zipped(b" " * 64 * MIB)),
    ),
    "other-compression": lambda: (200, {"Content-Type": JSON, "Content-Encoding": "br"}, b"x"),
    "damaged-compression": lambda: (200, {"Content-Type": JSON, "Content-Encoding": "gzip"}, b"x"),
    "many-empty-entries": lambda: (
        200, {"Content-Type": JSON}, b'{"meta": {"api-version": "1.0"}, "files": [' + b"{}," * (2 * MIB) + b"5]}",
    ),
    "deep-list": lambda: (200, {"Content-Type": JSON}, b'{"meta": {"api-version": "1.0"}, "files": ' + b"[" * MIB),
    "deep-entry": lambda: (
        200, {"Content-Type": JSON}, b'{"meta": {"api-version": "1.0"}, "files": [' + b'{"a":' * MIB,
    ),
    "deep-html": lambda: (200, {"Content-Type": HTML[1]}, b"<div>" * (MIB // 4)),
    "html-of-openings": lambda: (200, {"Content-Type": HTML[1]}, b"<a " * (2 * MIB)),
    "html-of-declarations": lambda: (200, {"Content-Type": HTML[1]}, b"<![" * (2 * MIB)),
    "html-of-comments": lambda: (200, {"Content-Type": HTML[1]}, b"<!--" * (2 * MIB - 1)),
    "html-of-quotes": lambda: (200, {"Content-Type": HTML[1]}, b"<a x='\"" * (MIB // 4)),
    "html-of-attributes": lambda: (200, {"Content-Type": HTML[1]}, b"<a " + b"x=" * (3 * MIB) + b">"),
    "wrong-json": lambda: (200, {"Content-Type": JSON}, b"\xff{"),
    "json-of-another-shape": lambda: (200, {"Content-Type": JSON}, b"[]"),
    "newer-version": lambda: (200, {"Content-Type": JSON}, b'{"meta": {"api-version": "2.0"}, "files": []}'),
    "other-type": lambda: (200, {"Content-Type": "image/png"}, b"x"),
    "reason-with-an-escape": lambda: (418, {}, b"x"),
    "redirect-to-itself": lambda: (302, {"Location": PAGE}, b""),
    "redirect-to-a-file": lambda: (302, {"Location": "file:///etc/passwd"}, b""),
    "redirect-to-ftp": lambda: (302, {"Location": "ftp://localhost/x"}, b""),
    "redirect-to-nowhere": lambda: (302, {"Location": "http://["}, b""),
    "busy-for-years": lambda: (503, {"Retry-After": "99999999"}, b""),
}  # fmt: skip
_LIST = """
import json, resource, sys
from pathlib import Path
from patchtool.adapters.upstreams.pipconfig import PipConfig
from patchtool.adapters.upstreams.pypi import PyPI
from patchtool.domain.errors import EnvironmentFault
from patchtool.domain.release import Release
message = ""
try:
    PyPI(PipConfig(index=sys.argv[1], retries=0, timeout=5), backoff=0).artifacts("sglang", Release("1.2.3"))
except Exception as error:
    message = f"{type(error).__name__}: {error}"
status = Path("/proc/self/status").read_text()
print(json.dumps([message, int(status.partition("VmHWM:")[2].split()[0])]))
"""


@pytest.mark.parametrize("name", PAGES)
def test_hostile_page_is_refused_in_little_memory(index: Index, name: str) -> None:
    index.routes[PAGE] = lambda earlier, headers: PAGES[name]()
    run = subprocess.run([sys.executable, "-c", _LIST, index.url], capture_output=True, check=True, timeout=300)
    message, memory = json.loads(run.stdout)
    assert message.startswith(("EnvironmentFault", "InputError: the index has no sglang v1.2.3")), message
    assert memory < 300 * 1024


@pytest.mark.parametrize(
    "text",
    ["<a " * 300_000, "<a href='" * 100_000, "<" * 1_000_000, "<!--" * 200_000, "<a>" * 300_000, "</a>" * 200_000,
     "<a x=\"'>" * 100_000, "&" * 1_000_000, "<a>&#" + "9" * 900_000 + "</a>", "<base href='http://['>" + GOOD_LINK],
)  # fmt: skip
def test_malformed_html_lists_nothing(text: str) -> None:
    assert read_page(text.encode(), HTML[1], "https://index/simple/sglang/", str).artifacts == []


def test_files_larger_than_stated_are_not_received(index: Index, tmp_path: Path) -> None:
    index.json({**GOOD, "size": 1000})
    index.routes[f"/files/{NAME}"] = lambda earlier, headers: (200, {}, _endless(b"x" * 65536))
    upstream = client(index)
    with pytest.raises(EnvironmentFault, match="is refused") as caught:
        upstream.download(upstream.artifacts("sglang", Release(VERSION))[0], tmp_path)
    assert "1000 bytes" in str(caught.value.cause)
    assert list(tmp_path.iterdir()) == []


class Secure:
    """An index with TLS and a password, and another server on this machine without TLS."""

    def __init__(self, folder: Path) -> None:
        authority = trustme.CA()
        self.certificates = folder / "authority.pem"
        authority.cert_pem.write_to_path(str(self.certificates))
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert("127.0.0.1").configure_cert(tls)
        self.index, self.other = Index(tls), Index()
        self.index.credentials = "me:secret"

    def client(self) -> PyPI:
        url = self.index.url.replace("://", "://me:secret@")
        return PyPI(PipConfig(index=url, cert=str(self.certificates), retries=0, timeout=5), backoff=0)

    def redirect(self, path: str, target: str) -> None:
        self.index.routes[path] = lambda earlier, headers: (302, {"Location": target}, b"")


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[Secure]:
    made = Secure(tmp_path)
    yield made
    made.index.close()
    made.other.close()


@pytest.mark.slow
def test_redirect_from_https_to_http_is_not_followed(secure: Secure) -> None:
    secure.other.page(GOOD_LINK.encode())
    secure.redirect(PAGE, f"http://{secure.other.host}{PAGE}")
    with pytest.raises(EnvironmentFault, match=r"redirect of .* is not followed") as caught:
        secure.client().releases("sglang")
    assert "from https to http" in str(caught.value.cause)
    assert secure.other.seen == []


@pytest.mark.slow
def test_file_that_is_redirected_from_https_to_http_is_not_fetched(secure: Secure, tmp_path: Path) -> None:
    secure.other.file(NAME, b"x")
    secure.index.json({**GOOD, "hashes": {"sha256": hashlib.sha256(b"x").hexdigest()}})
    secure.redirect(f"/files/{NAME}", f"http://{secure.other.host}/files/{NAME}")
    upstream = secure.client()
    with pytest.raises(EnvironmentFault, match=r"redirect of .* is not followed"):
        upstream.download(upstream.artifacts("sglang", Release(VERSION))[0], tmp_path)
    assert secure.other.seen == []


@pytest.mark.slow
def test_credentials_are_not_sent_after_a_redirect_or_in_the_clear(secure: Secure, tmp_path: Path) -> None:
    digest = hashlib.sha256(b"x").hexdigest()
    secure.other.file(NAME, b"x")
    url = f"http://{secure.other.host}/files/{NAME}"
    secure.index.json({**GOOD, "url": url, "hashes": {"sha256": digest}})
    upstream = secure.client()
    assert upstream.download(upstream.artifacts("sglang", Release(VERSION))[0], tmp_path).read_bytes() == b"x"
    assert [headers for _, headers in secure.other.seen if "Authorization" in headers] == []
    assert all("Authorization" in headers for _, headers in secure.index.seen)


def test_credentials_in_a_link_of_an_index_do_not_replace_the_users(index: Index) -> None:
    index.credentials = "me:secret"
    index.json({**GOOD, "url": f"http://evil:evil@{index.host}/files/{NAME}"})
    upstream = PyPI(PipConfig(index=index.url.replace("://", "://me:secret@"), retries=0, timeout=5), backoff=0)
    artifact = upstream.artifacts("sglang", Release(VERSION))[0]
    assert "evil" not in artifact.url
    with pytest.raises(InputError, match="has no sglang"):
        upstream.artifacts("sglang", Release("9.9"))

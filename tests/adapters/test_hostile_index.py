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

import msgspec
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


EVIL = f'<a href="https://evil/{NAME}#sha256={"6" * 64}">{NAME}</a>'
BASE = '<base href="https://evil/">'
NOT_LINKS = {
    "link-in-a-script": f"<script>document.write('{EVIL}')</script>",
    "link-in-a-script-that-does-not-end": f"{GOOD_LINK}<script>{EVIL}",
    "link-in-a-script-of-capitals": f"<SCRIPT>{EVIL}</sCrIpT>",
    "link-in-a-style": f"<style>/* {EVIL} */</style>",
    "link-in-a-comment": f"<!-- {EVIL} -->",
    "link-in-a-character-section": f"<![CDATA[{EVIL}]]>",
    "link-in-an-attribute": f"<p title='{EVIL}'></p>",
    "link-that-is-escaped": EVIL.replace("<", "&lt;"),
    "link-without-an-address": f"<a>{NAME}</a>",
    "link-with-an-empty-name": f'<a href="https://evil/{NAME}"></a>',
    "link-that-another-link-begins-in": f'<a href="https://evil/{NAME}">{GOOD_LINK}</a>',
    "link-of-a-megabyte": f'<a x="{"a" * 1_000_000}" href="https://evil/{NAME}">{NAME}</a>',
    "link-of-many-attributes": f'<a {"a=b " * 100_000} href="https://evil/{NAME}">{NAME}</a>',
    "link-with-a-name-of-a-megabyte": f'<a href="https://evil/x">sglang-{"9" * 1_000_000}-py3-none-any.whl</a>',
    "address-of-escaped-file": f'<a href="&#102;ile:///etc/passwd">{NAME}</a>',
    "address-of-file-with-a-tab": f'<a href="fi&#9;le:///etc/passwd">{NAME}</a>',
    "address-of-script-with-a-line-break": f'<a href="java&#10;script:x">{NAME}</a>',
    "address-of-file-behind-a-space": f'<a href=" file:///etc/passwd">{NAME}</a>',
    "address-of-file-behind-nul": f'<a href="\0file:///etc/passwd">{NAME}</a>',
    "address-with-a-port-that-is-none": f'<a href="https://evil:99999/x">{NAME}</a>',
    "address-with-a-negative-port": f'<a href="https://evil:-1/x">{NAME}</a>',
    "base-in-a-comment": f"<!-- {BASE} -->",
    "base-in-a-script": f"<script>'{BASE}'</script>",
    "base-of-an-attribute": f"<p title='{BASE}'></p>",
    "entities-of-entities": "<!DOCTYPE x [" + '<!ENTITY b "&a;&a;&a;&a;">' * 10_000 + "]>&b;",
    "page-that-leads-elsewhere": '<meta http-equiv="refresh" content="0; url=https://evil/">',
    "name-with-a-right-to-left-mark": f'<a href="https://evil/x">{NAME[:6]}\u202e{NAME[6:]}</a>',
    "name-of-other-digits": '<a href="https://evil/x">sglang-\uff11.2.3-py3-none-any.whl</a>',
}
"""What must not become a link, nor change the good one beside it."""


@pytest.mark.parametrize("name", NOT_LINKS)
def test_what_is_no_link_lists_nothing_and_changes_no_other(name: str) -> None:
    text = NOT_LINKS[name] if GOOD_LINK in NOT_LINKS[name] else NOT_LINKS[name] + GOOD_LINK
    (found,) = read_page(text.encode(), HTML[1], f"https://index{PAGE}", str).artifacts
    assert (found.url, found.sha256, found.yanked) == (f"https://index/files/{NAME}", DIGEST, False)


@pytest.mark.parametrize(
    ("attributes", "url", "digest"),
    [
        (f'href="one#sha256={"1" * 64}" href="https://evil/two"', "one", "1" * 64),
        (f'href="one#notsha256={"1" * 64}"', "one", None),
        (f'href="one?sha256={"1" * 64}"', f"one?sha256={'1' * 64}", None),
        (f'href="one#md5={"1" * 32}&sha256={"2" * 64}"', "one", "2" * 64),
        (f'href="one#sha256={"1" * 64}&sha256={"2" * 64}"', "one", "1" * 64),
    ],
    ids=["two-addresses", "another-digest", "digest-in-the-query", "two-kinds", "two-digests"],
)
def test_link_is_read_as_installers_read_it(attributes: str, url: str, digest: str | None) -> None:
    page = f"<a {attributes}>{NAME}</a>".encode()
    (found,) = read_page(page, HTML[1], f"https://index{PAGE}", str).artifacts
    assert (found.url, found.sha256) == (f"https://index{PAGE}{url}", digest)


def test_reason_of_a_yanked_file_may_be_long_and_stays_one() -> None:
    page = f'<a href="one" data-yanked="\x1b[2J{"x" * 5000}">{NAME}</a>'.encode()
    (found,) = read_page(page, HTML[1], f"https://index{PAGE}", str).artifacts
    assert (found.yanked, found.yanked_reason.isprintable(), len(found.yanked_reason) <= 300) == (True, True, True)


DOCUMENTS = {
    "address-twice": (f'{{"filename": "{NAME}", "url": "x", "url": "file:///etc/passwd", "hashes": {{}}}}', 0),
    "size-of-thousands-of-digits": (f'{{"filename": "{NAME}", "url": "x", "hashes": {{}}, "size": 1{"0" * 5000}}}', 0),
    "size-that-is-a-fraction": (f'{{"filename": "{NAME}", "url": "x", "hashes": {{}}, "size": 1.5}}', 0),
    "yanked-that-is-a-list": (f'{{"filename": "{NAME}", "url": "x", "hashes": {{}}, "yanked": ["x"]}}', 0),
    "many-hashes": (json.dumps({**GOOD, "url": "x", "hashes": {str(n): "x" for n in range(10_000)}}), 1),
    "unknown-members": (json.dumps({**GOOD, "url": "x", "hashes": {}, "core-metadata": {"a": []}, "provenance": 5}), 1),
    "hash-of-capitals": (json.dumps({**GOOD, "url": "x", "hashes": {"SHA256": DIGEST}}), 1),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_hostile_json_costs_its_entry(name: str) -> None:
    entry, listed = DOCUMENTS[name]
    body = f'{{"meta": {{"api-version": "1.0"}}, "files": [{entry}, {json.dumps(GOOD)}]}}'
    page = read_page(body.encode(), JSON, f"https://index{PAGE}", str)
    assert (len(page.artifacts), page.left_out) == (1 + listed, 1 - listed)
    assert (page.artifacts[-1].url, page.artifacts[-1].sha256) == (f"https://index/files/{NAME}", DIGEST)
    assert {artifact.sha256 for artifact in page.artifacts[:-1]} <= {None}, "a hash of another kind is none"


@pytest.mark.parametrize(
    "body",
    ["\ufeff{}", "{}{}", '{"meta": [], "files": []}', '{"files": []}', '{"meta": {"api-version": "1.0"}, "files": {}}',
     '{"meta": {"api-version": null}, "files": []}', '{"meta": {"api-version": "10.0"}, "files": []}', "NaN", ""],
    ids=["mark", "two-documents", "meta", "no-meta", "files", "no-version", "version-10", "number", "empty"],
)  # fmt: skip
def test_json_of_another_kind_is_refused(body: str) -> None:
    for encoding in ("utf-8", "utf-16"):
        with pytest.raises((ValueError, msgspec.MsgspecError)):
            read_page(body.encode(encoding), JSON, f"https://index{PAGE}", str)


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

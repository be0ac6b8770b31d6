"""Read an index page, in HTML or JSON, whoever wrote it: an entry that is malformed costs that entry, not the page.

The standard HTML parsers take quadratic time on malformed input, and one malformed link ends the page; so the links are
searched for in one pass.

Source: the simple repository API of the packaging specifications.
"""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin, urlsplit, urlunsplit

import msgspec

from patchtool.adapters.upstreams.base import Artifact, is_file_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

JSON = "application/vnd.pypi.simple.v1+json"
HTML = ("application/vnd.pypi.simple.v1+html", "text/html")
ACCEPT = f"{JSON}, {HTML[0]};q=0.2, {HTML[1]};q=0.01"
_ARTIFACTS = (".whl", ".tar.gz")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_MOST_LEFT_OUT = 1000
_LONGEST_TAG = 8192
_LONGEST_REASON = 300
_TAG = re.compile(r"<(?P<name>!--|!|/?[a-zA-Z]+)")
_TEXT_ONLY = {"script": re.compile("</script", re.IGNORECASE), "style": re.compile("</style", re.IGNORECASE)}
_MARKUP = re.compile("<[^<>]*>")
_STOP = re.compile("[>\"']")
_ATTRIBUTE = re.compile(r"""([^\s=>"'/]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s>]+))?""")


class Page(NamedTuple):
    """What a page lists.

    Args:
        artifacts: Wheels and source archives, and other files.
        left_out: How many wheels and source archives have a malformed entry, or a link that may not be followed.
    """

    artifacts: list[Artifact]
    left_out: int


class _Document(msgspec.Struct):
    files: list[msgspec.Raw]
    meta: dict[str, object]


class _File(msgspec.Struct):
    filename: str
    url: str
    hashes: dict[str, str] = {}
    yanked: bool | str = False
    size: int | None = None


class _Entry(NamedTuple):
    filename: str
    url: str
    sha256: str
    size: int | None
    yanked: str | None
    base: str = ""


def read_page(body: bytes, kind: str, url: str, strip: Callable[[str], str]) -> Page:
    """Read the answer of an index, or a page on disk.

    Args:
        body: As it was received.
        kind: Its media type, perhaps with parameters.
        url: Where it was received from, after redirects; relative links start there.
        strip: Removes the credentials from a link.

    Raises:
        ValueError: It is not an index page.
    """
    kind = kind.partition(";")[0].strip().lower()
    if kind != JSON and kind not in HTML:
        raise ValueError(f"it is of type {kind!r}")
    entries = _json_entries(body) if kind == JSON else _links(body.decode("utf-8", "replace"))
    local = urlsplit(url).scheme == "file"
    artifacts: list[Artifact] = []
    left_out = 0
    for entry in entries:
        artifact = _artifact(entry, url, local=local) if entry else None
        if artifact is not None:
            artifacts.append(replace(artifact, url=strip(artifact.url)))
        elif entry is None or entry.filename.endswith(_ARTIFACTS):
            left_out += 1
            if left_out > _MOST_LEFT_OUT:
                raise ValueError(f"it has more than {_MOST_LEFT_OUT} malformed entries")
    return Page(artifacts, left_out)


def _artifact(entry: _Entry, base: str, *, local: bool) -> Artifact | None:
    """None for a name that is no file name, and for a link to anything but the network."""
    try:
        parts = urlsplit(urljoin(urljoin(base, entry.base), entry.url))
        _ = parts.port  # raises for a number that is none
    except ValueError:
        return None
    allowed = ("http", "https", "file") if local else ("http", "https")
    if parts.scheme not in allowed or not is_file_name(entry.filename):
        return None
    sha256 = entry.sha256.lower()
    size = entry.size if entry.size is not None and entry.size >= 0 else None
    url = urlunsplit(parts._replace(fragment=""))
    digest = sha256 if _DIGEST.fullmatch(sha256) else None
    reason = "".join(char if char.isprintable() else " " for char in (entry.yanked or "")[:_LONGEST_REASON])
    return Artifact(entry.filename, digest, size, url, entry.yanked is not None, " ".join(reason.split()))


def _json_entries(body: bytes) -> Iterator[_Entry | None]:
    """Each file, or None for a malformed one."""
    try:
        document = msgspec.json.decode(body, type=_Document)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    version = str(document.meta.get("api-version"))
    if version.partition(".")[0] != "1":
        raise ValueError(f"its API version is {version!r}, not 1.x")
    for raw in document.files:
        try:
            file = msgspec.json.decode(raw, type=_File)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            yield None
            continue
        yield _Entry(file.filename, file.url, file.hashes.get("sha256", ""), file.size, _reason(yanked=file.yanked))


def _reason(*, yanked: bool | str) -> str | None:
    """Why a file was yanked, maybe empty; None if it was not."""
    return yanked if isinstance(yanked, str) else "" if yanked else None


def _links(text: str) -> Iterator[_Entry | None]:
    """Each link with its text as the file name, in one pass; None for one that has no address, or is too long."""
    base, link, at = "", None, 0
    while (found := _TAG.search(text, at)) is not None:
        at = _end(text, found)
        if at < 0:
            return
        tag = text[found.start() : at] if at - found.start() <= _LONGEST_TAG else ""
        name = found["name"].lower()
        if name == "/a" and link is not None:
            words = _MARKUP.sub("", text[link[1] : found.start()][:_LONGEST_TAG])
            yield _link(link[0], unescape(words).strip(), base) if "href" in link[0] else None
            link = None
        elif name in _TEXT_ONLY:
            close = _TEXT_ONLY[name].search(text, at)
            if close is None:
                return
            at = close.start()
        elif name in ("a", "base"):
            pairs = _ATTRIBUTE.findall(tag[found.end() - found.start() : -1])
            attributes: dict[str, str] = {}
            for key, value in pairs:  # of two attributes of a name the first counts, as in browsers
                attributes.setdefault(key.lower(), unescape(value.strip("\"'")))
            base = attributes.get("href", "") if name == "base" and not base else base
            link = (attributes, at) if name == "a" else link


def _link(attributes: Mapping[str, str], filename: str, base: str) -> _Entry:
    href, _, fragment = attributes.get("href", "").partition("#")
    digests = (part.partition("=")[::2] for part in fragment.split("&"))
    sha256 = next((value for name, value in digests if name == "sha256"), "")
    return _Entry(filename, href, sha256, None, attributes.get("data-yanked"), base)


def _end(text: str, tag: re.Match[str]) -> int:
    """The position after a tag or a comment; -1 where it does not end. A quoted value may have a ``>``."""
    if tag["name"].startswith("!--"):
        close = text.find("-->", tag.end())
        return close + 3 if close >= 0 else -1
    at = tag.end()
    while (stop := _STOP.search(text, at)) is not None:
        if stop[0] == ">":
            return stop.end()
        at = text.find(stop[0], stop.end()) + 1
        if at == 0:
            return -1
    return -1

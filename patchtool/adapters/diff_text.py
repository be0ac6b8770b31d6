"""The text of a diff, split into its files and hunks, and the mail that it may come in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from email import message_from_bytes
from email.errors import MessageError
from email.header import decode_header, make_header
from email.utils import parsedate_to_datetime
from typing import NamedTuple

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_MAIL = re.compile(rb"From [0-9a-f]{40} |From: |Subject: ")
_SENDER, _SUBJECT = re.compile(rb"^From: ", re.MULTILINE), re.compile(rb"^Subject: ", re.MULTILINE)
_TAG = re.compile(r"^\s*(?:\[[^\]]*\]\s*)+")
_ESCAPE = re.compile(rb"\\([abfnrtv\"\\]|[0-7]{3})")
_CONTROL = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


class DiffPart(NamedTuple):
    """The change of one file.

    Args:
        old: Path before, without the prefix ``a/``; empty for a new file.
        new: Path after, without the prefix ``b/``; empty for a deleted file.
        text: The part by itself, headers with LF.
        hunks: First changed line in the new file, and header, of each hunk.
        crlf: Whether its lines end with CRLF.
        problem: Why it cannot be applied as text, or empty.
    """

    old: str
    new: str
    text: bytes
    hunks: tuple[tuple[int, str], ...]
    crlf: bool
    problem: str = ""


class Mail(NamedTuple):
    """Subject, body, author and date of a commit in a mail; empty where there is none."""

    subject: str = ""
    body: str = ""
    author: str = ""
    date: str = ""


def split_diff(diff: bytes) -> list[DiffPart]:
    """Split a diff into the changes of its files; text around them is skipped."""
    lines = diff.split(b"\n")
    parts: list[DiffPart] = []
    at = 0
    while at < len(lines):
        if lines[at].startswith(b"diff --git ") or _is_header(lines, at):
            part, at = _read_part(lines, at)
            if part is not None:
                parts.append(part)
        else:
            at += 1
    return parts


def head_of(diff: bytes) -> bytes:
    """The text before the first file of a diff, without the statistics of ``git format-patch``."""
    lines = diff.split(b"\n")
    first = next((n for n, line in enumerate(lines) if line.startswith(b"diff --git ") or _is_header(lines, n)), 0)
    head = b"".join(line + b"\n" for line in lines[:first])
    text, line, _ = head.partition(b"\n---\n")
    return text + line


def _is_header(lines: Sequence[bytes], at: int) -> bool:
    return lines[at].startswith(b"--- ") and at + 2 < len(lines) and lines[at + 1].startswith(b"+++ ")


def _read_part(lines: Sequence[bytes], start: int) -> tuple[DiffPart | None, int]:
    header: list[bytes] = []
    at = start
    while at < len(lines) and not _HUNK.match(lines[at]):
        line = lines[at].rstrip(b"\r")
        if at > start and (line.startswith(b"diff --git ") or (not line and header and not _binary(header))):
            break
        complete = _binary(header) or any(known.startswith(b"--- ") for known in header)
        if complete and _is_header(lines, at):
            break
        header.append(line)
        at += 1
    body: list[bytes] = []
    hunks: list[tuple[int, str]] = []
    while at < len(lines) and (match := _HUNK.match(lines[at])):
        hunk, at = _read_hunk(lines, at, match)
        first = next((n for n, line in enumerate(hunk[1:]) if line[:1] in (b"+", b"-")), 0)
        hunks.append((int(match[3]) + first, match[0].decode()))
        body += [hunk[0].rstrip(b"\r"), *hunk[1:]]
    old, new = _paths(header)
    if not old and not new:
        return None, max(at, start + 1)
    content = [line for line in body if line[:1] in (b" ", b"+", b"-")]
    crlf = bool(content) and all(line.endswith(b"\r") for line in content)
    problem = "is binary" if _binary(header) else "" if hunks or _has_whole_file(header) else "changes only the mode"
    return DiffPart(old, new, b"\n".join([*header, *body, b""]), tuple(hunks), crlf, problem), at


def _read_hunk(lines: Sequence[bytes], at: int, match: re.Match[bytes]) -> tuple[list[bytes], int]:
    """The lines of a hunk, by the counts in its header, and the line after it."""
    left, right = (1 if count is None else int(count) for count in (match[2], match[4]))
    hunk = [lines[at]]
    at += 1
    while at < len(lines) and (left > 0 or right > 0 or lines[at].startswith(b"\\")):
        kind = lines[at][:1]
        if kind not in (b" ", b"+", b"-", b"\\", b"", b"\r"):
            break
        left -= kind not in (b"+", b"\\")
        right -= kind not in (b"-", b"\\")
        hunk.append(lines[at])
        at += 1
    return hunk, at


def _binary(header: Sequence[bytes]) -> bool:
    return any(line.startswith((b"GIT binary patch", b"Binary files ")) for line in header)


def _has_whole_file(header: Sequence[bytes]) -> bool:
    """Whether a part without hunks adds or deletes an empty file, or renames one."""
    return any(line.startswith((b"new file mode", b"deleted file mode", b"rename from")) for line in header)


def _paths(header: Sequence[bytes]) -> tuple[str, str]:
    fields = {key: line[len(key) :] for line in header for key in _KEYS if line.startswith(key)}
    old, new = fields.get(b"--- "), fields.get(b"+++ ")
    if old is not None and new is not None:
        return _path(old, strip=True), _path(new, strip=True)
    if b"rename from " in fields:
        return _path(fields[b"rename from "]), _path(fields[b"rename to "])
    names = fields.get(b"diff --git ", b"")
    half = names[: len(names) // 2], names[len(names) // 2 + 1 :]  # both names are equal but for the prefix
    old_name, new_name = (_path(name, strip=True) for name in half)
    if b"new file mode" in fields:
        return "", new_name
    return old_name, "" if b"deleted file mode" in fields else new_name


_KEYS = (b"--- ", b"+++ ", b"rename from ", b"rename to ", b"diff --git ", b"new file mode", b"deleted file mode")


def _path(name: bytes, *, strip: bool = False) -> str:
    """A path as text, unquoted, without the time stamp that ``diff -u`` appends."""
    if name.startswith(b'"'):
        name = name.strip()
    else:  # git writes a tab behind a name with spaces, which may end in one
        name, tab, _ = name.partition(b"\t")
        name = name if tab else name.strip()
    if name.startswith(b'"') and name.endswith(b'"'):
        name = _ESCAPE.sub(_unescaped, name[1:-1])
    if name == b"/dev/null":
        return ""
    return (name.partition(b"/")[2] if strip else name).decode("utf-8", "surrogateescape")


def _unescaped(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([int(code, 8)]) if len(code) == 3 else _CONTROL.get(code, code)


def read_mail(data: bytes) -> Mail:
    """Read the head of a diff that ``git format-patch`` wrote; empty for another diff."""
    head = data.partition(b"\ndiff --git ")[0].replace(b"\r\n", b"\n")
    fields = head.partition(b"\n\n")[0]
    if not (_MAIL.match(head) or (_SENDER.search(fields) and _SUBJECT.search(fields))):
        return Mail()
    message = message_from_bytes(head)
    message_and_stat = b"\n" + head.partition(b"\n\n")[2]  # a message may be empty
    body = message_and_stat.partition(b"\n---\n")[0].decode("utf-8", "replace")
    try:
        date = parsedate_to_datetime(str(message["Date"])).date().isoformat()
    except (TypeError, ValueError):
        date = ""
    return Mail(_TAG.sub("", _text(message["Subject"])), body.strip(), _text(message["From"]), date)


def _text(value: object) -> str:
    """A header as one line; the standard library gives one with bytes that are not ASCII as an object of its own."""
    text = "" if value is None else str(value)
    try:
        decoded = str(make_header(decode_header(text)))
    except (LookupError, ValueError, MessageError):
        decoded = text
    return " ".join(decoded.split())

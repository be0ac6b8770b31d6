"""Patches in mails, alone or in an mbox, each taken apart and decoded by git."""

from __future__ import annotations

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from patchtool.adapters.git.plumbing import sealed_environment
from patchtool.adapters.process import run
from patchtool.adapters.scratch import scratch_folder
from patchtool.domain.errors import InputError
from patchtool.domain.foreign_patch import ForeignPatch

if TYPE_CHECKING:
    from pathlib import Path

_BLANK = re.compile(rb"\A(?:[ \t]*\r?\n)+")
_HEADER = re.compile(rb"[!-9;-~]+:(?:[ \t]|\r?\Z)")
_SENDER = re.compile(rb"^From:", re.MULTILINE | re.IGNORECASE)
_SUBJECT = re.compile(rb"^Subject:", re.MULTILINE | re.IGNORECASE)
_ENCODED = re.compile(
    rb"^Content-(?:Transfer-Encoding:[ \t]*\"?(?:base64|quoted-printable)|Type:[ \t]*multipart)",
    re.MULTILINE | re.IGNORECASE,
)
_SEPARATOR = re.compile(rb"^From [0-9a-f]{40} ", re.MULTILINE)


def without_mark(data: bytes, source: str) -> bytes:
    """The bytes of a file without a byte order mark and the blank lines that it begins with.

    Raises:
        InputError: It is UTF-16, in which no diff can be read as it was.
    """
    if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise InputError(f"{source} is UTF-16, as PowerShell's > writes", hint="git format-patch -o DIR writes files")
    return _BLANK.sub(b"", data.removeprefix(BOM_UTF8))


def is_mail(data: bytes) -> bool:
    """Whether a file is an mbox, or a mail without an mbox's separator.

    Source: RFC 5322, section 2.2.
    """
    if data.startswith(b"From "):
        return True
    head = _head(data)
    lines = [line for line in head.split(b"\n") if not line.startswith((b" ", b"\t"))]
    return all(map(_HEADER.match, lines)) and bool(_SENDER.search(head) and _SUBJECT.search(head))


def is_transported(data: bytes) -> bool:
    """Whether a mail's diff is not in it as it is: encoded, with the line ends of transport, or beside other mails."""
    return is_mail(data) and bool(_ENCODED.search(_head(data)) or _has_crlf(data) or len(_SEPARATOR.findall(data)) > 1)


def read_mails(source: str, data: bytes) -> list[ForeignPatch]:
    """Read the patches of an mbox, or of one mail.

    Args:
        source: The file, for messages.
        data: Its bytes, without a byte order mark.

    Raises:
        InputError: It is neither, or a mail has no subject or sender.
    """
    with scratch_folder() as folder:
        mails = folder / "mails"
        mails.mkdir()
        bare = [] if data.startswith(b"From ") else ["-b"]
        argv = ["git", "mailsplit", f"-o{mails}", *bare, *([] if _has_crlf(data) else ["--keep-cr"])]
        if not is_mail(data) or run(argv, stdin=data, env=sealed_environment(), answers=(1,)).code:
            raise InputError(
                f"{source} is not an mbox, a mail or a diff",
                hint="git format-patch --stdout writes an mbox; a folder of *.patch is taken too",
            )
        return [_mail(folder, mail, source) for mail in sorted(mails.iterdir())]


def _head(data: bytes) -> bytes:
    return re.split(rb"\r?\n\r?\n", data, maxsplit=1)[0]


def _has_crlf(data: bytes) -> bool:
    """Whether the first line, which is a header's, ends as in transport: then all lines do."""
    return data.partition(b"\n")[0].endswith(b"\r")


def _mail(folder: Path, mail: Path, source: str) -> ForeignPatch:
    message, diff = folder / "message", folder / "diff"
    argv = ["git", "mailinfo", "--encoding=UTF-8", str(message), str(diff)]
    told = run(argv, stdin=mail.read_bytes(), env=sealed_environment()).stdout.decode("utf-8", "replace")
    fields = dict(line.split(": ", 1) for line in told.splitlines() if ": " in line)
    if not {"Subject", "Author", "Email"} <= fields.keys():
        raise InputError(
            f"mail {mail.name.lstrip('0')} of {source} has no subject or sender",
            hint="git format-patch --stdout writes mails",
        )
    reason = message.read_bytes().decode("utf-8", "replace").strip()
    metadata = {"title": fields["Subject"], "reason": reason, "author": f"{fields['Author']} <{fields['Email']}>"}
    text = diff.read_bytes()
    return ForeignPatch(
        fields["Subject"], text[len(_above(text)) :], metadata | {"date": iso_date(fields.get("Date", ""))}
    )


def iso_date(text: str) -> str:
    """A mail's date as ISO 8601; empty where it is none, or has no time zone."""
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return ""
    return date.isoformat() if date.tzinfo else ""


def _above(diff: bytes) -> bytes:
    """Statistics of the change, above its first file."""
    first = re.search(rb"^(?:diff --git |--- [^\n]*\n\+\+\+ )", diff, re.MULTILINE)
    return diff[: first.start()] if first else diff

"""mbox: the patches as mails for ``git am``, and a cover letter."""

from __future__ import annotations

import re
from binascii import b2a_qp
from collections.abc import Mapping
from typing import TYPE_CHECKING

from patchtool.exporters.text_patches import refuse_diff_lines
from patchtool.workflow.dates import mail_time

if TYPE_CHECKING:
    from patchtool.workflow.exported_series import ExportedSeries

USE = "git am --keep-non-patch …/*.patch"
COVER = "cover-letter.txt"
"""Not ``*.patch``: ``git am`` stops at a mail without a diff."""
_MIME = re.compile(rb"^(?:MIME-Version|Content-Type|Content-Transfer-Encoding):.*\n(?:[ \t].*\n)*", re.MULTILINE)
_QUOTED = b"MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: quoted-printable\n"


def export(series: ExportedSeries) -> Mapping[str, bytes]:
    """Return the mails that ``git format-patch`` writes, the first with a ``base-commit``, and a cover letter.

    Raises:
        InputError: A patch's text would not arrive as it is.
    """
    for patch in series.patches:
        refuse_diff_lines(patch)
    names = [f"{number:04}-{info.name}.patch" for number, info in enumerate(series.infos, start=1)]
    mails = dict(zip(names, map(_transferable, series.mails())))
    return {COVER: _cover_letter(series, mails[names[0]]), **mails}


def _transferable(mail: bytes) -> bytes:
    """Quote a mail that has carriage returns, which ``git am`` would remove from the ends of lines.

    Source: git-am(1), ``--no-keep-cr`` and ``--quoted-cr``; RFC 2045, section 6.7.
    """
    header, _, body = mail.partition(b"\n\n")
    if b"\r" not in body:
        return mail
    quoted = b"\n".join(b2a_qp(line, istext=False) for line in body.split(b"\n"))
    return _MIME.sub(b"", header + b"\n") + _QUOTED + b"\n" + quoted


def _cover_letter(series: ExportedSeries, first: bytes) -> bytes:
    total = len(series.patches)
    sender = re.search(rb"^From: .*\n(?:[ \t].*\n)*", first, re.MULTILINE)
    width = len(str(total))
    header = [
        f"Date: {mail_time(series.date)}",
        f"Subject: [PATCH {0:0{width}}/{total}] {series.project}: the series on {series.release}",
        "MIME-Version: 1.0",
        "Content-Type: text/plain; charset=UTF-8",
        "Content-Transfer-Encoding: 8bit",
    ]
    body = [
        f"{total} {'patch' if total == 1 else 'patches'} for {series.project} {series.release}.",
        "",
        *(f"  {number:{width}}  {patch.info.title}" for number, patch in enumerate(series.patches, start=1)),
        "",
        f"base-commit: {series.base}",
    ]
    text = "\n".join([*header, "", *body]) + "\n"
    return (sender[0] if sender else b"") + text.encode()

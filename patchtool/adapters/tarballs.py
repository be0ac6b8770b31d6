"""Tar archives whose bytes depend on nothing but their members and a date."""

from __future__ import annotations

import bz2
import tarfile
from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_LINK, _SUBMODULE = "120000", "160000"
EXECUTABLE, REGULAR = "100755", "100644"


def tar(files: Mapping[str, tuple[str, bytes]], date: int) -> bytes:
    """Write an archive; members belong to root and are sorted by name.

    Args:
        files: Git's mode and bytes by path; the bytes of a symlink are its target.
        date: Of every member, seconds since 1970 UTC.
    """
    out = BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, (mode, data) in sorted(files.items()):
            member = tarfile.TarInfo(path)
            member.mode, member.mtime = int(mode, 8) & 0o777 or 0o777, date
            if mode == _LINK:
                member.type, member.linkname = tarfile.SYMTYPE, data.decode("utf-8", "surrogateescape")
                archive.addfile(member)
            elif mode == _SUBMODULE:
                member.type, member.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(member)
            else:
                member.size = len(data)
                archive.addfile(member, BytesIO(data))
    return out.getvalue()


def tar_bz2(files: Mapping[str, tuple[str, bytes]], date: int) -> bytes:
    """Write a compressed archive; bzip2 is the compressor that writes the same bytes in every version (ADR 21)."""
    return bz2.compress(tar(files, date))

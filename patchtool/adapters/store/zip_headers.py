"""Whether a zip's directory and the headers beside its data tell the same: readers go by the one or by the other."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zipfile import ZipFile

_HEADER = struct.Struct("<4sHHHHHIIIHH")
_SIGNATURE = b"PK\3\4"
_SIZES_FOLLOW = 8
"""The flag for CRC and sizes behind the data, in a descriptor, and not in the header."""
_DESCRIPTORS = (12, 16, 20, 24)
_WIDE = 0xFFFFFFFF
_UNICODE_PATH = 0x7075


def difference(wheel: ZipFile) -> tuple[str, str] | None:
    """Find a member of which a reader that goes through the file sees other things than one that reads the directory.

    Args:
        wheel: An open archive.

    Returns:
        The member's name and what is wrong; None where all readers see the same.

    Raises:
        struct.error: A header is cut off.

    Source: APPNOTE.TXT, sections 4.3.7, 4.3.9 and 4.6.9.
    """
    at, name, file, descriptor = 0, "", wheel.fp, False
    if file is None:
        raise ValueError("the archive is closed")
    for info in sorted(wheel.infolist(), key=lambda info: info.header_offset):
        name = info.orig_filename
        if not _follows(info.header_offset - at, descriptor):
            return name, "there is other data before it"
        file.seek(info.header_offset)
        signature, _, flags, method, _, _, crc, packed, size, names, extras = _HEADER.unpack(file.read(_HEADER.size))
        raw, extra = file.read(names), file.read(extras)
        encoding = "utf-8" if flags & 0x800 else "cp437"
        if signature != _SIGNATURE or raw.decode(encoding, "replace") != name or flags != info.flag_bits:
            return name, "its header has another name or other flags than the directory"
        descriptor = bool(flags & _SIZES_FOLLOW)
        sizes = ((packed, info.compress_size), (size, info.file_size))
        told = crc == info.CRC and all(stated in (known, _WIDE) for stated, known in sizes)
        if method != info.compress_type or not (told or descriptor):
            return name, "its header has another size, checksum or method than the directory"
        if _UNICODE_PATH in (*_kinds(extra), *_kinds(info.extra)):
            return name, "it has a second name"
        at = info.header_offset + _HEADER.size + names + extras + info.compress_size
    return None if _follows(wheel.start_dir - at, descriptor) else (name, "there is other data behind it")


def _follows(gap: int, descriptor: bool) -> bool:
    """Whether nothing is between one member's data and what comes next, but for its descriptor."""
    return gap == 0 or (descriptor and gap in _DESCRIPTORS)


def _kinds(extra: bytes) -> list[int]:
    """The kinds of the extra fields of a header."""
    kinds, at = [], 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        kinds.append(kind)
        at += 4 + length
    return kinds

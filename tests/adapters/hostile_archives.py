"""Wheels and source archives that lie about sizes, names and structure, each made by hand in a few kilobytes."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
import zlib
from typing import TYPE_CHECKING

from tests.adapters.archives import METADATA, VERSION

if TYPE_CHECKING:
    from collections.abc import Callable

TOP = f"sglang-{VERSION}"
WHEEL, SDIST = f"{TOP}-py3-none-any.whl", f"{TOP}.tar.gz"
_MIB = 1 << 20


def _zip(
    *files: tuple[str, bytes], sizes: dict[str, int] | None = None, copies: int = 1, comment: bytes = b""
) -> bytes:
    """A wheel; the directory may state other sizes than the data has, and name every member several times.

    Args:
        files: Name and content.
        sizes: Unpacked size by name, where it is a lie.
        copies: How many names of the directory have the data of the last file.
        comment: At the end of the archive.
    """
    body, entries = io.BytesIO(), []
    for name, data in (("sglang/__init__.py", b""), *files, (f"{TOP}.dist-info/METADATA", METADATA.encode())):
        deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
        packed = deflater.compress(data) + deflater.flush()
        size = (sizes or {}).get(name, len(data))
        wide = size > 0xFFFFFFFF
        extra = struct.pack("<HHQ", 1, 8, size) if wide else b""
        fields = (zlib.crc32(data), len(packed), 0xFFFFFFFF if wide else size)
        raw = name.encode("utf-8", "surrogateescape")
        head = struct.pack("<HHHHHIII", 45, 0x800, 8, 0, 33, *fields)
        at = body.tell()
        body.write(b"PK\3\4" + head + struct.pack("<HH", len(raw), len(extra)) + raw + extra + packed)
        names = [raw] if name not in dict(files[-1:]) else [raw.replace(b"0", b"%d" % n, 1) for n in range(copies)]
        for each in names:
            lengths = struct.pack("<HHHHHII", len(each), len(extra), 0, 0, 0, 0o100644 << 16, at)
            entries.append(b"PK\1\2" + struct.pack("<H", 0x31E) + head + lengths + each + extra)
    directory, start = b"".join(entries), body.tell()
    body.write(directory)
    count = min(len(entries), 0xFFFF)
    body.write(b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, count, count, len(directory), start, len(comment)) + comment)
    return body.getvalue()


def _two_readings(offset: int, lie: bytes) -> bytes:
    """A wheel in which the header beside a member's data tells something else than the directory."""
    data = _zip(("sglang/abc.py", b"x = 1\n"))
    return _broken(data, data.index(b"PK\3\4", 1) + offset, lie)


def _data_between() -> bytes:
    """A wheel that hides a member between two others."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as wheel:
        wheel.writestr("sglang/__init__.py", "")
        wheel.writestr("sglang/hidden.py", "x = 1\n")
        wheel.writestr(f"{TOP}.dist-info/METADATA", METADATA)
        wheel.filelist.pop(1)
    return file.getvalue()


def _second_name() -> bytes:
    """A wheel with a member that has another name for readers that know Info-ZIP's field of Unicode paths."""
    file, other = io.BytesIO(), b"sglang/evil.py"
    with zipfile.ZipFile(file, "w") as wheel:
        info = zipfile.ZipInfo("sglang/a.py")
        info.extra = struct.pack("<HHBI", 0x7075, 5 + len(other), 1, zlib.crc32(b"sglang/a.py")) + other
        for name, content in (("sglang/__init__.py", ""), (info, "x"), (f"{TOP}.dist-info/METADATA", METADATA)):
            wheel.writestr(name, content)
    return file.getvalue()


def _header(name: str, kind: bytes = b"0", size: int = 0, prefix: str = f"{TOP}/") -> bytes:
    info = tarfile.TarInfo(prefix + name)
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


def _block(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 512)


def _file(name: str, data: bytes) -> bytes:
    return _header(name, size=len(data)) + _block(data)


def _tar(*parts: bytes) -> bytes:
    whole = b"".join([_file("PKG-INFO", METADATA.encode()), _file("sglang/__init__.py", b""), *parts])
    return gzip.compress(whole + b"\0" * 1024, 6)


def _pax(*records: tuple[str, str], kind: bytes = b"x") -> bytes:
    data = b""
    for key, value in records:
        line = f" {key}={value}\n".encode()
        length = len(line) + len(str(len(line) + 3))
        data += f"{length}".encode() + line
    return _header("pax", kind, len(data), "") + _block(data)


def _sparse() -> bytes:
    """A sparse file whose map goes on for megabytes."""
    head = bytearray(_header("sglang/a.py", b"S"))
    head[482] = 1
    head[148:156] = b"%06o\0 " % (sum(head[:148]) + 256 + sum(head[156:512]))
    more = bytearray(512)
    more[504] = 1
    return bytes(head) + bytes(more) * (20 * _MIB // 512)


def _streams(count: int) -> bytes:
    return gzip.compress(b"") * count


def _directory_of_nothing() -> bytes:
    """A directory of 20 MiB, which would become a million objects."""
    entry = b"PK\1\2" + b"\0" * 24 + struct.pack("<HHH", 1, 0, 0) + b"\0" * 12 + b"a"
    directory = entry * (20 * _MIB // len(entry))
    return directory + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 0xFFFF, 0xFFFF, len(directory), 0, 0)


def _broken(data: bytes, at: int, by: bytes) -> bytes:
    at %= len(data)
    return data[:at] + by + data[at + len(by) :]


_PLAIN = _zip(("sglang/a.py", b"a = 1\n"))
WHEELS: dict[str, Callable[[], bytes]] = {
    "one-huge-member": lambda: _zip(("sglang/a.py", b"\0" * (65 * _MIB))),
    "huge-size-stated": lambda: _zip(("sglang/a.py", b"a"), sizes={"sglang/a.py": 1 << 40}),
    "huge-binary": lambda: _zip(("sglang/a.so", b"a"), sizes={"sglang/a.so": 5 << 30}),
    "huge-in-total": lambda: _zip(
        *[(f"sglang/{n}.py", b"a") for n in range(9)], sizes={f"sglang/{n}.py": 60 << 20 for n in range(9)}
    ),
    "smaller-size-stated": lambda: _zip(("sglang/a.py", b"\0" * (8 * _MIB)), sizes={"sglang/a.py": 10}),
    "larger-size-stated": lambda: _zip(("sglang/a.py", b"a"), sizes={"sglang/a.py": 10}),
    "overlapping-members": lambda: _zip(("sglang/0.py", bytes(range(256)) * 40), copies=20_000),
    "overlapping-bomb": lambda: _zip(("sglang/0.py", b"\0" * (60 * _MIB)), copies=60),
    "too-many-members": lambda: _zip(("sglang/0.py", b""), copies=50_001),
    "huge-directory": _directory_of_nothing,
    "long-name": lambda: _zip((f"sglang/{'a' * 60_000}.py", b"")),
    "deep-name": lambda: _zip((f"sglang/{'a/' * 30_000}a.py", b"")),
    "name-with-an-escape": lambda: _zip(("sglang/\x1b[2J.py", b"")),
    "name-with-a-line-separator": lambda: _zip(("sglang/a\u2028.py", b"")),
    "name-that-is-not-utf-8": lambda: _zip(("sglang/a\udcff.py", b"")),
    "git-folder": lambda: _zip(("sglang/.GIT/config", b"[core]")),
    "git-folder-of-windows": lambda: _zip(("sglang/git~1/config", b"[core]")),
    "file-that-is-a-folder-too": lambda: _zip(("sglang/a", b"1"), ("sglang/a/b.py", b"2")),
    "same-name-twice": lambda: _zip(("sglang/a.py", b"1"), ("sglang/a.py", b"2")),
    "names-of-one-file-on-a-mac": lambda: _zip(("sglang/\u00e9.py", b"1"), ("sglang/e\u0301.py", b"2")),
    "name-with-an-override": lambda: _zip(("sglang/\u202egnp.py", b"")),
    "not-an-archive": lambda: b"PK" * 10_000,
    "empty": lambda: b"",
    "cut-in-half": lambda: _PLAIN[: len(_PLAIN) // 2],
    "end-is-cut": lambda: _PLAIN[:-4],
    "directory-far-away": lambda: _broken(_PLAIN, -6, b"\xff\xff\xff\x7f"),
    "directory-too-long": lambda: _broken(_PLAIN, -10, b"\xff\xff\xff\x7f"),
    "comment-of-ends": lambda: _zip(("sglang/a.py", b""), comment=b"PK\5\6" * 10_000),
    "header-of-another-name": lambda: _two_readings(30 + len("sglang/"), b"evl"),
    "header-of-another-method": lambda: _two_readings(8, b"\0\0"),
    "header-of-another-checksum": lambda: _two_readings(14, b"\1\2\3\4"),
    "header-of-another-size": lambda: _two_readings(22, b"\xff\xff\0\0"),
    "header-that-is-encrypted": lambda: _two_readings(6, b"\1"),
    "two-archives": lambda: _PLAIN + _zip(("sglang/other.py", b"2")),
    "data-before-it": lambda: b"#!/bin/sh\n" + _PLAIN,
    "data-between-members": _data_between,
    "second-name-in-unicode": _second_name,
    "damaged-data": lambda: _broken(_zip(("sglang/a.py", bytes(range(256)))), 120, b"\xff" * 20),
}
SDISTS: dict[str, Callable[[], bytes]] = {
    "long-name-of-gigabytes": lambda: _tar(_header("x", b"L", 3 << 30, "") + b"a" * (20 * _MIB)),
    "long-link-of-gigabytes": lambda: _tar(_header("x", b"K", 3 << 30, "") + b"a" * (20 * _MIB)),
    "pax-header-of-gigabytes": lambda: _tar(_header("x", b"x", 3 << 30, "") + b"a" * (20 * _MIB)),
    "global-pax-header-of-gigabytes": lambda: _tar(_header("x", b"g", 3 << 30, "") + b"a" * (20 * _MIB)),
    "pax-negative-size": lambda: _tar(_pax(("size", "-512")), _file("sglang/a.py", b"a")),
    "pax-huge-size": lambda: _tar(_pax(("size", str(1 << 62))), _file("sglang/a.py", b"a")),
    "pax-size-of-thousands-of-digits": lambda: _tar(_pax(("size", "9" * 5000)), _file("sglang/a.py", b"a")),
    "pax-path-outside": lambda: _tar(_pax(("path", f"{TOP}/../../etc/x")), _file("sglang/a.py", b"a")),
    "pax-headers-in-a-row": lambda: _tar(_pax(("comment", "x")) * 20_000, _file("sglang/a.py", b"a")),
    "pax-sparse-map": lambda: _tar(
        _pax(("GNU.sparse.major", "1"), ("GNU.sparse.minor", "0"), ("GNU.sparse.name", "a")),
        _file("sglang/a.py", b"999999999\n" + b"1\n" * (10 * _MIB)),
    ),
    "sparse-map-without-end": lambda: _tar(_sparse()),
    "huge-size-stated": lambda: _tar(_header("sglang/a.py", size=1 << 40)),
    "negative-size-stated": lambda: _tar(_header("sglang/a.py", size=-512)),
    "huge-binary": lambda: _tar(_header("sglang/a.so", size=5 << 30)),
    "hard-link": lambda: _tar(_header("sglang/a.py", b"1")),
    "device": lambda: _tar(_header("sglang/a.py", b"3")),
    "git-folder": lambda: _tar(_file("sglang/.git/config", b"[core]")),
    "same-name-twice": lambda: _tar(_file("sglang/a.py", b"1"), _file("sglang/a.py", b"2")),
    "pax-path-with-a-nul": lambda: _tar(_pax(("path", f"{TOP}/sglang/a\0b.py")), _file("sglang/a.py", b"a")),
    "fifo": lambda: _tar(_header("sglang/a.py", b"6")),
    "contiguous-file-of-an-unknown-kind": lambda: _tar(_header("sglang/a.py", b"Z", 10)),
    "outside-of-its-folder": lambda: _tar(_header("x.py", prefix="other/")),
    "empty": lambda: b"",
    "not-compressed": lambda: gzip.decompress(_tar()),
    "cut-in-half": lambda: _tar(_file("sglang/a.py", bytes(range(256)) * 40))[:200],
    "empty-streams-without-end": lambda: _streams(20_000) + b"x",
    "damaged-checksum": lambda: _broken(_tar(), -8, b"\0\0\0\0"),
    "data-after-its-end": lambda: gzip.compress(gzip.decompress(_tar()) + _file("sglang/a.py", b"a")),
    "zeros-after-its-end": lambda: gzip.compress(gzip.decompress(_tar()) + b"\0" * (2 * _MIB)),
    "damaged-header": lambda: gzip.compress(_broken(gzip.decompress(_tar()), 150, b"zzzz")),
}

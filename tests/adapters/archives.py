"""Small wheels and source archives, well-formed and malicious."""

from __future__ import annotations

import hashlib
import io
import stat
import tarfile
import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

VERSION = "1.2.3"
METADATA = f"Metadata-Version: 2.1\nName: sglang\nVersion: {VERSION}\n\nDescription\n"
FILES: dict[str, bytes] = {
    "sglang/__init__.py": b"",
    "sglang/run.sh": b"#!/bin/sh\n",
    "sglang/srt/a.py": b"a = 1\n",
}


def entry(name: str, mode: int = stat.S_IFREG | 0o644) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("placeholder")
    # Not passed to the constructor, which cuts a name at its first NUL.
    info.filename = info.orig_filename = name
    info.external_attr = mode << 16
    return info


def make_wheel(
    path: Path,
    files: dict[str, bytes] | None = None,
    extra: list[tuple[zipfile.ZipInfo, bytes]] | None = None,
    metadata: str | None = METADATA,
) -> str:
    """Write a wheel and return its SHA-256."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in (FILES if files is None else files).items():
            wheel.writestr(entry(name), data)
        for info, data in extra or []:
            wheel.writestr(info, data)
        if metadata is not None:
            wheel.writestr(entry(f"sglang-{VERSION}.dist-info/METADATA"), metadata)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def make_sdist(path: Path, members: list[tarfile.TarInfo] | None = None, files: dict[str, bytes] | None = None) -> str:
    """Write a source archive and return its SHA-256; `members` come after the files, without content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    top = f"sglang-{VERSION}"
    with tarfile.open(path, "w:gz") as source:
        for name, data in {"PKG-INFO": METADATA.encode(), **(FILES if files is None else files)}.items():
            info = tarfile.TarInfo(f"{top}/{name}")
            info.size = len(data)
            info.mode = 0o600
            source.addfile(info, io.BytesIO(data))
        for info in members or []:
            source.addfile(info)
    return hashlib.sha256(path.read_bytes()).hexdigest()

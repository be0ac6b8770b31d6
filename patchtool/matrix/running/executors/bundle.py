"""Packing files for other machines, into bytes that are named by their content."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import patchtool

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LEVEL = 1  # networks are fast, and the cheapest compression already reduces a tree to a quarter


@dataclass(frozen=True)
class Bundle:
    """A compressed tar and the digest of its content.

    Args:
        digest: SHA-256 of names and contents, in hex; the same on every machine.
        data: The tar, zlib-compressed.
    """

    digest: str
    data: bytes


def pack(files: Mapping[str, bytes]) -> Bundle:
    """Pack files.

    Args:
        files: Contents by relative path.
    """
    digest = hashlib.sha256()
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for name, content in sorted(files.items()):
            digest.update(b"%s %d\n" % (name.encode(), len(content)))
            digest.update(content)
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return Bundle(digest.hexdigest(), zlib.compress(raw.getvalue(), _LEVEL))


def pack_tree(tree: Path, package: str) -> Bundle:
    """Pack the package of a tree, without bytecode.

    Args:
        tree: The folder that holds it.
        package: Its name.
    """
    return pack(_contents(tree, (tree / package).rglob("*")))


def pack_code(tests: Iterable[Path]) -> Bundle:
    """Pack the part of this package that nodes run, and test files.

    Args:
        tests: Each is packed under its ``packed_path``.
    """
    package = Path(patchtool.__file__).parent
    rooms = [(package / name).rglob("*") for name in ("domain", "emulation", "matrix")]
    code = [package / "__init__.py", *(path for room in rooms for path in room)]
    return pack({**_contents(package.parent, code), **{packed_path(test): test.read_bytes() for test in tests}})


def packed_path(test: Path) -> str:
    """Return where a test's file is in the bundle."""
    return f"tests/{hashlib.sha256(str(test).encode()).hexdigest()[:12]}/{test.name}"


def _contents(root: Path, paths: Iterable[Path]) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in paths
        if path.is_file() and path.suffix != ".pyc"
    }

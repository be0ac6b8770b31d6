"""Folders and files as one block of bytes that is named by its content, so that they can travel."""

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

_LEVEL = 1  # trees travel over a fast network: the cheapest compression already makes them a quarter


@dataclass(frozen=True)
class Bundle:
    """A compressed tar and the digest of what is in it.

    Args:
        digest: SHA-256 over names and contents, hex; the same on every machine.
        data: zlib-compressed.
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


def pack_tree(tree: Path) -> Bundle:
    """Pack the ``sglang/`` of a tree, without what Python compiled there.

    Args:
        tree: The folder that holds it.
    """
    return pack(_files(tree, (tree / "sglang").rglob("*")))


def pack_code(tests: Iterable[Path]) -> Bundle:
    """Pack this package's matrix and the files of tests.

    Args:
        tests: They are found again under ``test_path``.
    """
    package = Path(patchtool.__file__).parent
    rooms = [(package / name).rglob("*") for name in ("domain", "emulation", "matrix")]
    wanted = [package / "__init__.py", *(path for room in rooms for path in room)]
    trials = {test_path(test): test.read_bytes() for test in tests}
    return pack({**_files(package.parent, wanted), **trials})


def test_path(test: Path) -> str:
    """Where a test's file is in the archive."""
    return f"trials/{hashlib.sha256(str(test).encode()).hexdigest()[:12]}/{test.name}"


def _files(root: Path, paths: Iterable[Path]) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in paths
        if path.is_file() and path.suffix != ".pyc"
    }

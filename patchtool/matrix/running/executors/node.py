"""What Ray runs on a node. It travels by value, so it needs nothing of ours there: standard library and Ray only."""

from __future__ import annotations

import fcntl
import io
import os
import shutil
import sys
import tarfile
import tempfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HELLO = b""
"""The first thing a task says: it has begun."""


def serve(code: Sequence[Any], tree: Sequence[Any], payload: bytes, cache: str) -> Iterator[bytes]:
    """Run a batch on this node.

    Args:
        code: Digest of the archive that holds our package and the tests, and a reference to its bytes.
        tree: The same of the pristine tree.
        payload: What ``remote.run_payload`` understands.
        cache: Folder to unpack to; empty for the user's cache.

    Yields:
        ``HELLO``, then one answer per cell.
    """
    yield HELLO
    base = Path(cache) if cache else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "patchtool"
    home = unpacked(base, *code)
    if str(home) not in sys.path:
        # first, so that a package of ours that is installed on the node is not taken for the driver's
        sys.path.insert(0, str(home))
    from patchtool.matrix.running.executors.remote import run_payload

    yield from run_payload(home, unpacked(base, *tree), payload)


def unpacked(base: Path, digest: str, reference: Any) -> Path:
    """Find an archive's folder, and make it where it is missing or damaged.

    Args:
        base: Folder of all archives.
        digest: The archive's; its folder's name.
        reference: Ray's, to its bytes; fetched only when needed.
    """
    home, count = base / digest, base / f"{digest}.count"
    base.mkdir(parents=True, exist_ok=True, mode=0o700)
    # tasks that start at once on one node: the first unpacks, the others wait
    with (base / f"{digest}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not home.is_dir() or not count.is_file() or count.read_text() != _count(home):
            import ray

            _unpack(ray.get(reference), home, base)
            count.write_text(_count(home))
    return home


def _unpack(data: bytes, home: Path, base: Path) -> None:
    """Unpack beside and rename: a task that is killed here leaves no half folder under the name."""
    aside = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=base))
    try:
        with tarfile.open(fileobj=io.BytesIO(zlib.decompress(data))) as tar:
            if hasattr(tarfile, "data_filter"):
                tar.extractall(aside, filter="data")
            else:
                tar.extractall(aside)  # noqa: S202  packed by us; Pythons before 3.10.12 know no filter
        if home.exists():
            shutil.rmtree(home)
        aside.rename(home)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _count(home: Path) -> str:
    """How many files there are, and their bytes: what a cleaner took away is missed here."""
    sizes = [path.stat().st_size for path in home.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return f"{len(sizes)} files {sum(sizes)} bytes"

"""The task that Ray runs on a node. Ray sends it by value: it needs only Ray and the standard library there."""

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

STARTED = b""
"""The first message of a task."""


def run_batch(code: Sequence[Any], tree: Sequence[Any], payload: bytes, cache: str) -> Iterator[bytes]:
    """Run a batch on this node.

    Args:
        code: Digest of the bundle with our package and the tests, and a reference to its bytes.
        tree: The same for the pristine tree.
        payload: Input of ``remote.run_payload``.
        cache: Folder to unpack to; empty for the user's cache.

    Yields:
        ``STARTED``, then one pickled result per cell.
    """
    yield STARTED
    base = Path(cache) if cache else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "patchtool"
    home = unpacked(base, *code)
    if str(home) not in sys.path:
        # first, so that the driver's patchtool is imported, not one that is installed on the node
        sys.path.insert(0, str(home))
    from patchtool.matrix.running.executors.remote import run_payload

    yield from run_payload(home, unpacked(base, *tree), payload)


def unpacked(base: Path, digest: str, reference: Any) -> Path:
    """Return the folder of an unpacked bundle, and unpack it when it is missing or damaged.

    Args:
        base: Folder of all bundles.
        digest: The bundle's digest, which names its folder.
        reference: Ray's reference to the bytes, fetched only when needed.
    """
    home, size = base / digest, base / f"{digest}.size"
    base.mkdir(parents=True, exist_ok=True, mode=0o700)
    # of tasks that start at once on one node, the first unpacks and the others wait
    with (base / f"{digest}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not home.is_dir() or not size.is_file() or size.read_text() != _size(home):
            import ray

            _unpack(ray.get(reference), home, base)
            size.write_text(_size(home))
    return home


def _unpack(data: bytes, home: Path, base: Path) -> None:
    """Unpack to a temporary folder and rename it, so that a killed task leaves no incomplete one."""
    temporary = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=base))
    try:
        with tarfile.open(fileobj=io.BytesIO(zlib.decompress(data))) as tar:
            if hasattr(tarfile, "data_filter"):
                tar.extractall(temporary, filter="data")
            else:
                tar.extractall(temporary)  # noqa: S202  packed by us; Pythons before 3.10.12 have no filter
        if home.exists():
            shutil.rmtree(home)
        temporary.rename(home)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _size(home: Path) -> str:
    """Count files and bytes, which changes when a cleaner removes some of them."""
    sizes = [path.stat().st_size for path in home.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return f"{len(sizes)} files {sum(sizes)} bytes"

"""Files of proofs: one for each proven release in the project, one for each proven tree in the store.

They are long and seldom needed: what the lock says of a release is enough where the release itself is asked about.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.domain.proof import ProofRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchtool.domain.release import Release

FOLDER = "patches/series.proofs"
"""Below the project; not the name of any patch."""


def project_path(release: Release) -> str:
    """The path of a release's proofs below the project."""
    return f"{FOLDER}/{release.id}.json"


def write_record(record: ProofRecord) -> bytes:
    """Serialize a record."""
    return json.dumps(record.to_document(), indent=0).encode() + b"\n"


def read_records(folder: Path, release: Release | None, *, newest_first: bool = False) -> Iterator[ProofRecord]:
    """Read the records of a release in a folder, or of all releases; what is no record proves nothing.

    Args:
        folder: The project's or the store's folder of records.
        release: The release, None for all.
        newest_first: Whether to order them by the time that they were written, instead of by name.
    """
    names = (f"{release.id}.json", f"{release.id}-*.json") if release else ("*.json",)
    paths = sorted(path for name in names for path in folder.glob(name))
    for path in sorted(paths, key=lambda path: -path.stat().st_mtime_ns) if newest_first else paths:
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            yield ProofRecord.from_document(json.loads(path.read_bytes()))


def tests_digest(folder: Path) -> str:
    """Digest the tests in a patch's folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("test_*.py")):
        data = path.read_bytes()
        digest.update(b"%s %d\n" % (path.name.encode(), len(data)))
        digest.update(data)
    return digest.hexdigest()

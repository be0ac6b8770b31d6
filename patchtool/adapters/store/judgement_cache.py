"""Cache judgements between runs, so that a verb with nothing new to judge does not load the engine."""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Any

from patchtool.adapters.files import atomic_write
from patchtool.domain.errors import EnvironmentFault
from patchtool.domain.patch import Candidate, Change, GoalEvidence, Judgement, Site
from patchtool.domain.state import Proof, State

if TYPE_CHECKING:
    from pathlib import Path

_SCHEMA = 2


class JudgementCache:
    """A folder of judgements, one file each; it can be deleted at any time.

    Args:
        folder: Created by the first write. Where it cannot be written, nothing is cached.
    """

    only_kept = False
    """Whether a judgement that is not kept must not be made, because that would run the patch's code."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read: dict[str, Judgement] = {}

    def __reduce__(self) -> tuple[type[JudgementCache], tuple[Path]]:
        """Leave what was read behind where a worker gets a copy."""
        return type(self), (self.folder,)

    def get(self, key: str) -> Judgement | None:
        """Look a judgement up; anything but the exact bytes that `put` wrote is a miss."""
        if key not in self._read:
            found = self._from_disk(key)
            if found is None:
                return None
            self._read[key] = found  # neighbouring commits have most files in common
        return self._read[key]

    def _from_disk(self, key: str) -> Judgement | None:
        try:
            digest, _, body = self._path(key).read_bytes().partition(b"\n")
            if digest != _digest(body):
                return None
            document = json.loads(body)
            if document["schema"] != _SCHEMA or document["key"] != key:
                return None
            return _judgement(document["judgement"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, key: str, judgement: Judgement) -> None:
        """Cache a judgement.

        Args:
            key: Everything that the judgement depends on: blob ids, the patch's digest, the tool's version.
            judgement: Stored without loss.
        """
        document = {"schema": _SCHEMA, "key": key, "judgement": _document(judgement)}
        body = json.dumps(document, separators=(",", ":")).encode()
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(path, _digest(body) + b"\n" + body, durable=False)  # the digest detects a truncated file
        except (OSError, EnvironmentFault):
            return  # the run has its judgement; a read-only or full cache must not fail it

    def _path(self, key: str) -> Path:
        name = hashlib.sha256(key.encode()).hexdigest()
        return self.folder / name[:2] / f"{name[2:]}.json"


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


def _document(judgement: Judgement) -> dict[str, Any]:
    plain: dict[str, Any] = judgement._asdict()
    for name in ("goals", "sites", "candidates", "changes"):
        plain[name] = [item._asdict() for item in plain[name]]
    plain["kinds"] = dict(judgement.kinds)
    plain["contents"] = {
        path: None if data is None else b64encode(data).decode() for path, data in judgement.contents.items()
    }
    return plain


def _judgement(plain: dict[str, Any]) -> Judgement:
    return Judgement(
        **{
            **plain,
            "state": State(plain["state"]),
            "proof": Proof(plain["proof"]),
            "goals": tuple(GoalEvidence(**item) for item in plain["goals"]),
            "sites": tuple(Site(**item) for item in plain["sites"]),
            "candidates": tuple(Candidate(**item) for item in plain["candidates"]),
            "changes": tuple(Change(**{**item, **_tuples(item, "names", "new_names")}) for item in plain["changes"]),
            "contents": {path: None if data is None else b64decode(data) for path, data in plain["contents"].items()},
            "notes": tuple(plain["notes"]),
            "looked_up": tuple((path, blob) for path, blob in plain["looked_up"]),
        }
    )


def _tuples(plain: dict[str, Any], *names: str) -> dict[str, tuple[str, ...]]:
    return {name: tuple(plain[name]) for name in names}

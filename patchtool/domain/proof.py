"""What the tests of a run proved, and the exact bytes that they proved it on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from patchtool.domain.release import Release
from patchtool.domain.state import Proof, State

if TYPE_CHECKING:
    from patchtool.domain.patch import Judgement, PatchInfo
    from patchtool.domain.ports import Tree

VERSION = 1
THIS_TREE = "this tree"
"""Where a proof was made that is about a folder of the user."""

Rendering = Mapping[str, tuple[str, str]]
"""The blob ids before and after of each path that a patch changes."""


class SealedPatch(NamedTuple):
    """The proof of one patch.

    Args:
        verdict: What the tests show.
        state: The patch's state in the run.
        statement: Digest of the patch, of those that it requires, and of its tests.
        renderings: What the patch changes, in the series and alone.
    """

    verdict: Proof
    state: str
    statement: str
    renderings: tuple[Rendering, ...] = ()

    def mismatch(self, judgement: Judgement, statement: str) -> str:
        """Say why the proof is not about a judgement; empty if it is, as far as the patch alone decides."""
        if statement != self.statement:
            return "the patch, one that it requires, or its tests were edited since"
        if judgement.state.value != self.state:
            return f"it was {self.state} then, and is {judgement.state.value} here"
        return "" if rendering_of(judgement) in self.renderings else "it renders differently"


class ProofRecord(NamedTuple):
    """The proofs of one run on one tree.

    Args:
        release: The release of the tree.
        commit: Its commit in the store, empty for a folder of the user.
        files: Blob ids of the files that the tests loaded and of those that the patches read, as they are unpatched.
        patches: The proofs, by patch.
    """

    release: Release
    commit: str
    files: Mapping[str, str]
    patches: Mapping[str, SealedPatch]

    @property
    def where(self) -> str:
        """The tree in a few words."""
        return self.release.tag if self.commit else THIS_TREE

    @property
    def key(self) -> str:
        """Names the tree and the patches, so that a later run on the same ones replaces the record."""
        digest = hashlib.sha256(self.commit.encode())
        for path, blob in sorted(self.files.items()):
            digest.update(f"{path} {blob}\n".encode())
        for name, patch in sorted(self.patches.items()):
            digest.update(f"{name} {patch.statement}\n".encode())
        return f"{self.release.id}-{digest.hexdigest()[:16]}"

    @property
    def packages(self) -> list[str]:
        """Files that Python would import instead of a sealed module of the same name."""
        named = (f"{path.removesuffix('.py')}/__init__.py" for path in self.files)
        return [path for path in named if path not in self.files]

    def differing(self, tree: Tree) -> list[str]:
        """The sealed files that have other bytes in a tree or are not there, and those that Python imports instead."""
        blobs = tree.blob_ids([*self.files, *self.packages])
        return sorted(path for path in {*self.files, *blobs} if blobs.get(path) != self.files.get(path))

    def to_document(self) -> dict[str, Any]:
        """Return the record as a JSON document."""
        patches = {
            name: {
                "verdict": patch.verdict.value,
                "state": patch.state,
                "statement": patch.statement,
                "renderings": [{path: list(ids) for path, ids in each.items()} for each in patch.renderings],
            }
            for name, patch in self.patches.items()
        }
        return {
            "version": VERSION,
            "release": self.release.key,
            "commit": self.commit,
            "patches": patches,
            "files": dict(sorted(self.files.items())),
        }

    @classmethod
    def from_document(cls, document: Any) -> ProofRecord:
        """Read a document.

        Raises:
            ValueError: It is something else; also KeyError, TypeError or AttributeError.
        """
        if document["version"] != VERSION:
            raise ValueError(f"unknown version {document['version']!r}")
        patches = {
            str(name): SealedPatch(
                Proof(patch["verdict"]),
                State(patch["state"]).value,
                str(patch["statement"]),
                tuple({path: (old, new) for path, (old, new) in each.items()} for each in patch["renderings"]),
            )
            for name, patch in document["patches"].items()
        }
        files = {str(path): str(blob) for path, blob in document["files"].items()}
        return cls(Release.parse(str(document["release"])), str(document["commit"]), files, patches)


def rendering_of(judgement: Judgement) -> Rendering:
    """What a patch changes, by blob ids."""
    return {change.path: (change.before, change.after) for change in judgement.changes}


def statement_of(patches: Iterable[PatchInfo], tests: str) -> str:
    """Digest a patch and those that it requires, with its tests.

    Args:
        patches: They, in series order.
        tests: The digest of its tests.
    """
    lines = [f"{info.name} {info.digest} {info.at}" for info in patches]
    return hashlib.sha256("\n".join([*lines, tests]).encode()).hexdigest()

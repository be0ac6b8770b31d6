"""What the inner rooms need from the outer ones, as Protocols."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from patchtool.domain.patch import Judgement, PatchInfo
    from patchtool.domain.release import Release


class Tree(Protocol):
    """Files of one upstream state, read-only; paths in the git layout (``python/sglang/…``)."""

    def blob_ids(self, paths: Iterable[str]) -> Mapping[str, str]:
        """Git blob ids of those paths that exist as regular files."""

    def read(self, path: str) -> bytes | None:
        """The file's bytes, or None where it does not exist."""

    def containing(self, word: str) -> list[str]:
        """Paths of Python files that contain this word, sorted; slow, for explaining only."""


class PatchKind(Protocol):
    """A way to state a patch; ``semantic`` now, others later."""

    def judge(self, info: PatchInfo, tree: Tree, release: Release | None) -> Judgement:
        """Decide the patch's state on the tree and render it; never raises for what upstream or the patch holds."""

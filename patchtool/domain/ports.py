"""Protocols for what a package needs from packages that it must not import."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from patchtool.domain.draft import Draft, FileChange
    from patchtool.domain.mismatch import Mismatch
    from patchtool.domain.patch import Diagnostic, Judgement, PatchInfo
    from patchtool.domain.release import Release
    from patchtool.domain.sibling_sites import Siblings


class Tree(Protocol):
    """Files of one upstream state, read-only; paths in the git layout (``src/package/…``)."""

    def blob_ids(self, paths: Iterable[str]) -> Mapping[str, str]:
        """Return the git blob ids of those paths that are regular files."""

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a file, or None if there is none."""

    def containing(self, word: str) -> list[str]:
        """Return the paths of Python files that contain a word, sorted; slow, for searches that a user asks for."""


@runtime_checkable
class TreeWithModes(Protocol):
    """A tree that tells modes, and has symbolic links."""

    def entries(self, paths: Iterable[str]) -> Mapping[str, tuple[str, bytes]]:
        """Return git's mode and the bytes of those paths that are files or symbolic links; a link's are its target."""


@runtime_checkable
class TreeWithHistory(Protocol):
    """A tree that can be compared with an earlier one."""

    def renamed_since(self, commit: str) -> Mapping[str, str]:
        """Return the paths of files that were renamed since a commit, by the paths that they had there."""


@runtime_checkable
class ComparingKind(Protocol):
    """A kind of patches that can tell what differs in code that it does not recognise."""

    def why_not(self, info: PatchInfo, tree: Tree, release: Release | None) -> list[Mismatch]:
        """Tell what keeps each rule of a patch, and each goal, from being found; nothing where all are."""


@runtime_checkable
class SearchingKind(Protocol):
    """A kind of patches whose defects can be looked for in other code."""

    def siblings(self, patches: Sequence[PatchInfo], tree: Tree, contents: Mapping[str, bytes | None]) -> Siblings:
        """Search a tree for code that looks like the defects of patches.

        Args:
            patches: The patches, of this kind.
            tree: The tree, without the series.
            contents: What the series changes in it, by path; None for a file that it deletes.
        """


class PatchKind(Protocol):
    """A way to state a patch; see ``kinds.KINDS`` for how to add one."""

    def preload(self) -> None:
        """Import all that judging may need, before the process forks."""

    def judge(self, info: PatchInfo, tree: Tree, release: Release | None) -> Judgement:
        """Decide a patch's state on a tree and render it; neither upstream's code nor the patch makes it raise.

        Args:
            info: The patch.
            tree: The tree, with the patches before it applied.
            release: Which release that is, where known.
        """

    def check(self, info: PatchInfo) -> list[Diagnostic]:
        """Lint a patch and test it on its own cases, without upstream's code."""

    def blank(self, name: str) -> dict[str, str]:
        """Return the files of a new patch, apart from its metadata, for the author to complete.

        Args:
            name: The patch's name, in lower case with underscores.

        Returns:
            Texts by path in the patch's folder.
        """

    def draft(self, changes: Sequence[FileChange], tree: Tree) -> Draft:
        """Draft a patch that makes a change of several files.

        Args:
            changes: The changed Python files of the package.
            tree: The tree that the change was made on.
        """

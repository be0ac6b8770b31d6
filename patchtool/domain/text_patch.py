"""A text patch: what it does to each file on the pin, and what becomes of that on another tree."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Resolved = Callable[["TextChange", Any], Sequence["Resolution"]]
    """Reads how conflicts of a change on a tree, which is of ``ports.Tree``, were resolved."""
    Between = Sequence[tuple[str, Any]]
    """Releases, oldest first: their names, and their trees, of ``ports.Tree``."""

REGULAR = "100644"
"""Git's mode of a plain file."""
EXECUTABLE = "100755"
"""Git's mode of a file that can be executed."""
SYMLINK = "120000"
"""Git's mode of a symbolic link, whose blob is its target."""

RESOLVED_BEFORE = "resolved-before"
"""The reason of a patch that applies because a person resolved its conflict on the same files before."""


class FileChange(NamedTuple):
    """What a text patch does to one file of the tree that it was made for.

    Args:
        path: In the git layout, after the change; for a deleted file its path before.
        base: The bytes before, or None for a new file; those of a symbolic link are its target.
        patched: The bytes after, or None for a deleted file.
        old_path: The path before where the patch renames the file, or empty.
        base_mode: Git's mode before, such as ``100644``; empty for a new file.
        patched_mode: Git's mode after; empty for a deleted file.
    """

    path: str
    base: bytes | None
    patched: bytes | None
    old_path: str = ""
    base_mode: str = REGULAR
    patched_mode: str = REGULAR

    @property
    def source_path(self) -> str:
        """The path before the change."""
        return self.old_path or self.path


class CarryOutcome(str, Enum):
    """What a change, or a hunk of it, came to on another tree."""

    EXACT = "exact"
    """The file there is the one that the patch was made for."""
    MERGED = "merged"
    """A three-way merge of lines, without a conflict."""
    STRUCTURAL = "structural"
    """Carried by the structure of the code: a person should look at it."""
    LANDED = "landed"
    """The tree has it."""
    PARTIAL = "partial"
    """The tree has a part of it; the result has the rest."""
    OBSOLETE = "obsolete"
    """The code that it changes is gone, and what it adds is not there."""
    CONFLICT = "conflict"
    """It cannot be carried without doubt."""

    @property
    def changes_file(self) -> bool:
        """Whether the resulting bytes differ from the tree's."""
        return self in (CarryOutcome.EXACT, CarryOutcome.MERGED, CarryOutcome.STRUCTURAL, CarryOutcome.PARTIAL)


class HunkFinding(NamedTuple):
    """What became of one hunk.

    Args:
        header: As in the diff, ``@@ -1,2 +1,3 @@``; empty for a change of a whole file.
        outcome: What it came to.
        reason: A short code such as ``changed-on-both-sides``; empty where the outcome needs no explanation.
        path: The file in the tree that it was carried to.
        line: One-based line there, or 0 where there is none.
        evidence: What shows the outcome, one sentence.
    """

    header: str
    outcome: CarryOutcome
    reason: str = ""
    path: str = ""
    line: int = 0
    evidence: str = ""


class CarriedFile(NamedTuple):
    """A change of one file, carried to another tree; a value, never an exception.

    Args:
        outcome: What it came to.
        data: The file's bytes with the change, or those of the tree if the outcome changes nothing; None for no file.
        hunks: What became of each hunk.
        reason: A short code, as of a hunk.
        detail: The explanation, one sentence.
    """

    outcome: CarryOutcome
    data: bytes | None
    hunks: tuple[HunkFinding, ...] = ()
    reason: str = ""
    detail: str = ""


class Region(NamedTuple):
    """A part of a file that a person has to merge, in three versions: whole lines, or none.

    Args:
        target: What the tree has there.
        base: What the patch changes.
        patched: What it makes of that.
    """

    target: bytes
    base: bytes
    patched: bytes


class TextChange(NamedTuple):
    """What a text patch does to the tree that it was made for.

    Args:
        files: Each file that it changes; with a problem, on the files that its diff was made of, where they are known.
        problem: Why it does not apply to that tree exactly, one sentence; empty if it does.
        commit: The commit of that tree, without patches, in the store.
    """

    files: tuple[FileChange, ...] = ()
    problem: str = ""
    commit: str = ""


class LaterChange(NamedTuple):
    """What a later patch of the series does to a file that a patch changes, on what that patch left of it.

    Args:
        name: The later patch.
        file: Its change.
    """

    name: str
    file: FileChange


def _no_later() -> Sequence[LaterChange]:
    return ()


class Resolution(NamedTuple):
    """How a person resolved a conflict of a text patch.

    Args:
        release: Where that was, as it is told.
        change: What the patch is there, as a change of the files that it was resolved on.
        whole: Whether it is about the tree at hand, file by file; else it is carried there as any change is.
    """

    release: str
    change: TextChange
    whole: bool


class TextSource:
    """Where the change of a text patch comes from: it is read only where no judgement of the patch is kept.

    Args:
        key: Identifies the tree that the patch was made for, the later patches, and the resolutions of its conflicts.
        read: Reads the change.
        read_later: Reads what later patches do to its files.
        resolved: Reads the recorded resolutions of the change's conflicts on a tree; they are asked for after one.
        between: The releases that are known between the patch's and the one that it is carried to; asked for after one.
    """

    def __init__(
        self,
        key: str,
        read: Callable[[], TextChange],
        read_later: Callable[[], Sequence[LaterChange]] = _no_later,
        resolved: Resolved | None = None,
        between: Between = (),
    ) -> None:
        self.key = key
        self._read = read
        self._read_later = read_later
        self._resolved = resolved
        self.between = between

    def change(self) -> TextChange:
        """Read the change."""
        return self._read()

    def later(self) -> Sequence[LaterChange]:
        """Read what later patches that were made for the same tree do to its files, in order."""
        return self._read_later()

    def resolutions(self, tree: Any) -> Sequence[Resolution]:
        """Read how conflicts of the change were resolved, those on the same files first."""
        return self._resolved(self.change(), tree) if self._resolved else ()

    def __reduce__(self) -> tuple[Callable[..., TextSource], tuple[object, ...]]:
        """Give a worker the changes themselves: to find them, the series is rendered on its base."""
        return known_source, (self.key, self.change(), self.later(), self._resolved, self.between)


def known_source(
    key: str,
    change: TextChange,
    later: Sequence[LaterChange] = (),
    resolved: Resolved | None = None,
    between: Between = (),
) -> TextSource:
    """Make the source of a change that is at hand."""
    return TextSource(key, lambda: change, lambda: later, resolved, between)

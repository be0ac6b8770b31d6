"""What is recorded of a series that was written to a worktree, and of a change that is under way."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from patchtool.domain.errors import EnvironmentFault, RefusedError
from patchtool.domain.text_patch import EXECUTABLE, REGULAR

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from patchtool.domain.package import Package

_SCHEMA = 1
_CHANGE = "transition"
_BELOW = r"(?:(?!\.{0,2}/|\.git/)[^/\\\0-\x1f]+/)+(?!\.{1,2}$)[^/\\\0-\x1f]+"
_ORIGINAL = re.compile(r"originals/[0-9a-f]+")
_BRANCH = re.compile(r"refs/heads/(?!.*\.\.)[^\0-\x20\x7f~^:?*\[\\]+")
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_COPY = re.compile(r"|[0-9a-f]{40}")
_ENTRY = re.compile(r" |\d{1,6} (?:|[0-9a-f]{40}|[0-9a-f]{64})")
_MODE = re.compile(r"[0-7]{1,3}")
NO_LINE = (-1, "")


class FileChange(NamedTuple):
    """One file of a series.

    Args:
        path: In the git layout.
        before: SHA-1 blob id of the content git stores, before.
        after: The same, after.
        disk_before: SHA-1 blob id of the bytes on disk, before; differs from ``before`` under CRLF. Empty for a file
            that is created.
        disk_after: The same, after; empty for a file that is deleted.
        original: The copy of the original bytes, relative to the state folder.
        mode: Permission bits on disk.
        entry_before: Mode and id of the index entry before, in the repository's object format; empty without commits.
        entry_after: The same, after.
        record_before: Hash and size that the installer recorded; empty where it did not, or for another content.
        record_after: The same, after.
        record_line: Number and text of the installer's line, for a file that is deleted.
        link: Where the file led as a symlink, as in an environment of links into a cache; empty for a regular file.
        mode_after: Permission bits after, where the series sets others; else None.
    """

    path: str
    before: str
    after: str
    disk_before: str
    disk_after: str
    original: str
    mode: int
    entry_before: tuple[str, str] = ("", "")
    entry_after: tuple[str, str] = ("", "")
    record_before: tuple[str, str] = ("", "")
    record_after: tuple[str, str] = ("", "")
    record_line: tuple[int, str] = NO_LINE
    link: str = ""
    mode_after: int | None = None

    @property
    def mode_written(self) -> int:
        """Permission bits after."""
        return self.mode if self.mode_after is None else self.mode_after


class Applied(NamedTuple):
    """A series that was written to a worktree.

    Args:
        release: As in the branch's name.
        digest: Of all commits; equal digests write equal trees.
        patches: Name and digest of every patch, in series order.
        files: The changed files.
        branch: Full name of the branch with the commits, None when only files were edited.
        commits: Their ids, in series order.
        head: The commit HEAD was on before, None without git.
        head_branch: Full name of the branch HEAD was on before, None when detached.
        tree: Git tree id of the last commit, empty without commits.
    """

    release: str
    digest: str
    patches: tuple[tuple[str, str], ...]
    files: tuple[FileChange, ...]
    branch: str | None = None
    commits: tuple[str, ...] = ()
    head: str | None = None
    head_branch: str | None = None
    tree: str = ""

    @property
    def original_modes(self) -> dict[str, str]:
        """Git's modes before of the files whose permissions the series sets, by path."""
        changed = (change for change in self.files if change.mode_after is not None)
        return {change.path: EXECUTABLE if change.mode & 0o100 else REGULAR for change in changed}


class FileState(NamedTuple):
    """One file at one end of a transition.

    Args:
        content: SHA-1 blob id of the bytes on disk; empty where there is no file.
        mode: Permission bits on disk.
        entry: Mode and id of the index entry; both empty where the index stays as it is.
        record: Hash and size in the installer's ``RECORD``; both empty for no line.
        link: Where it leads as a symlink; empty for a regular file.
    """

    content: str
    mode: int
    entry: tuple[str, str] = ("", "")
    record: tuple[str, str] = ("", "")
    link: str = ""


class FileStep(NamedTuple):
    """What a transition does to one file.

    Args:
        path: In the git layout.
        before: The file before.
        after: The file after.
        created: Whether the file is of the series alone, so that its empty folders go with it.
        record_line: As in `FileChange`.
    """

    path: str
    before: FileState
    after: FileState
    created: bool = False
    record_line: tuple[int, str] = NO_LINE


class Head(NamedTuple):
    """Where HEAD is: full name of the branch, None when detached, and the commit, None without git."""

    branch: str | None = None
    commit: str | None = None


NO_HEAD = Head()


class BranchStep(NamedTuple):
    """A branch, by full name, and its commits before and after; empty where there is no such branch."""

    name: str
    before: str
    after: str


class Transition(NamedTuple):
    """A change of a worktree that is made as a whole: a series is written, replaced or taken out.

    Args:
        work: What is done, as a participle.
        files: What is done to files.
        head_before: HEAD before.
        head_after: HEAD after.
        branches: What is done to branches.
    """

    work: str
    files: tuple[FileStep, ...]
    head_before: Head = NO_HEAD
    head_after: Head = NO_HEAD
    branches: tuple[BranchStep, ...] = ()

    @property
    def reversed(self) -> Transition:
        """The way back."""
        files = (step._replace(before=step.after, after=step.before) for step in self.files)
        branches = (BranchStep(name, after, before) for name, before, after in self.branches)
        return Transition(self.work, tuple(files), self.head_after, self.head_before, tuple(branches))

    @property
    def moves_head(self) -> bool:
        """Whether HEAD is elsewhere afterwards."""
        return self.head_before != self.head_after

    @property
    def changes_git(self) -> bool:
        """Whether index or refs change, and not files alone."""
        return self.moves_head or bool(self.branches) or any(any(step.after.entry) for step in self.files)


class Record(NamedTuple):
    """The content of a record's file.

    Args:
        applied: The series that is applied, or will be when the transition is complete; None where none is.
        transition: The change that led to it.
    """

    applied: Applied | None
    transition: Transition | None = None


NO_RECORD = Record(None)


def write_record(record: Record) -> bytes:
    """The bytes of a record's file."""
    applied = record.applied._asdict() if record.applied else {}
    files = {"files": [change._asdict() for change in record.applied.files]} if record.applied else {}
    change = {_CHANGE: record.transition._asdict()} if record.transition else {}
    return json.dumps({"schema": _SCHEMA, **applied, **files, **change}, indent=1).encode()


def read_record(content: bytes, file: Path, package: Package) -> Record:
    """Read a record, which is in a state folder of our own, and check it nevertheless: others may write to the folder.

    Args:
        content: The record.
        file: Its file, for messages.
        package: The package that the folder is about.

    Raises:
        RefusedError: It names something outside of the tree.
        EnvironmentFault: It is damaged, or of another version of the tool.
    """
    try:
        document: Any = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise unreadable(file, str(error)) from error
    try:
        if document.pop("schema") != _SCHEMA:
            raise unreadable(file, "another version of patchtool wrote it")
        document.pop("signature", None)  # who opened the folder has compared it
        change = document.pop(_CHANGE, None)
        transition = _transition(_frozen(change)) if change else None
        applied = _applied(document) if document or transition is None else None
        path = re.compile(re.escape(package.root) + _BELOW)
        outside = [
            *(_outside(applied, path) if applied else ()),
            *(_outside_of(transition, path) if transition else ()),
        ]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise unreadable(file, str(error)) from error
    if outside:
        raise RefusedError(
            f"the record {file} is refused: it names {outside[0]!r}",
            hint=f"restore the patched files yourself, then remove {file.parent}",
        )
    return Record(applied, transition)


def _applied(document: dict[str, Any]) -> Applied:
    files = tuple(FileChange(**_frozen(change)) for change in document.pop("files"))
    return Applied(files=files, **_frozen(document))


def _transition(document: dict[str, Any]) -> Transition:
    steps = (FileStep(*step) for step in document["files"])
    files = tuple(step._replace(before=FileState(*step.before), after=FileState(*step.after)) for step in steps)
    heads = (Head(*document["head_before"]), Head(*document["head_after"]))
    return Transition(document["work"], files, *heads, tuple(BranchStep(*step) for step in document["branches"]))


def _outside(applied: Applied, path: re.Pattern[str]) -> Iterator[str]:
    """What a record must not name: a path outside of the package, a copy outside of the folder, no branch, no id."""
    for change in applied.files:
        entries = [(_ENTRY, " ".join(entry)) for entry in (change.entry_before, change.entry_after)]
        modes = [(_MODE, f"{mode:o}") for mode in (change.mode, change.mode_written)]
        yield from _not_matching((path, change.path), (_ORIGINAL, change.original), *modes, *entries)
    yield from _not_matching(*((_BRANCH, name) for name in (applied.branch, applied.head_branch) if name is not None))
    ids = (*applied.commits, *(name for name in (applied.head, applied.tree) if name))
    yield from _not_matching(*((_ID, name) for name in ids))


def _outside_of(transition: Transition, path: re.Pattern[str]) -> Iterator[str]:
    """The same of a change that is under way."""
    for step in transition.files:
        yield from _not_matching((path, step.path))
        for state in (step.before, step.after):
            entry = (_ENTRY, " ".join(state.entry))
            yield from _not_matching((_COPY, state.content), (_MODE, f"{state.mode:o}"), entry)
    for branch, commit in (transition.head_before, transition.head_after):
        yield from _not_matching((_BRANCH, branch or "refs/heads/x"), (_ID, commit or "0" * 40))
    for name, *tips in transition.branches:
        yield from _not_matching((_BRANCH, name), *((_ID, tip) for tip in tips if tip))


def _not_matching(*values: tuple[re.Pattern[str], str]) -> Iterator[str]:
    yield from (text for pattern, text in values if not pattern.fullmatch(text))


def _frozen(value: Any) -> Any:
    """JSON with tuples for lists; a table stays a table."""
    if isinstance(value, dict):
        return {key: _frozen(item) for key, item in value.items()}
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def unreadable(file: Path, cause: str) -> EnvironmentFault:
    """Tell that a record is damaged, and what leads on."""
    return EnvironmentFault(
        f"the record {file} cannot be read",
        hint=f"restore the patched files yourself (originals are in {file.parent}), then remove that folder",
        cause=cause,
    )

"""Plan the way from what a worktree has to another series, or to none: one change, whatever is there before."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters.worktree.records import (
    NO_LINE,
    Applied,
    BranchStep,
    FileChange,
    FileState,
    FileStep,
    Head,
    Transition,
)
from patchtool.adapters.worktree.write_plan import WritePlan, link_of
from patchtool.domain.objects import blob_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from patchtool.adapters.git.repository import Repository
    from patchtool.adapters.worktree.worktree import Worktree


class Replaced(NamedTuple):
    """The series that is applied, and goes.

    Args:
        applied: Its record, with those files that are not pristine.
        targets: Bytes on disk without it, by path, None for no file: the original ones, or with the user's edits.
    """

    applied: Applied
    targets: Mapping[str, bytes | None]


class PlannedTransition(NamedTuple):
    """A change with all bytes.

    Args:
        transition: For the journal.
        applied: What is applied afterwards.
        after: Bytes on disk afterwards, by path.
        copies: What the journal keeps, to roll back and to go on from there later.
    """

    transition: Transition
    applied: Applied | None
    after: dict[str, bytes | None]
    copies: tuple[bytes, ...]


def plan_transition(worktree: Worktree, old: Replaced | None, new: WritePlan | None) -> PlannedTransition:
    """Plan a change.

    Args:
        worktree: The worktree as it is.
        old: What is applied, if anything is.
        new: What is to be applied, if anything is.
    """
    goes = {change.path: change for change in old.applied.files} if old else {}
    comes = {change.path: change for change in new.applied.files} if new else {}
    paths = sorted({**goes, **comes})
    before = {path: worktree.raw(path) for path in paths}
    after = {**(old.targets if old else {}), **(new.contents if new else {})}
    after = {path: after[path] for path in paths}
    steps = (_step(worktree, path, goes.get(path), comes.get(path), before[path], after[path]) for path in paths)
    works = {(False, True): "writing", (True, True): "replacing", (True, False): "unapplying"}
    applied = new.applied if new else None
    release = (old.applied if old else new.applied if new else Applied("", "", (), ())).release
    head = Head(worktree.branch, worktree.head)
    without, branches = _without_commits(worktree.repository, old.applied, head) if old else (head, [])
    after_head = without
    if applied and applied.branch:
        after_head = Head(applied.branch, applied.commits[-1])
        branches = [step for step in branches if step.name != applied.branch]
        branches += [BranchStep(applied.branch, new.replaces if new else "", applied.commits[-1])]
    branches = [step for step in branches if step.before != step.after]
    work = f"{works[bool(old), bool(new)]} the series for {release}"
    transition = Transition(work, tuple(steps), head, after_head, tuple(branches))
    kept = [*before.values(), *((*new.originals.values(), *new.contents.values()) if new else ())]
    return PlannedTransition(transition, applied, after, tuple(data for data in kept if data is not None))


def _without_commits(repository: Repository | None, applied: Applied, head: Head) -> tuple[Head, list[BranchStep]]:
    """Where HEAD is without the commits of a series, and its branch, which goes."""
    if repository is None or applied.branch is None:
        return head, []
    exists = applied.head_branch and repository.branch_tip(applied.head_branch) == applied.head
    without = Head(applied.head_branch if exists else None, applied.head)
    return without, [BranchStep(applied.branch, applied.commits[-1], "")]


def _step(
    worktree: Worktree,
    path: str,
    goes: FileChange | None,
    comes: FileChange | None,
    before: bytes | None,
    after: bytes | None,
) -> FileStep:
    """What is done to one file: from a series that goes, to one that comes, or both."""
    change = comes or goes
    assert change  # noqa: S101 -- the path is of one of them
    entries = [("", ""), ("", "")]
    if goes and any(goes.entry_after):
        entries = [goes.entry_after, goes.entry_before]
    if comes and any(comes.entry_after):
        entries = [goes.entry_after if goes and any(goes.entry_after) else comes.entry_before, comes.entry_after]
    line = next((each.record_line for each in (goes, comes) if each and each.record_line != NO_LINE), NO_LINE)
    old = FileState(
        "" if before is None else blob_id(before),
        goes.mode_written if goes else change.mode,
        entries[0],
        goes.record_after if goes else change.record_before,
        link_of(worktree.on_disk(path)),
    )
    new = FileState(
        "" if after is None else blob_id(after),
        comes.mode_written if comes else change.mode,
        entries[1],
        comes.record_after if comes else change.record_before,
        "" if comes else change.link,
    )
    return FileStep(path, old, new, not change.disk_before, line)

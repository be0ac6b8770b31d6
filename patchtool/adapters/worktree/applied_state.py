"""Compare a worktree with the series that was written to it: the record is evidence, the bytes on disk decide."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from patchtool.adapters.git.repository import Repository
from patchtool.adapters.worktree.installed import record_entries
from patchtool.adapters.worktree.journal import Journal
from patchtool.adapters.worktree.records import Applied, FileChange
from patchtool.adapters.worktree.swap import disk_id, has_new_mode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from patchtool.adapters.worktree.worktree import Worktree

FileState = Literal["original", "patched", "pristine", "edited"]
"""What a recorded file is now: as it was before the series, as the series left it, as the release or commit that the
tree is at by now has it, or none of these."""
NOTHING: Mapping[str, str] = MappingProxyType({})


class AppliedState(NamedTuple):
    """What became of the applied series.

    Args:
        kind: ``intact``: unchanged. ``partly``: some files are as before, by other means than unapply. ``reverted``:
            all files are, or they are those of another release or commit by now. ``edited``: a file was changed to
            something else. ``moved``: the files are as applied, HEAD is on another commit.
        paths: The files that changed since, in the git layout.
        files: What each file is now.
    """

    kind: Literal["intact", "partly", "reverted", "edited", "moved"]
    paths: tuple[str, ...] = ()
    files: Mapping[str, FileState] = MappingProxyType({})


def read_applied(worktree: Worktree) -> Applied | None:
    """Read the record of what is applied, None when nothing is; see `applied_state` for whether it still holds."""
    return Journal(worktree.state_dir, worktree.upstream).applied()


def read_originals(worktree: Worktree, applied: Applied) -> dict[str, bytes | None]:
    """The bytes on disk of every patched file before it was patched, by path in the git layout; None for a new file."""
    journal = Journal(worktree.state_dir, worktree.upstream)
    return {change.path: journal.original(change) for change in applied.files}


def applied_state(worktree: Worktree, applied: Applied, upstream: Mapping[str, str] = NOTHING) -> AppliedState:
    """Compare files and HEAD with the record.

    Args:
        worktree: The worktree.
        applied: The record.
        upstream: Blob ids of the files of the release that the tree is at, where they are known.
    """
    files = {change.path: _file_state(worktree, change, upstream) for change in applied.files}
    on_branch = applied.branch is not None
    at_head = on_branch and (worktree.branch, worktree.head) == (applied.branch, applied.commits[-1])
    if "edited" in files.values():
        current = _current(worktree, applied, at_head, (path for path, state in files.items() if state == "edited"))
        files |= dict.fromkeys(current, "pristine")
    changed = tuple(path for path, state in files.items() if state != "patched")
    if not changed:
        return AppliedState("intact" if at_head or not on_branch else "moved", (), files)
    # With our commits at HEAD, restored files are an uncommitted edit.
    edited = changed if at_head else tuple(path for path, state in files.items() if state == "edited")
    elsewhere = on_branch and not _has_our_commits(worktree, applied)
    # Where HEAD left our commits, and took some files along, the others have edits of what HEAD has.
    left = elsewhere and "patched" not in files.values() and not {"original", "pristine"}.isdisjoint(files.values())
    if edited and not left:
        return AppliedState("edited", edited, files)
    if "patched" not in files.values() or elsewhere:
        return AppliedState("reverted", changed, files)
    return AppliedState("edited" if on_branch else "partly", changed, files)


def _file_state(worktree: Worktree, change: FileChange, upstream: Mapping[str, str]) -> FileState:
    on_disk = disk_id(worktree, change.path)
    if on_disk == change.disk_before:
        only_mode = change.disk_before == change.disk_after
        return "patched" if only_mode and has_new_mode(worktree, change) else "original"
    # An upgrade may bring exactly what the patch wrote.
    if on_disk and change.path in upstream and upstream[change.path] == worktree.blob_ids([change.path])[change.path]:
        return "pristine"
    return "patched" if on_disk == change.disk_after else "edited"


def _current(worktree: Worktree, applied: Applied, at_head: bool, paths: Iterable[str]) -> set[str]:
    """Those of the files that are as the commit at HEAD, or the installed distribution, has them."""
    wanted = list(paths)
    if worktree.checkout is None:
        names = {worktree.upstream.installed(path): path for path in wanted}
        entries = record_entries(worktree.base, worktree.upstream, names)
        return {names[name] for name, entry in entries.items() if entry.describes(worktree.raw(names[name]) or b"")}
    if at_head or worktree.head == applied.head or _has_our_commits(worktree, applied):
        return set()
    names = {worktree.in_repository(path): path for path in wanted}
    return set(wanted) - {names.get(name) for name in Repository(worktree.checkout).changed_paths(names)}


def _has_our_commits(worktree: Worktree, applied: Applied) -> bool:
    return bool(worktree.checkout and applied.commits and worktree.checkout.contains(applied.commits[-1]))

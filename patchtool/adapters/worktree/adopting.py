"""Record a series that is in a worktree without a record, because an image or another user was patched with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchtool.adapters.files import LOCK_TIMEOUT
from patchtool.adapters.git.commits import digest, final_modes
from patchtool.adapters.worktree.installed import RecordEntry, entry_of, record_entries
from patchtool.adapters.worktree.journal import Journal
from patchtool.adapters.worktree.locking import locked_worktree
from patchtool.adapters.worktree.records import Applied, FileChange
from patchtool.domain.objects import MISSING, blob_id
from patchtool.domain.text_patch import EXECUTABLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from patchtool.adapters.git.commits import PatchCommit
    from patchtool.adapters.worktree.worktree import Worktree

_PERMISSIONS = 0o644


def adopt(
    worktree: Worktree,
    commits: Sequence[PatchCommit],
    originals: Mapping[str, bytes | None],
    contents: Mapping[str, bytes | None],
    *,
    release: str,
    lock_timeout: float = LOCK_TIMEOUT,
) -> None:
    """Record that a series is in the files on disk, so that it can be unapplied and replaced.

    Args:
        worktree: The worktree.
        commits: The series, in order.
        originals: The content of every file that it changes, before, as git stores it; None for one that it creates.
        contents: The same with the series, None for one that it deletes; a file on disk that is another one counts as
            edited since.
        release: For the record.
        lock_timeout: Seconds to wait for another run.
    """
    with locked_worktree(worktree, lock_timeout) as current:
        journal = Journal(current.state_dir, current.upstream)
        if journal.applied() or journal.pending():
            return
        crlf = current.line_endings({path: raw for path in originals if (raw := current.raw(path)) is not None})
        on_disk, patched = (
            {
                path: data.replace(b"\n", b"\r\n") if data is not None and path in crlf else data
                for path, data in files.items()
            }
            for files in (originals, contents)
        )
        entries = {path: _true_entry(current, path, patched[path]) for path in originals}
        modes = final_modes(commits)
        files = tuple(
            FileChange(
                path,
                before=MISSING if original is None else blob_id(original),
                after=MISSING if (after := contents[path]) is None else blob_id(after),
                disk_before="" if (before := on_disk[path]) is None else blob_id(before),
                disk_after="" if (there := patched[path]) is None else blob_id(there),
                original=f"originals/{blob_id(before or b'')}",
                mode=_without(modes.get(path, ""), permissions),
                mode_after=permissions if path in modes else None,
                record_before=_was_recorded(entry, before),
                record_after=entry,
            )
            for path, original in sorted(originals.items())
            for entry, permissions in ((entries[path], _permissions(current, path)),)
        )
        patches = tuple((patch.trailer("Patchtool-Patch"), patch.trailer("Patchtool-Digest")) for patch in commits)
        found = Applied(release, digest(commits), patches, files, head=current.head, head_branch=current.branch)
        copies = (*on_disk.values(), *patched.values())
        journal.adopt(found, [data for data in copies if data is not None])


def _permissions(worktree: Worktree, path: str) -> int:
    file = worktree.on_disk(path)
    return file.stat().st_mode & 0o777 if file.exists() else _PERMISSIONS


def _without(mode: str, permissions: int) -> int:
    """The permission bits of a file before the series gave it git's mode; those that it has if it gave none."""
    if not mode:
        return permissions
    return permissions & ~0o111 if mode == EXECUTABLE else permissions | (permissions & 0o444) >> 2


def _true_entry(worktree: Worktree, path: str, content: bytes | None) -> RecordEntry:
    """What the installer's ``RECORD`` has for a file, if that is true of its content with the series."""
    name = worktree.upstream.installed(path)
    entry = record_entries(worktree.base, worktree.upstream, {name}).get(name, RecordEntry())
    return entry if content is not None and entry.describes(content) else RecordEntry()


def _was_recorded(entry: RecordEntry, before: bytes | None) -> RecordEntry:
    return entry_of(before, entry) if before is not None and entry.hash else RecordEntry()

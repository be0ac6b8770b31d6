"""Everything that a write will change, computed before the first change."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters.git.commits import NEW_FILE, PatchCommit, added_files, digest, final_contents, final_modes
from patchtool.adapters.git.repository import NO_ENTRY, IndexEntry
from patchtool.adapters.git.signing import UNSIGNED, Signing, sign, signing_of
from patchtool.adapters.worktree.blockers import blockers_in_git, blockers_on_disk, new_links, refuse_blocked
from patchtool.adapters.worktree.installed import RecordEntry, entry_of, is_installed, record_entries, record_lines
from patchtool.adapters.worktree.records import NO_LINE, Applied, FileChange
from patchtool.domain.errors import RefusedError
from patchtool.domain.objects import MISSING, blob_id
from patchtool.domain.text_patch import EXECUTABLE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from patchtool.adapters.git.checkout import Checkout
    from patchtool.adapters.worktree.worktree import Worktree


NEW_FILE_PERMISSIONS = 0o644


class WritePlan(NamedTuple):
    """What a series makes of a worktree that does not have it.

    Args:
        applied: The record for the journal.
        originals: Bytes on disk before, by path in the git layout; None for a file that is created.
        contents: Bytes on disk after; None for a file that is deleted.
        replaces: The commit that the branch is on now, empty where there is no branch yet.
        notes: Sentences for the user.
    """

    applied: Applied
    originals: dict[str, bytes | None]
    contents: dict[str, bytes | None]
    replaces: str = ""
    notes: tuple[str, ...] = ()


def make_plan(
    worktree: Worktree,
    commits: list[PatchCommit],
    branch: str | None,
    release: str,
    earlier: Applied | None = None,
) -> WritePlan:
    """Refuse blockers, store the commits' objects, and plan the changes; no ref names the objects yet.

    Args:
        worktree: The worktree, without the series that is applied to it.
        commits: The rendered series, in order.
        branch: Full name of the branch for the commits, None to edit files only.
        release: For the record.
        earlier: The series that is or was applied; its branch may be replaced where it has nothing else.

    Raises:
        RefusedError: There are blockers; names them.
    """
    created = added_files(commits)
    # A file that the series creates and deletes again is never on disk.
    paths = [path for path, data in final_contents(commits).items() if data is not None or path not in created]
    # The files of the series that is applied are as it left them, so nothing in them blocks.
    replaced = {change.path: change for change in earlier.files if change.path in worktree.without} if earlier else {}
    others = [path for path in paths if path not in replaced]
    refuse_blocked(worktree, [*blockers_on_disk(worktree, others, created), *new_links(final_modes(commits))])
    repository = worktree.repository
    entries = repository.index_entries(map(worktree.in_repository, paths)) if repository else {}
    if repository:
        refuse_blocked(worktree, blockers_in_git(worktree, repository, others, entries, created, branch=branch))
    originals = {path: None if path in created else worktree.raw(path) or b"" for path in paths}
    crlf = worktree.line_endings({path: raw for path, raw in originals.items() if raw is not None})
    stored = [_with_stored_endings(patch, crlf) for patch in commits]
    after = final_contents(stored)
    contents = {path: with_disk_endings(path, after[path], crlf) for path in paths}
    files = _file_changes(worktree, originals, after, contents, final_modes(commits), replaced)
    files = tuple(_with_record_entries(worktree, files, originals, contents, replaced))
    patches = tuple((patch.trailer("Patchtool-Patch"), patch.trailer("Patchtool-Digest")) for patch in commits)
    applied = Applied(release, digest(commits), patches, files, head=worktree.head, head_branch=worktree.branch)
    if not (repository and worktree.checkout and branch):
        return WritePlan(applied, originals, contents)
    signing = signing_of(worktree.checkout)
    applied = _with_commits(worktree, worktree.checkout, entries, stored, branch, applied, signing, replaced)
    tip = repository.branch_tip(branch)
    ours = (applied.commits[-1], earlier.commits[-1] if earlier and earlier.branch == branch else None)
    if tip is not None and tip not in ours:
        short = branch.removeprefix("refs/heads/")
        raise RefusedError(
            f"the branch {short} exists and has other commits",
            hint=f"rename it (git branch -m {short} NAME), or delete it (git branch -D {short})",
        )
    return WritePlan(applied, originals, contents, tip or "", (UNSIGNED,) if signing.only_here else ())


def _file_changes(
    worktree: Worktree,
    originals: Mapping[str, bytes | None],
    after: Mapping[str, bytes | None],
    contents: Mapping[str, bytes | None],
    modes: Mapping[str, str],
    replaced: Mapping[str, FileChange],
) -> tuple[FileChange, ...]:
    """What changes of every file.

    Args:
        worktree: The worktree.
        originals: Bytes on disk before, by path in the git layout; None for a file that is created.
        after: Bytes that git stores after; None for a file that is deleted.
        contents: Bytes on disk after.
        modes: Git's modes of the files whose permissions the series sets.
        replaced: What the series that is taken out did to a file.
    """
    created = {path for path, original in originals.items() if original is None}
    bits = {path: _mode(worktree, path, created, replaced.get(path)) for path in originals}
    return tuple(
        FileChange(
            path,
            before=MISSING if original is None else blob_id(worktree.read(path) or b""),
            after=MISSING if (content := after[path]) is None else blob_id(content),
            disk_before="" if original is None else blob_id(original),
            disk_after="" if (written := contents[path]) is None else blob_id(written),
            original=f"originals/{blob_id(original or b'')}",
            mode=bits[path],
            link=replaced[path].link if path in replaced else link_of(worktree.on_disk(path)),
            mode_after=permissions(bits[path], modes[path]) if path in modes else None,
        )
        for path, original in originals.items()
    )


def link_of(file: Path) -> str:
    """Where a symlink leads; empty for another file."""
    return os.fspath(file.readlink()) if file.is_symlink() else ""


def _mode(worktree: Worktree, path: str, created: Collection[str], replaced: FileChange | None) -> int:
    if replaced:
        return replaced.mode
    return NEW_FILE_PERMISSIONS if path in created else worktree.on_disk(path).stat().st_mode & 0o777


def permissions(bits: int, mode: str) -> int:
    """The permission bits of a file with git's mode: who may read it may execute it, or nobody may."""
    return bits | (bits & 0o444) >> 2 if mode == EXECUTABLE else bits & ~0o111


def _with_record_entries(
    worktree: Worktree,
    files: tuple[FileChange, ...],
    originals: dict[str, bytes | None],
    contents: dict[str, bytes | None],
    replaced: Mapping[str, FileChange],
) -> Iterator[FileChange]:
    """Plan what becomes of the files' lines in the installer's ``RECORD``, where they are true now."""
    if worktree.checkout or not is_installed(worktree.base, worktree.upstream):
        yield from files
        return
    base, upstream = worktree.base, worktree.upstream
    names = {upstream.installed(change.path) for change in files}
    known, lines = record_entries(base, upstream, names), record_lines(base, upstream, names)
    for change in files:
        name, original, content = upstream.installed(change.path), originals[change.path], contents[change.path]
        entry, line = known.get(name, RecordEntry()), lines.get(name, NO_LINE)
        if earlier := replaced.get(change.path):
            entry = RecordEntry(*(earlier.record_before if entry == earlier.record_after else entry))
            line = earlier.record_line if earlier.record_line != NO_LINE else line
        if content is not None and original is None and not entry.hash:
            yield change._replace(record_after=entry_of(content))
        elif original is not None and entry.describes(original):
            after = RecordEntry() if content is None else entry_of(content, entry)
            line = line if content is None else NO_LINE
            yield change._replace(record_before=entry, record_after=after, record_line=line)
        else:
            yield change


def with_disk_endings(path: str, content: bytes | None, crlf: dict[str, str]) -> bytes | None:
    """The bytes on disk of a file that git stores with LF, given those that are checked out with CRLF."""
    return content.replace(b"\n", b"\r\n") if content is not None and path in crlf else content


def _with_stored_endings(patch: PatchCommit, crlf: dict[str, str]) -> PatchCommit:
    contents = {
        path: content.replace(b"\r\n", b"\n") if content is not None and path in crlf else content
        for path, content in patch.contents.items()
    }
    return replace(patch, contents=contents)


def _with_commits(
    worktree: Worktree,
    checkout: Checkout,
    entries: Mapping[str, IndexEntry],
    commits: list[PatchCommit],
    branch: str,
    applied: Applied,
    signing: Signing,
    replaced: Mapping[str, FileChange],
) -> Applied:
    from patchtool.adapters.git.committing import commit_series

    repository_paths = {change.path: worktree.in_repository(change.path) for change in applied.files}
    created = {worktree.in_repository(path): NO_ENTRY for path in added_files(commits)}
    ours = {
        repository_paths[path]: IndexEntry(*change.entry_before)
        for path, change in replaced.items()
        if path in repository_paths and any(change.entry_before)
    }
    before = {**entries, **ours, **created}
    modes = {path: NEW_FILE if name in created else before[name].mode for path, name in repository_paths.items()}
    made, tree = commit_series(checkout, commits, lambda path: (modes[path], repository_paths[path]))
    if signing.wanted:
        made = sign(checkout, signing, made, commits)
    algorithm = "sha1" if len(made[-1]) == len(blob_id(b"")) else "sha256"
    after, set_modes = final_contents(commits), final_modes(commits)
    files = tuple(
        change._replace(
            entry_before=(entry.mode, entry.oid),
            entry_after=(
                (NO_ENTRY.mode, NO_ENTRY.oid)
                if (content := after[change.path]) is None
                else (set_modes.get(change.path, modes[change.path]), blob_id(content, algorithm))
            ),
        )
        for change in applied.files
        for entry in (before[repository_paths[change.path]],)
    )
    return applied._replace(files=files, branch=branch, commits=made, tree=tree)

"""Everything a write will change, worked out before anything does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters.git.commits import PatchCommit, blob_id, digest, final_contents, import_stream
from patchtool.adapters.worktree import obstacles
from patchtool.adapters.worktree.journal import Applied, FileChange
from patchtool.domain.errors import RefusedError

if TYPE_CHECKING:
    from patchtool.adapters.git.repository import Repository
    from patchtool.adapters.worktree.worktree import Worktree


class WritePlan(NamedTuple):
    """Everything that will change.

    Args:
        applied: What will be recorded.
        originals: Bytes on disk before, by path in the git layout.
        wanted: Bytes on disk after.
    """

    applied: Applied
    originals: dict[str, bytes]
    wanted: dict[str, bytes]


def make_plan(
    worktree: Worktree,
    commits: list[PatchCommit],
    repository: Repository | None,
    branch: str | None,
    release: str,
) -> WritePlan:
    """Look for obstacles, make the commits' objects, and say what is to happen; nothing refers to them yet.

    Args:
        worktree: The tree.
        commits: The rendered series, in order.
        repository: The person's, None for a plain folder.
        branch: Full name of the branch for the commits, None to edit files only.
        release: For the record.

    Raises:
        RefusedError: Something is in the way; names it.
    """
    paths = sorted(final_contents(commits))
    obstacles.refuse(worktree, obstacles.on_disk(worktree, paths))
    if repository:
        obstacles.refuse(worktree, obstacles.in_git(worktree, repository, paths, commit=branch is not None))
    originals = {path: worktree.raw(path) or b"" for path in paths}
    crlf = worktree.line_endings(originals)
    stored = [_with_stored_endings(patch, crlf) for patch in commits]
    wanted = final_contents(stored)
    files = tuple(
        _change(worktree, number, path, content, crlf) for number, (path, content) in enumerate(wanted.items())
    )
    patches = tuple((patch.trailer("Patchtool-Patch"), patch.trailer("Patchtool-Digest")) for patch in commits)
    applied = Applied(release, digest(commits), patches, files, head=worktree.head, head_branch=worktree.branch)
    if repository and branch:
        applied = _with_commits(worktree, stored, repository, branch, applied)
    shown = {path: _as_shown(path, content, crlf) for path, content in wanted.items()}
    return WritePlan(applied, originals, shown)


def _change(worktree: Worktree, number: int, path: str, content: bytes, crlf: dict[str, str]) -> FileChange:
    return FileChange(
        path,
        before=blob_id(worktree.read(path) or b""),
        after=blob_id(content),
        disk_before=blob_id(worktree.raw(path) or b""),
        disk_after=blob_id(_as_shown(path, content, crlf)),
        original=f"originals/{number}",
        mode=worktree.on_disk(path).stat().st_mode & 0o777,
    )


def _as_shown(path: str, content: bytes, crlf: dict[str, str]) -> bytes:
    return content.replace(b"\n", b"\r\n") if path in crlf else content


def _with_stored_endings(patch: PatchCommit, crlf: dict[str, str]) -> PatchCommit:
    contents = {
        path: content.replace(b"\r\n", b"\n") if path in crlf else content for path, content in patch.contents.items()
    }
    return replace(patch, contents=contents)


def _with_commits(
    worktree: Worktree, commits: list[PatchCommit], repository: Repository, branch: str, applied: Applied
) -> Applied:
    """Make the commits' objects; nothing refers to them yet."""
    base = applied.head or ""
    places = {change.path: worktree.in_repository(change.path) for change in applied.files}
    before = repository.entries(places.values())
    stream = import_stream(
        commits,
        base=base,
        when=repository.date(base),
        place=lambda path: (before[places[path]].mode, places[path]),
    )
    made = repository.make(stream)
    tip = repository.tip(branch)
    if tip not in (None, made[-1]):
        short = branch.removeprefix("refs/heads/")
        raise RefusedError(
            f"the branch {short} exists and has other commits",
            hint=f"rename it (git branch -m {short} NAME), or delete it (git branch -D {short})",
        )
    after = repository.blobs(made[-1], places.values())
    files = tuple(
        replace(
            change,
            entry_before=(before[place].mode, before[place].oid),
            entry_after=(after[place].mode, after[place].oid),
        )
        for change in applied.files
        for place in (places[change.path],)
    )
    tree = worktree.checkout.run("rev-parse", f"{made[-1]}^{{tree}}").decode().strip() if worktree.checkout else ""
    return replace(applied, files=files, branch=branch, commits=tuple(made), tree=tree)

"""What is in the way of writing to a tree: every reason is named before the first byte changes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters.git.commits import blob_id
from patchtool.domain.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from patchtool.adapters.git.repository import Entry, Repository
    from patchtool.adapters.worktree.worktree import Worktree

_REGULAR = ("100644", "100755")


class Blocker(NamedTuple):
    """One thing that is in the way.

    Args:
        what: Where and what, as the middle of a sentence.
        hint: How to get it out of the way.
    """

    what: str
    hint: str


def refuse(worktree: Worktree, found: Iterable[Blocker]) -> None:
    """Turn blockers into an error.

    Raises:
        RefusedError: There is one; names each.
    """
    blockers = list(found)
    if blockers:
        raise RefusedError(
            f"{worktree.root} cannot be written to: " + "; ".join(blocker.what for blocker in blockers),
            hint="; ".join(dict.fromkeys(blocker.hint for blocker in blockers)),
        )


def on_disk(worktree: Worktree, paths: Iterable[str]) -> Iterator[Blocker]:
    """What the file system has in the way of replacing those files."""
    for path in paths:
        problem = _wrong_place(worktree, path)
        if problem:
            yield problem
        elif not os.access(worktree.on_disk(path).parent, os.W_OK):
            yield Blocker(
                f"{worktree.on_disk(path).parent} is read-only",
                "make it writable, run as its owner, or use --output for a tree of your own",
            )


def _wrong_place(worktree: Worktree, path: str) -> Blocker | None:
    parts = path.split("/")
    if parts[0] != "python" or len(parts) < 3 or not {"", ".", "..", ".git"}.isdisjoint(parts):
        return Blocker(f"{path} is outside of python/sglang", "correct the patch's targets")
    place = worktree.base
    for part in parts[1:]:
        # A file system that ignores case finds Foo.py under the name foo.py, and git would see two files.
        if not place.is_dir() or part not in (entry.name for entry in place.iterdir()):
            return Blocker(f"{path} does not exist", "bring the tree to the release the series is for")
        place = place / part
        if place.is_symlink():
            return Blocker(f"{path} is reached through the symlink {place}", "give the tree it leads to with --tree")
        if (place / ".git").exists():
            return Blocker(f"{path} is in the nested repository {place}", "give that repository with --tree")
    return None if place.is_file() else Blocker(f"{path} is not a file", "correct the patch's targets")


def in_git(worktree: Worktree, repository: Repository, paths: list[str], *, commit: bool) -> Iterator[Blocker]:
    """What git has in the way of replacing those files.

    Staged changes of other files are in the way of commits only: ours would switch the branch under them.
    Files that are merely dirty or untracked never are.
    """
    under_way = repository.under_way()
    if under_way:
        yield Blocker(f"{under_way[0]} is under way", f"end it first ({under_way[1]})")
    places = {worktree.in_repository(path): path for path in paths}
    staged = [place for place in repository.staged() if commit or place in places]
    changed = [place for place in repository.changed(places) if place not in staged]
    for place in staged:
        yield Blocker(f"{place} has a change in the index", "commit it, or unstage it (git restore --staged)")
    for place in changed:
        yield Blocker(f"{place} has an uncommitted change", "commit it, or undo it (git restore)")
    entries = repository.entries(places)
    for place in places.keys() - {*staged, *changed}:
        yield from _odd_entry(worktree, places[place], entries.get(place))


def _odd_entry(worktree: Worktree, path: str, entry: Entry | None) -> Iterator[Blocker]:
    if entry is None or entry.mode not in _REGULAR:
        yield Blocker(f"{path} is not a file that git tracks", "commit it first, or use --no-commit on a plain copy")
    elif entry.pinned:
        hint = "clear it (git update-index --no-assume-unchanged --no-skip-worktree)"
        yield Blocker(f"{path} is marked assume-unchanged or skip-worktree", hint)
    elif not _stored_as_read(worktree, path, entry.oid):
        yield Blocker(
            f"{path} passes a filter or an encoding on its way into git, or has mixed line endings",
            "turn that attribute off for the file, or check it out anew with one line ending",
        )


def _stored_as_read(worktree: Worktree, path: str, oid: str) -> bool:
    """Whether we know how git turns the file on disk into its blob: not at all, or CRLF to LF."""
    raw = worktree.raw(path) or b""
    stored = worktree.read(path) or b""
    algorithm = "sha1" if len(oid) == len(blob_id(b"")) else "sha256"
    return blob_id(stored, algorithm) == oid and worktree.line_endings({path: raw}).get(path) != "mixed"

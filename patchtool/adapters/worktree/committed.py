"""Commits of a series at HEAD, known by their trailers: evidence without a record, as in a clone of a patched tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters.git.plumbing import Git

if TYPE_CHECKING:
    from patchtool.adapters.git.checkout import Checkout

_MOST = 500
"""Commits that are looked at; a series has some dozens."""
_TRAILERS = ("Patchtool-Patch", "Patchtool-Digest")
_FORMAT = "%x1f".join(["%H", *(f"%(trailers:key={key},valueonly,separator=%x2C)" for key in _TRAILERS)])


class CommittedSeries(NamedTuple):
    """The patches whose commits are at HEAD, with nothing between them.

    Args:
        below: The commit below the first.
        patches: Name and digest of every patch, in series order, as in `Applied`.
    """

    below: str
    patches: tuple[tuple[str, str], ...]


def committed_series(checkout: Checkout) -> CommittedSeries | None:
    """Find the commits of a series at HEAD; None where HEAD is another commit."""
    options = ("--first-parent", f"--max-count={_MOST}", f"--format={_FORMAT}")
    patches: list[tuple[str, str]] = []
    for line in checkout.run("log", *options, "HEAD", "--").decode(errors="replace").split("\n"):
        commit, name, digest = (*line.split("\x1f"), "", "")[:3]
        if not name:
            return CommittedSeries(commit, tuple(reversed(patches))) if commit and patches else None
        patches.append((name, digest))
    return None


def files_below(checkout: Checkout, below: str) -> dict[str, tuple[str, bytes] | None]:
    """Git's mode and the content, before a series, of the files that its commits change, by path in the repository."""
    flags = ("-r", "-z", "--name-only", "--no-renames")
    listed = checkout.run("diff-tree", *flags, below, "HEAD").decode("utf-8", "replace")
    names = [name for name in listed.split("\0") if name and "\n" not in name]
    git = Git(checkout.git_dir)
    entries = git.tree_entries(below, names)
    objects = git.objects(oid for _, oid in entries.values())
    found = {name: (mode, objects[oid][1]) for name, (mode, oid) in entries.items() if oid in objects}
    return {name: found.get(name) for name in names}

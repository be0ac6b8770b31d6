"""Commits of a series at HEAD, or below the person's own, known by their trailers.

They are evidence without a record, as in a clone of a patched tree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters.git.plumbing import Git

if TYPE_CHECKING:
    from patchtool.adapters.git.checkout import Checkout

_MOST = 500
"""Commits that are looked at; a series has some dozens."""
_TRAILERS = ("Patchtool-Patch", "Patchtool-Digest")
_FORMAT = "%x1f".join(["%H", "%P", *(f"%(trailers:key={key},valueonly,separator=%x2C)" for key in _TRAILERS)])


class CommittedSeries(NamedTuple):
    """The patches whose commits are in HEAD's history, with nothing between them.

    Args:
        below: The commit below the first.
        tip: The last of them; not HEAD where the person has committed since.
        patches: Name and digest of every patch, in series order, as in `Applied`.
    """

    below: str
    tip: str
    patches: tuple[tuple[str, str], ...]


def committed_series(checkout: Checkout) -> CommittedSeries | None:
    """Find the commits of a series in HEAD's history; None where there are none, or something was merged since."""
    options = ("--first-parent", f"--max-count={_MOST}", f"--format={_FORMAT}")
    patches: list[tuple[str, str]] = []
    tip = ""
    for line in checkout.run("log", *options, "HEAD", "--").decode(errors="replace").split("\n"):
        commit, parents, name, digest = (*line.split("\x1f"), "", "", "")[:4]
        if name:
            tip = tip or commit
            patches.append((name, digest))
        elif tip or " " in parents:
            return CommittedSeries(commit, tip, tuple(reversed(patches))) if tip and commit else None
    return None


def files_below(checkout: Checkout, series: CommittedSeries) -> dict[str, tuple[str, bytes] | None]:
    """Git's mode and the content, before a series, of the files that its commits change, by path in the repository."""
    names = _changed(checkout, series.below, series.tip)
    git = Git(checkout.git_dir)
    entries = git.tree_entries(series.below, names)
    objects = git.objects(oid for _, oid in entries.values())
    found = {name: (mode, objects[oid][1]) for name, (mode, oid) in entries.items() if oid in objects}
    return {name: found.get(name) for name in names}


def changed_since(checkout: Checkout, series: CommittedSeries) -> frozenset[str]:
    """Paths in the repository of the files that the person's own commits on top of a series change."""
    return frozenset(() if series.tip == checkout.head else _changed(checkout, series.tip, "HEAD"))


def _changed(checkout: Checkout, old: str, new: str) -> list[str]:
    listed = checkout.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new).decode("utf-8", "replace")
    return [name for name in listed.split("\0") if name and "\n" not in name]

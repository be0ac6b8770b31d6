"""The history of a person's branch, and the commits of a series in it, known by their messages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters.git.plumbing import UNKNOWN, Git

if TYPE_CHECKING:
    from collections.abc import Iterable

    from patchtool.adapters.git.checkout import Checkout

_MOST = 500
"""Commits that are looked at; a series has some dozens."""
# A squashed commit has the messages of all, which `git merge --squash` indents.
_PATCH = re.compile(r"^[ \t]*Patchtool-Patch: (\S+)\n[ \t]*Patchtool-Digest: (\S+)$", re.MULTILINE)
_REVERTS = re.compile(
    r"^[ \t]*This reverts commit ([0-9a-f]{40,64})(?:, reversing\s+changes made to ([0-9a-f]{40,64}))?", re.MULTILINE
)
MESSAGES = ("--topo-order", "-E", "--grep=Patchtool-Patch: |This reverts commit ")
"""Options of git for the commits of any series and for reverts, in all that was merged."""


class HistoryCommit(NamedTuple):
    """A commit of the history.

    Args:
        id: Its id.
        parents: Ids of its parents.
        patches: Name and digest of the patches that it is.
        reverts: Ids of the commits that it takes back.
    """

    id: str
    parents: tuple[str, ...]
    patches: tuple[tuple[str, str], ...]
    reverts: tuple[str, ...]


def read_history(checkout: Checkout, tip: str, *options: str) -> list[HistoryCommit]:
    """Read commits of a commit's history, the newest first."""
    form = "--format=%H%x1f%P%x1f%B"
    listed = checkout.run("log", "-z", f"--max-count={_MOST}", *options, form, tip, "--").decode(errors="replace")
    found = []
    for entry in filter(None, listed.split("\0")):
        commit, parents, message = entry.split("\x1f", 2)
        ids = tuple(parents.split())
        patches = tuple(_PATCH.findall(message)) if len(ids) == 1 else ()
        reverts = [each for pair in _REVERTS.findall(message) for each in _reverted_by(checkout, *pair)]
        found.append(HistoryCommit(commit, ids, patches, tuple(reverts)))
    return found


def newest_series(history: Iterable[HistoryCommit]) -> tuple[list[HistoryCommit], frozenset[str]]:
    """Find the commits of the newest series, the newest first, and ids of the commits that are reverted."""
    series: list[HistoryCommit] = []
    names: set[str] = set()
    reverted: set[str] = set()
    for commit in history:
        found = {name for name, _ in commit.patches}
        if commit.id not in reverted:
            reverted.update(commit.reverts)
        if found & names:
            break  # an older series
        if found:
            series.append(commit)
            names |= found if commit.id not in reverted else set()
    return series, frozenset(reverted)


def _reverted_by(checkout: Checkout, commit: str, kept: str) -> list[str]:
    """The commits that a revert takes back: one, or of a merge all that it brought to the parent that is kept."""
    if not kept:
        return [commit]
    git = Git(checkout.common_dir)
    listed = git.run("rev-list", commit, f"^{kept}", "--", answers=UNKNOWN)  # a message may name any commit
    return [commit] if listed.code else listed.stdout.decode().split()

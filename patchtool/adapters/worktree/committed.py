"""Commits of a series in HEAD's history, known by their messages, however they came there.

They are evidence without a record, as in a clone of a patched tree. The person may have rebased, cherry-picked,
squashed or reverted them, committed between them and on top of them, and merged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters.git.plumbing import Git
from patchtool.adapters.git.series_history import MESSAGES, newest_series, read_history

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from patchtool.adapters.git.checkout import Checkout
    from patchtool.adapters.git.series_history import HistoryCommit


class CommittedSeries(NamedTuple):
    """The patches whose commits are in HEAD's history.

    Args:
        below: The commit below the first.
        tip: The last of them; not HEAD where the person has committed or merged since.
        patches: Name and digest of every patch that was not reverted, in series order, as in `Applied`.
        commits: Their commits, the reverted ones too, in series order.
        mixed: Commits of the series that are more than one patch, and the person's between the first and the last.
        merged: Commits without the series that were merged with it, the newest first.
    """

    below: str
    tip: str
    patches: tuple[tuple[str, str], ...]
    commits: tuple[str, ...]
    mixed: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()


def committed_series(checkout: Checkout) -> CommittedSeries | None:
    """Find the commits of a series in HEAD's history; None where there are none, or all were reverted."""
    history = read_history(checkout, "HEAD", "--first-parent")
    series, reverted = newest_series(history)
    if any(len(commit.parents) > 1 for commit in _above_first(history, series)):
        # What was merged may have the series, or a part of it.
        history = read_history(checkout, "HEAD", *MESSAGES)
        series, reverted = newest_series(history)
        graph = _graph(checkout, series[-1].parents[0]) if series and series[-1].parents else {}
    else:
        graph = {commit.id: list(commit.parents) for commit in _above_first(history, series)}
    patches = [patch for commit in series[::-1] if commit.id not in reverted for patch in commit.patches]
    if not patches or not series[-1].parents:
        return None
    ids = [commit.id for commit in series]
    between, merged = _own(graph, ids, {commit.id for commit in history if commit.patches})
    squashed = [commit.id for commit in series if len(commit.patches) > 1]
    return CommittedSeries(
        series[-1].parents[0], ids[0], tuple(patches), tuple(ids[::-1]), (*squashed, *between), merged
    )


def _above_first(history: Sequence[HistoryCommit], series: Sequence[HistoryCommit]) -> list[HistoryCommit]:
    """The history down to the first commit of a series; all of it where there is no series."""
    ids = [commit.id for commit in history]
    return [*history[: ids.index(series[-1].id) + 1 if series else len(ids)]]


def _graph(checkout: Checkout, below: str) -> dict[str, list[str]]:
    """The parents of each commit in HEAD's history that is not in that of the commit below, the newest first."""
    listed = checkout.run("rev-list", "--topo-order", "--parents", "HEAD", f"^{below}", "--").decode()
    return {commit: parents for commit, *parents in map(str.split, listed.splitlines())}


def _own(
    graph: dict[str, list[str]], series: Sequence[str], patched: Collection[str]
) -> tuple[list[str], tuple[str, ...]]:
    """The commits between those of a series, and those without it that were merged with it.

    Args:
        graph: The parents of each commit down to the first of the series, the newest first.
        series: The commits of the series, the newest first.
        patched: All commits that are a patch of some series.
    """
    having = set(patched)
    merged: dict[str, None] = {}
    for commit in reversed(graph):
        if having.intersection((commit, *graph[commit])):
            having.add(commit)
            merged |= dict.fromkeys(p for p in graph[commit] if p in graph and p not in having)
    below_tip, between = {series[0]}, []
    for commit in graph:
        if commit in below_tip:
            below_tip.update(graph[commit])
            if commit in having and commit not in series:
                between.append(commit)
    return between, tuple(reversed(merged))


def files_below(checkout: Checkout, series: CommittedSeries) -> dict[str, tuple[str, bytes] | None]:
    """Git's mode and the content, without a series, of the files that its commits change, by path in the repository.

    That is as below the series, or as what was merged with it has the file, where that has another one.
    """
    git, names = Git(checkout.git_dir), _changed_by(checkout, series.commits)
    entries: Mapping[str, tuple[str, str]] = git.tree_entries(series.below, names)
    files: dict[str, tuple[str, str] | None] = {name: entries.get(name) for name in names}
    for commit in reversed(series.merged):
        there = git.tree_entries(commit, names)
        files |= {name: there.get(name) for name in names if there.get(name) != entries.get(name)}
    objects = git.objects(entry[1] for entry in files.values() if entry)
    return {
        name: (entry[0], objects[entry[1]][1]) if entry and entry[1] in objects else None
        for name, entry in files.items()
    }


def changed_since(checkout: Checkout, series: CommittedSeries) -> frozenset[str]:
    """Paths in the repository of the files that are not as the series' own commits left them."""
    since: list[str] = []
    if series.tip != checkout.head:
        options = ("-r", "-z", "--name-only", "--no-renames", series.tip, "HEAD")
        since = _names(checkout.run("diff-tree", *options))
    return frozenset([*since, *_changed_by(checkout, series.mixed)])


def _changed_by(checkout: Checkout, commits: Sequence[str]) -> list[str]:
    """The files that commits change, each against its first parent."""
    if not commits:
        return []
    options = ("--stdin", "-r", "-z", "--name-only", "--no-renames", "--no-commit-id", "-m")
    stdin = "".join(f"{commit}\n" for commit in commits).encode()
    return [*dict.fromkeys(_names(Git(checkout.git_dir).run("diff-tree", *options, stdin=stdin).stdout))]


def _names(listed: bytes) -> list[str]:
    return [name for name in listed.decode("utf-8", "replace").split("\0") if name and "\n" not in name]

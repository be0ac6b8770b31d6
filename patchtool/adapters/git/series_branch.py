"""The series as commits in a person's repository, and a branch for it on another commit; no working tree changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters.git.carrying import Carried, carry
from patchtool.adapters.git.plumbing import REGULAR, Git
from patchtool.adapters.git.repository import Repository
from patchtool.adapters.git.signing import UNSIGNED, sign, signing_of
from patchtool.domain.errors import InputError, RefusedError
from patchtool.domain.text_patch import SYMLINK

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from patchtool.adapters.git.checkout import Checkout
    from patchtool.adapters.git.commits import PatchCommit

_MOST = 1000
_HEADS = "refs/heads/"


class CarriedSeries(NamedTuple):
    """The commits of a series below HEAD.

    Args:
        base: The commit below the first.
        tip: The last.
        own: Ids of the commits on top of it, which are the person's; newest first.
    """

    base: str
    tip: str
    own: tuple[str, ...] = ()


class NewBranch(NamedTuple):
    """A branch that was made.

    Args:
        name: Its short name.
        tip: Its commit.
        kept: The short name that its earlier commits have now; empty where there were none, or the same.
        carried: The person's own commits on the series.
        unchanged: Whether it was there already, as it is.
        notes: What the user should know, one sentence each.
    """

    name: str
    tip: str
    carried: Carried
    kept: str = ""
    unchanged: bool = False
    notes: tuple[str, ...] = ()


def series_below_head(checkout: Checkout) -> CarriedSeries | None:
    """Find the commits of a series in the first parents of HEAD; None where there are none."""
    form = "--format=%H%x1f%(trailers:key=Patchtool-Patch,valueonly,separator=%x20)"
    listed = checkout.run("log", "--first-parent", f"--max-count={_MOST}", form, "HEAD", "--").decode(errors="replace")
    commits = [line.partition("\x1f")[::2] for line in listed.splitlines() if line]
    first = next((i for i, (_, patch) in enumerate(commits) if patch), None)
    if first is None:
        return None
    below = next((i for i in range(first, len(commits)) if not commits[i][1]), None)
    if below is None:
        return None
    return CarriedSeries(commits[below][0], commits[first][0], tuple(commit for commit, _ in commits[:first]))


def find_commit(checkout: Checkout, name: str) -> str:
    """Look up a tag, branch or commit in the person's repository.

    Raises:
        InputError: There is none.
    """
    git = Git(checkout.common_dir)
    for prefix in ("", "v"):
        parsed = git.run(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{prefix}{name}^{{commit}}", check=False
        )
        if not parsed.code:
            return parsed.stdout.decode().strip().splitlines()[-1]
    raise InputError(
        f"{checkout.root} has no tag, branch or commit {name!r}",
        hint=f"git -C {checkout.root} fetch --tags brings them",
    )


def refuse_missing(checkout: Checkout, commit: str, name: str, paths: Iterable[str]) -> None:
    """Refuse a partial clone that lacks files of a commit: fetching them is git's own, with the person's settings.

    Args:
        checkout: The person's checkout.
        commit: The commit.
        name: What the person called it.
        paths: The files that are needed.

    Raises:
        RefusedError: One of them, or a folder that leads to it, is not there.
    """
    git = Git(checkout.common_dir)
    # cat-file of a git before 2.45 does not report a missing object of a partial clone, it fails.
    listed = git.line("rev-list", "--objects", "--missing=print", "--no-object-names", "--no-walk", commit, "--")
    missing = {line[1:] for line in listed.splitlines() if line.startswith("?")}
    if not missing:
        return
    looked_up = git.run("ls-tree", "-z", "--full-tree", commit, "--", *sorted(paths), check=False)
    ids = {entry.split()[2] for entry in looked_up.stdout.decode(errors="replace").split("\0") if entry}
    if looked_up.code or ids & missing:
        raise RefusedError(
            f"{checkout.root} is a partial clone, without files of {name} that the series reads",
            hint=f"git -C {checkout.root} switch --detach {name}, and back with git switch -, brings them",
        )


def make_branch(
    checkout: Checkout, onto: str, commits: Sequence[PatchCommit], own: Sequence[str], name: str
) -> NewBranch:
    """Commit a series and a person's commits on a commit, as a branch; one of that name is kept as ``NAME@1``.

    Args:
        checkout: The person's checkout.
        onto: The commit to put the series on.
        commits: The series, in order; may be empty.
        own: The person's commits that are to follow, the oldest first.
        name: Short name of the branch.

    Raises:
        RefusedError: HEAD is on that branch, or another branch's name is in the way.
        EnvironmentFault: Git failed; no branch has changed.
    """
    from patchtool.adapters.git.committing import commit_series  # late: it loads GitPython

    repository, ref = Repository(checkout), _HEADS + name
    if taken := repository.branches_in_the_way(ref):
        raise RefusedError(f"the branch {taken[0]} is in the way of {name}", hint=f"git branch -m {taken[0]} NEW-NAME")
    target = checkout._replace(head=onto)
    paths = {path for commit in commits for path in commit.contents}
    entries = Git(checkout.common_dir).tree_entries(onto, paths)
    modes = {path: mode for path, (mode, _) in entries.items() if mode in (*REGULAR, SYMLINK)}
    made = commit_series(target, commits, lambda path: (modes.get(path, "100644"), path)) if commits else ()
    signing = signing_of(checkout)
    if signing.wanted and made:
        made = sign(target, signing, made, commits)
    notes = (UNSIGNED,) if signing.only_here else ()
    carried = carry(checkout, own, [onto, *made][-1])
    before, tip = repository.branch_tip(ref), carried.tip
    if before == tip:
        return NewBranch(name, tip, carried, unchanged=True, notes=notes)
    if checkout.branch == ref:
        raise RefusedError(
            f"{checkout.root} is on {name}, which would move", hint=f"git -C {checkout.root} switch BRANCH"
        )
    if folder := repository.worktree_on(ref):
        raise RefusedError(f"{folder} is on {name}, which would move", hint=f"git -C {folder} switch BRANCH")
    kept = _free_name(repository, name) if before else ""
    moves = f"update {ref} {tip} {before or '0' * len(onto)}\n"
    moves += f"create {_HEADS}{kept} {before}\n" if kept else ""
    checkout.run("update-ref", "-m", "patchtool: rebase", "--stdin", stdin=moves.encode(), durable=True)
    return NewBranch(name, tip, carried, kept, notes=notes)


def _free_name(repository: Repository, name: str) -> str:
    number = 1
    while repository.branch_tip(f"{_HEADS}{name}@{number}"):
        number += 1
    return f"{name}@{number}"

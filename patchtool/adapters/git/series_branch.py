"""The series as commits in a person's repository, and a branch for it on another commit; no working tree changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters.git.carrying import Carried, carry, unsigned_ids
from patchtool.adapters.git.commits import NEW_FILE
from patchtool.adapters.git.plumbing import REGULAR, UNKNOWN, Git
from patchtool.adapters.git.repository import Repository
from patchtool.adapters.git.series_history import MESSAGES, newest_series, read_history
from patchtool.adapters.git.signing import UNSIGNED, Signing, sign, signing_of
from patchtool.domain.errors import InputError, RefusedError
from patchtool.domain.text_patch import SYMLINK

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from patchtool.adapters.git.checkout import Checkout
    from patchtool.adapters.git.commits import PatchCommit
    from patchtool.adapters.git.series_history import HistoryCommit

HEADS = "refs/heads/"


class SeriesCommits(NamedTuple):
    """The commits of a series in the first parents of a commit.

    Args:
        base: The commit below the first.
        commits: Their ids, in series order.
        own: Ids of the commits on top of them and between them, which are the person's; the oldest first.
    """

    base: str
    commits: tuple[str, ...]
    own: tuple[str, ...] = ()

    @property
    def tip(self) -> str:
        """The last commit of the series."""
        return self.commits[-1]


class PreparedBranch(NamedTuple):
    """A branch as it is to be: its commits are stored, and no ref names them yet.

    Args:
        name: Its short name.
        tip: Its commit.
        carried: The person's own commits on the series.
        before: The commit that it is on now; empty where there is no such branch.
        notes: What the user should know, one sentence each.
    """

    name: str
    tip: str
    carried: Carried
    before: str = ""
    notes: tuple[str, ...] = ()

    @property
    def unchanged(self) -> bool:
        """Whether it is there already, as it is to be."""
        return self.tip == self.before


def series_below(checkout: Checkout, commit: str) -> SeriesCommits | None:
    """Find the commits of a series in the first parents of a commit; None where there are none.

    Raises:
        RefusedError: They are there in a way in which they cannot be told from the person's own.
    """
    history = read_history(checkout, commit, "--first-parent")
    series, _ = newest_series(history)
    if not series:
        merged, reverted = newest_series(read_history(checkout, commit, *MESSAGES) if _has_merges(history) else [])
        if found := next((each for each in merged if each.id not in reverted), None):
            raise RefusedError(
                f"the commits of the series, such as {found.id[:12]}, came here by a merge",
                hint=f"git -C {checkout.root} switch to the branch that was merged, and merge it again afterwards",
            )
        return None
    if squashed := next((each for each in series if len(each.patches) > 1), None):
        raise RefusedError(
            f"{squashed.id[:12]} is {len(squashed.patches)} patches in one commit, and may have more in it",
            hint=f"git -C {checkout.root} switch --detach {squashed.id[:12]}^, and apply the series there",
        )
    base, ids = next(iter(series[-1].parents), ""), [each.id for each in series]
    own = [each.id for each in history[: [each.id for each in history].index(ids[-1])] if each.id not in ids]
    return SeriesCommits(base, tuple(ids[::-1]), tuple(own[::-1])) if base else None


def _has_merges(history: Iterable[HistoryCommit]) -> bool:
    return any(len(each.parents) > 1 for each in history)


def find_commit(checkout: Checkout, name: str) -> str:
    """Look up a tag, branch or commit in the person's repository.

    Raises:
        InputError: There is none.
    """
    git = Git(checkout.common_dir)
    for tried in (name, f"v{name}", name.removeprefix("v")):
        parsed = git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{tried}^{{commit}}", answers=UNKNOWN)
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
    looked_up = git.run("ls-tree", "-z", "--full-tree", commit, "--", *sorted(paths), answers=UNKNOWN)
    ids = {entry.split()[2] for entry in looked_up.stdout.decode(errors="replace").split("\0") if entry}
    if looked_up.code or ids & missing:
        raise RefusedError(
            f"{checkout.root} is a partial clone, without files of {name} that the series reads",
            hint=f"git -C {checkout.root} switch --detach {name}, and back with git switch -, brings them",
        )


def prepare_branch(
    checkout: Checkout, onto: str, commits: Sequence[PatchCommit], own: Sequence[str], name: str, start: str = ""
) -> PreparedBranch:
    """Commit a series and a person's commits on a commit; commits of the series that are there already are kept.

    Args:
        checkout: The person's checkout.
        onto: The commit to put the series on.
        commits: The series, in order; may be empty.
        own: The person's commits that are to follow, the oldest first.
        name: Short name of the branch.
        start: The commit that has them; that of the branch where empty.

    Raises:
        RefusedError: Another branch's name is in the way.
        EnvironmentFault: Git failed; no branch has changed.
    """
    repository, ref = Repository(checkout), HEADS + name
    if taken := repository.branches_in_the_way(ref):
        raise RefusedError(f"the branch {taken[0]} is in the way of {name}", hint=f"git branch -m {taken[0]} NEW-NAME")
    before, signing = repository.branch_tip(ref) or "", signing_of(checkout)
    there = series_below(checkout, start or before) if start or before else None
    existing = there.commits if there and there.base == onto else ()
    made = _commit(checkout, onto, commits, existing, signing)
    carried = carry(checkout, own, [onto, *made][-1])
    return PreparedBranch(name, carried.tip, carried, before, (UNSIGNED,) if signing.only_here else ())


def _commit(
    checkout: Checkout, onto: str, commits: Sequence[PatchCommit], existing: Sequence[str], signing: Signing
) -> tuple[str, ...]:
    """Commit a series; the first of the existing commits that are the same but for a signature are not made again."""
    from patchtool.adapters.git.committing import commit_series  # late: it loads GitPython

    if not commits:
        return ()
    git = Git(checkout.common_dir)
    entries = git.tree_entries(onto, {path for commit in commits for path in commit.contents})
    modes = {path: mode for path, (mode, _) in entries.items() if mode in (*REGULAR, SYMLINK)}

    def place(path: str) -> tuple[str, str]:
        return modes.get(path, NEW_FILE), path

    made = commit_series(checkout._replace(head=onto), commits, place).commits
    unsigned = unsigned_ids(git, existing, onto)
    same = next((i for i, pair in enumerate(zip(made, unsigned)) if len({*pair}) > 1), min(len(made), len(unsigned)))
    kept, rest = tuple(existing[:same]), commits[same:]
    if not rest or (kept == made[:same] and not signing.wanted):  # what was made is on them already
        return (*kept, *made[same:])
    target = checkout._replace(head=[onto, *kept][-1])
    added = commit_series(target, rest, place).commits
    return (*kept, *(sign(target, signing, added, rest) if signing.wanted else added))


def is_ancestor(checkout: Checkout, commit: str, of: str) -> bool:
    """Whether a commit is another one, or below it."""
    return not Git(checkout.common_dir).run("merge-base", "--is-ancestor", commit, of, answers=UNKNOWN).code


def tree_id(checkout: Checkout, commit: str) -> str:
    """The id of a commit's tree."""
    return Git(checkout.common_dir).line("rev-parse", f"{commit}^{{tree}}")


def refuse_in_use(checkout: Checkout, name: str) -> None:
    """Refuse to move a branch under a working tree, or under an operation that will move it itself.

    Raises:
        RefusedError: HEAD or another worktree is on it, or a rebase or bisect will return to it.
    """
    repository, ref = Repository(checkout), HEADS + name
    if checkout.branch == ref:
        raise RefusedError(
            f"{checkout.root} is on {name}, which would move", hint=f"git -C {checkout.root} switch BRANCH"
        )
    if folder := repository.worktree_on(ref):
        raise RefusedError(f"{folder} is on {name}, which would move", hint=f"git -C {folder} switch BRANCH")
    if operation := repository.operation_on(ref):
        raise RefusedError(f"{operation[0]} of {name} is in progress", hint=f"end it first: {operation[1]}")


def free_name(checkout: Checkout, name: str) -> str:
    """The first of ``NAME@1``, ``NAME@2`` that no branch has."""
    repository, number = Repository(checkout), 1
    while repository.branch_tip(f"{HEADS}{name}@{number}"):
        number += 1
    return f"{name}@{number}"

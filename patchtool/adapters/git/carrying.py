"""A person's own commits on another commit, merged in an index of its own: no working tree, HEAD or index changes."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters.git.merging import CONFLICTS
from patchtool.adapters.git.plumbing import REGULAR, Git
from patchtool.adapters.scratch import scratch_folder
from patchtool.domain.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from patchtool.adapters.git.checkout import Checkout

_SHA1_DIGITS = 40
_HEADER = re.compile(rb"(?:tree|parent|gpgsig(?:-sha256)?|mergetag) .*\n(?: .*\n)*")


class Carried(NamedTuple):
    """Own commits on another commit.

    Args:
        tip: The last of them; the other commit where none was carried.
        conflict: The commit that could not be carried, after which none was; empty if all were.
        paths: The files in which it conflicts; empty for a merge commit.
        dropped: Commits that change nothing any more.
    """

    tip: str
    conflict: str = ""
    paths: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


def carry(checkout: Checkout, commits: Sequence[str], onto: str) -> Carried:
    """Put commits on another commit, with author, committer, dates and message as they are.

    Args:
        checkout: The person's checkout; it gets objects, and no ref.
        commits: The commits, the oldest first.
        onto: The commit to put them on.

    Raises:
        RefusedError: A partial clone lacks a file that both sides changed.
    """
    tip, dropped = onto, []
    with scratch_folder() as folder:
        for number, commit in enumerate(commits):
            git = Git(checkout.common_dir, variables={"GIT_INDEX_FILE": str(folder / f"index-{number}")})
            content = git.objects([commit])[commit][1]
            parents = re.findall(rb"^parent (.*)$", content.partition(b"\n\n")[0], re.MULTILINE)
            if len(parents) != 1:
                return Carried(onto, commit)
            git.run("read-tree", "-m", "-i", "--aggressive", parents[0].decode(), tip, commit)
            if paths := _unmerged(git, folder):
                return Carried(onto, commit, paths)
            tree = git.line("write-tree")
            if tree == git.line("rev-parse", f"{tip}^{{tree}}"):
                dropped.append(commit)
                continue
            tip = git.line("hash-object", "-t", "commit", "-w", "--stdin", stdin=_moved(content, tree, tip))
    return Carried(tip, dropped=tuple(dropped))


def unsigned_ids(git: Git, commits: Sequence[str], onto: str) -> list[str]:
    """The ids that commits in a row would have on a commit without their signatures; nothing is stored."""
    ids, objects = [onto], git.objects(commits)
    for commit in commits:
        content = objects[commit][1]
        tree = content.partition(b"\n")[0].removeprefix(b"tree ").decode()
        plain = _moved(content, tree, ids[-1])
        algorithm = "sha1" if len(onto) == _SHA1_DIGITS else "sha256"
        ids.append(hashlib.new(algorithm, b"commit %d\0%s" % (len(plain), plain), usedforsecurity=False).hexdigest())
    return ids[1:]


def _unmerged(git: Git, folder: Path) -> tuple[str, ...]:
    """Merge the files that both sides changed, and return those that conflict."""
    listed = git.run("ls-files", "--unmerged", "-z").stdout.decode("utf-8", "surrogateescape")
    stages: dict[str, dict[str, tuple[str, str]]] = {}
    for entry in filter(None, listed.split("\0")):
        header, _, path = entry.partition("\t")
        mode, oid, stage = header.split()
        stages.setdefault(path, {})[stage] = mode, oid
    return tuple(path for path, sides in stages.items() if not _merge(git, folder, path, sides))


def _merge(git: Git, folder: Path, path: str, sides: dict[str, tuple[str, str]]) -> bool:
    modes = {mode for mode, _ in sides.values()}
    if len(sides) != 3 or len(modes) != 1 or not modes <= REGULAR:
        return False
    contents = git.objects(oid for _, oid in sides.values())
    if any(oid not in contents for _, oid in sides.values()):
        raise RefusedError(
            f"{git.git_dir} is a partial clone, without {path} of a commit that is to be carried",
            hint="git switch --detach to the commit that the branch is for, and back with git switch -, brings it",
        )
    files = [folder / stage for stage in ("2", "1", "3")]
    for file in files:
        file.write_bytes(contents[sides[file.name][1]][1])
    if any(b"\0" in contents[oid][1] for _, oid in sides.values()):
        return False
    merged = git.run("merge-file", "-p", *map(str, files), answers=CONFLICTS)
    if merged.code:
        return False
    oid = git.line("hash-object", "-w", "--stdin", stdin=merged.stdout)
    entry = f"{modes.pop()} {oid} 0\t{path}\0".encode("utf-8", "surrogateescape")
    git.run("update-index", "-z", "--index-info", stdin=entry)
    return True


def _moved(content: bytes, tree: str, parent: str) -> bytes:
    """A commit object with another tree and parent; a signature, which would be wrong, is left out."""
    headers, blank, message = content.partition(b"\n\n")
    return f"tree {tree}\nparent {parent}\n".encode() + _HEADER.sub(b"", headers + b"\n")[:-1] + blank + message

"""Changes that somebody made as text: a diff, or a commit in a checkout, as old and new bytes of each file."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from patchtool.adapters.files import safe_join
from patchtool.adapters.git.plumbing import Git, sealed_environment
from patchtool.adapters.process import run
from patchtool.domain.errors import InputError
from patchtool.domain.ports import Tree

_ROOTS = ("", "python/", "python/sglang/")
"""What a diff's paths may lack to be in the git layout: it was made in a checkout, a wheel, or the package."""


@dataclass(frozen=True)
class TextChange:
    """One file that a change touches.

    Args:
        path: In the git layout.
        before: Old bytes.
        after: New bytes.
    """

    path: str
    before: bytes
    after: bytes


def of_diff(diff: bytes, tree: Tree, where: str) -> list[TextChange]:
    """Apply a diff to a tree's files in a folder of its own.

    Args:
        diff: Unified, as ``git diff`` or ``diff -u`` write it.
        tree: What it was made against.
        where: Its name, for messages.

    Raises:
        InputError: It touches no file of the tree, or does not apply.
    """
    listed = run(["git", "apply", "--numstat", "-z", "-"], stdin=diff, env=_outside(), check=False)
    if listed.code:
        raise InputError(f"{where} is no diff", cause=listed.stderr.decode(errors="replace").strip())
    paths = [part.split(b"\t")[-1].decode("utf-8", "surrogateescape") for part in listed.stdout.split(b"\0") if part]
    for root in _ROOTS:
        before = {root + path: tree.read(root + path) for path in paths}
        if before and all(data is not None for data in before.values()):
            return _applied(diff, root, {path: data or b"" for path, data in before.items()}, where)
    raise InputError(
        f"{where} changes {', '.join(paths) or 'nothing'}, which the pinned release does not have",
        hint="a diff with new, moved or deleted files cannot be drafted from",
    )


def _applied(diff: bytes, root: str, before: dict[str, bytes], where: str) -> list[TextChange]:
    with tempfile.TemporaryDirectory(prefix="patchtool-") as name:
        folder = Path(name)
        for path, data in before.items():
            target = safe_join(folder, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        at = folder / root
        done = run(["git", "apply", "-"], stdin=diff, cwd=at, env=_outside(folder), check=False)
        if done.code:
            cause = done.stderr.decode(errors="replace").strip()
            raise InputError(f"{where} does not apply to the pinned release", cause=cause)
        after = {path: safe_join(folder, path).read_bytes() for path in before}
    return [TextChange(path, data, after[path]) for path, data in before.items() if after[path] != data]


def _outside(folder: Path | None = None) -> dict[str, str]:
    """No repository around: inside one, ``git apply`` leaves paths out without a word."""
    ceiling = str((folder or Path(tempfile.gettempdir())).resolve().parent)
    return {**sealed_environment(), "GIT_CEILING_DIRECTORIES": ceiling, "GIT_DIR": "/dev/null"}


def of_commit(folder: Path, commit: str) -> list[TextChange]:
    """Read what a commit changes.

    Args:
        folder: In a checkout of SGLang.
        commit: Anything git resolves to a commit with one parent.

    Raises:
        InputError: There is no such commit, or it adds, moves or deletes files.
    """
    told = run(["git", "rev-parse", "--absolute-git-dir"], cwd=folder, env=sealed_environment(), check=False)
    if told.code:
        raise InputError(f"{folder} is no git checkout", hint="--tree names the checkout that has the commit")
    git = Git(Path(told.stdout.decode().strip()))
    known = git.run("rev-parse", "--quiet", "--verify", "--end-of-options", f"{commit}^{{commit}}", check=False)
    if known.code:
        raise InputError(f"{commit!r} is neither a file nor a commit in {folder}", hint="--tree names another checkout")
    tip = known.stdout.decode().strip()
    parents = git.line("rev-list", "--parents", "-n", "1", tip).split()[1:]
    if len(parents) != 1:
        raise InputError(f"{commit} has {len(parents)} parents, a draft needs a commit with one")
    listed = git.run("diff-tree", "-r", "-z", "--name-status", "--no-renames", parents[0], tip).stdout.decode()
    words = listed.split("\0")[:-1]
    changes = list(zip(words[::2], words[1::2]))
    for status, path in changes:
        if status != "M" and path.endswith(".py"):
            raise InputError(f"{commit} adds or deletes {path}", hint="a draft can only change files that are there")
    paths = [path for status, path in changes if status == "M" and path.endswith(".py")]
    names = [f"{side}:{path}" for path in paths for side in (parents[0], tip)]
    found = git.objects(names)
    return [TextChange(p, found[f"{parents[0]}:{p}"][1], found[f"{tip}:{p}"][1]) for p in paths]

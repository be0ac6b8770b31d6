"""Read a change to draft a patch from, a diff or a commit, as old and new bytes of each file."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from patchtool.adapters.files import safe_join
from patchtool.adapters.git.commit_tree import CommitTree
from patchtool.adapters.git.plumbing import Git, sealed_environment
from patchtool.adapters.process import run
from patchtool.domain.errors import InputError
from patchtool.domain.ports import Tree

_PREFIXES = ("", "python/", "python/sglang/")
"""Prefixes from a diff's paths to the git layout: of a diff made in a checkout, a wheel, or the package."""


@dataclass(frozen=True)
class TextChange:
    """One changed file.

    Args:
        path: In the git layout.
        before: Old bytes.
        after: New bytes.
    """

    path: str
    before: bytes
    after: bytes


def changes_in_diff(diff: bytes, tree: Tree, where: str) -> list[TextChange]:
    """Apply a diff to copies of a tree's files.

    Args:
        diff: Unified, as ``git diff`` or ``diff -u`` write it.
        tree: The tree that it was made against.
        where: The diff's name, for messages.

    Raises:
        InputError: It changes no file of the tree, or does not apply.
    """
    listed = run(["git", "apply", "--numstat", "-z", "-"], stdin=diff, env=_no_repository(), check=False)
    if listed.code:
        raise InputError(f"{where} is not a diff", cause=listed.stderr.decode(errors="replace").strip())
    paths = [part.split(b"\t")[-1].decode("utf-8", "surrogateescape") for part in listed.stdout.split(b"\0") if part]
    for prefix in _PREFIXES:
        before = {prefix + path: tree.read(prefix + path) for path in paths}
        if before and all(data is not None for data in before.values()):
            return _apply(diff, prefix, {path: data or b"" for path, data in before.items()}, where)
    raise InputError(
        f"{where} changes {', '.join(paths) or 'nothing'}, which the pinned release does not have",
        hint="a draft needs a diff that only changes existing files",
    )


def _apply(diff: bytes, prefix: str, before: dict[str, bytes], where: str) -> list[TextChange]:
    with tempfile.TemporaryDirectory(prefix="patchtool-") as name:
        folder = Path(name)
        for path, data in before.items():
            target = safe_join(folder, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        applied = run(["git", "apply", "-"], stdin=diff, cwd=folder / prefix, env=_no_repository(folder), check=False)
        if applied.code:
            cause = applied.stderr.decode(errors="replace").strip()
            raise InputError(f"{where} does not apply to the pinned release", cause=cause)
        after = {path: safe_join(folder, path).read_bytes() for path in before}
    return [TextChange(path, data, after[path]) for path, data in before.items() if after[path] != data]


def _no_repository(folder: Path | None = None) -> dict[str, str]:
    """Hide an enclosing repository: inside one, ``git apply`` silently skips paths."""
    ceiling = str((folder or Path(tempfile.gettempdir())).resolve().parent)
    return {**sealed_environment(), "GIT_CEILING_DIRECTORIES": ceiling, "GIT_DIR": "/dev/null"}


def changes_in_commit(folder: Path, commit: str) -> list[TextChange]:
    """Read the Python files that a commit changes.

    Args:
        folder: In a checkout of SGLang.
        commit: A revision that git resolves to a commit with one parent.

    Raises:
        InputError: There is no such commit, or it adds, moves or deletes files.
    """
    located = run(["git", "rev-parse", "--absolute-git-dir"], cwd=folder, env=sealed_environment(), check=False)
    if located.code:
        raise InputError(f"{folder} is not a git checkout", hint="name the checkout that has the commit with --tree")
    git = Git(Path(located.stdout.decode().strip()))
    resolved = git.run("rev-parse", "--quiet", "--verify", "--end-of-options", f"{commit}^{{commit}}", check=False)
    if resolved.code:
        raise InputError(
            f"{commit!r} is neither a file nor a commit in {folder}", hint="name another checkout with --tree"
        )
    tip = resolved.stdout.decode().strip()
    parents = git.line("rev-list", "--parents", "-n", "1", tip).split()[1:]
    if len(parents) != 1:
        raise InputError(f"{commit} has {len(parents)} parents, a draft needs a commit with exactly one")
    listed = git.run("diff-tree", "-r", "-z", "--name-status", "--no-renames", parents[0], tip).stdout.decode()
    fields = listed.split("\0")[:-1]
    changes = list(zip(fields[::2], fields[1::2]))
    for status, path in changes:
        if status != "M" and path.endswith(".py"):
            raise InputError(f"{commit} adds or deletes {path}", hint="a draft can only change existing files")
    paths = [path for status, path in changes if status == "M" and path.endswith(".py")]
    before, after = (CommitTree(git, commit).read_many(paths) for commit in (parents[0], tip))
    return [TextChange(path, data, after[path]) for path, data in before.items() if path in after]

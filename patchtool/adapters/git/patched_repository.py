"""Build a patched tree of our own: a git repository with the upstream commit and one commit per patch."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from patchtool.adapters.files import LOCK_TIMEOUT, atomic_write, locked
from patchtool.adapters.git.commits import PatchCommit, Written, digest, final_contents, import_stream
from patchtool.adapters.git.plumbing import Git
from patchtool.domain.errors import EnvironmentFault, RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_RECORD = "patchtool.json"
_HINT = "make room there, or choose another folder with --output"
# Running the tree must not make it look edited.
_EXCLUDE = b"__pycache__/\n*.pyc\n"


@dataclass(frozen=True)
class _Record:
    """What an earlier run built.

    Args:
        key: Of everything it was built from.
        branch: Short name.
        commits: Ids of the patches' commits.
        head: The last of them, or the upstream commit.
        tree: Its tree.
    """

    key: str
    branch: str
    commits: tuple[str, ...]
    head: str
    tree: str


def write_output(
    store_git_dir: Path,
    base_commit: str,
    commits: Sequence[PatchCommit],
    dest: Path,
    *,
    branch: str,
    lock_timeout: float = LOCK_TIMEOUT,
) -> Written:
    """Build the patched tree, or leave it alone where it is what is wanted already.

    Args:
        store_git_dir: The bare repository that holds the upstream commit.
        base_commit: That commit's id.
        commits: The rendered series, in order; may be empty.
        dest: Where the tree is to be; our own earlier output there is replaced while nobody has edited it.
        branch: Short name of the branch to leave the tree on, ``patchtool/<release>``.
        lock_timeout: Seconds to wait for another run.

    Raises:
        RefusedError: Something else, or an edited output, is at ``dest``; names it.
        EnvironmentFault: Git, the disk or another run stood in the way; ``dest`` is as before.
    """
    dest = dest.absolute()
    key = hashlib.sha256(f"{base_commit} {branch} {digest(commits)}".encode()).hexdigest()
    there = _wanted_one(dest, key)
    # What a killed run left beside it is cleared up under the lock.
    if there and not any(left.exists() for left in _beside(dest)):
        return there
    if not there:
        _refuse_foreign(dest)
    try:
        dest.parent.mkdir(parents=True, exist_ok=True)
        with locked(dest.with_name(f".{dest.name}.lock"), lock_timeout):
            return _replace(Git(store_git_dir), base_commit, commits, dest, key, branch)
    except OSError as error:
        raise EnvironmentFault(f"{dest} cannot be written", hint=_HINT, cause=str(error)) from error


def _replace(store: Git, base: str, commits: Sequence[PatchCommit], dest: Path, key: str, branch: str) -> Written:
    """Build beside the place and swap; under the lock, so everything is looked at again."""
    new, old = _beside(dest)
    _settle(dest, new, old)
    there = _wanted_one(dest, key)
    if there:
        return there
    _refuse_foreign(dest)
    try:
        record = _build(store, base, commits, new, key, branch)
        _swap(dest, new, old)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return Written(dest, tuple(final_contents(commits)), record.commits, branch, tree=record.tree)


def _beside(dest: Path) -> tuple[Path, Path]:
    """Where the next tree is built, and where the earlier one waits for its end."""
    return dest.with_name(f".{dest.name}.patchtool-new"), dest.with_name(f".{dest.name}.patchtool-old")


def _wanted_one(dest: Path, key: str) -> Written | None:
    """The tree that is there, where it is what is wanted; two files and one process tell."""
    record = _load(dest)
    if record is None or record.key != key or not _is_intact(dest, record, untracked=False):
        return None
    return Written(dest, (), record.commits, record.branch, unchanged=True, tree=record.tree)


def _refuse_foreign(dest: Path) -> None:
    """Refuse to replace anything that is not our own output as we left it."""
    hint = f"move {dest.name} away, or choose another folder with --output"
    if dest.is_symlink() or (dest.exists() and not dest.is_dir()):
        raise RefusedError(f"{dest} is in the way: it is not a folder", hint=hint)
    if not dest.exists() or not any(dest.iterdir()):
        return
    record = _load(dest)
    if record is None:
        raise RefusedError(f"{dest} is in the way: it was not written by patchtool", hint=hint)
    if not _is_intact(dest, record, untracked=True):
        raise RefusedError(f"{dest} is in the way: it was edited, or commits were added, since we wrote it", hint=hint)


def _is_intact(dest: Path, record: _Record, *, untracked: bool) -> bool:
    flags = ("--porcelain=v2", "--branch", "-z", f"--untracked-files={'all' if untracked else 'no'}")
    # Threads that look ahead cost more processor time than they save here.
    status = Git(dest / ".git", dest).run("-c", "core.preloadIndex=false", "status", *flags, check=False)
    lines = [line for line in status.stdout.decode(errors="surrogateescape").split("\0") if line]
    wanted = {f"# branch.oid {record.head}", f"# branch.head {record.branch}"}
    return status.code == 0 and set(lines) == wanted


def _load(dest: Path) -> _Record | None:
    file = dest / ".git" / _RECORD
    try:
        if file.stat().st_uid != os.geteuid():
            # Git would run what its configuration says.
            return None
        told = json.loads(file.read_bytes())
        return _Record(told["key"], told["branch"], tuple(told["commits"]), told["head"], told["tree"])
    except (OSError, ValueError, KeyError, TypeError):
        # Without a record of ours it is somebody else's, whatever it is.
        return None


def _build(store: Git, base: str, commits: Sequence[PatchCommit], new: Path, key: str, branch: str) -> _Record:
    """Make the whole repository in a folder beside its place."""
    git_dir = new / ".git"
    Git(None).run("init", "--quiet", "--template=", str(new))
    # Packing from store to pack is four times as fast as a fetch, which unpacks and indexes anew.
    flags = ("--revs", "--quiet", "--window=0", "--delta-base-offset")
    store.run("pack-objects", *flags, str(git_dir / "objects" / "pack" / "pack"), stdin=f"{base}\n".encode())
    modes = modes_of(store, base, commits)
    when = store.run("log", "-1", "--format=%ct +0000", base, "--").stdout.decode().strip()
    git = Git(git_dir, new)
    ref = f"refs/heads/{branch}"
    git.run("update-ref", ref, base)
    git.run("symbolic-ref", "HEAD", ref)
    made: tuple[str, ...] = ()
    if commits:
        stream = import_stream(commits, base=base, when=when, place=lambda path: (modes[path], path), ref=ref)
        made = tuple(
            git.run("fast-import", "--quiet", "--done", "--date-format=raw", stdin=stream).stdout.decode().split()
        )
    git.run("-c", "checkout.workers=2", "read-tree", "--reset", "-u", "HEAD")
    _age(new)
    git.run("update-index", "-q", "--refresh")
    record = _Record(key, branch, made, made[-1] if made else base, git.line("rev-parse", "HEAD^{tree}"))
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "info" / "exclude").write_bytes(_EXCLUDE)
    told = {"schema": 1, "key": key, "branch": branch, "commits": made, "head": record.head, "tree": record.tree}
    atomic_write(git_dir / _RECORD, json.dumps(told, indent=1).encode())
    return record


def _age(new: Path) -> None:
    """Make the files older than the index, or git reads all of them again whenever it is asked for changes.

    Source: gitformat-index and racy-git in git's documentation; an index that is as old as a file proves nothing.
    """
    when = int(time.time()) - 2
    for folder, names, files in os.walk(new):
        names[:] = [name for name in names if name != ".git"]
        for name in files:
            os.utime(os.path.join(folder, name), (when, when), follow_symlinks=False)  # noqa: PTH118 -- thousands


def modes_of(store: Git, base: str, commits: Sequence[PatchCommit]) -> dict[str, str]:
    """The mode that each file the commits touch has upstream, by path.

    Raises:
        RefusedError: A file is not there.
    """
    paths = list(final_contents(commits))
    if not paths:
        return {}
    listed = store.run("ls-tree", "-z", "--full-tree", base, "--", *paths).stdout
    entries = (entry.split("\t", 1) for entry in listed.decode(errors="surrogateescape").split("\0") if entry)
    modes = {path: facts.split()[0] for facts, path in entries}
    missing = [path for path in paths if modes.get(path) not in ("100644", "100755")]
    if missing:
        raise RefusedError(
            f"the upstream commit {base} has no file {', '.join(missing)}", hint="correct the patch's targets"
        )
    return modes


def _settle(dest: Path, new: Path, old: Path) -> None:
    """Clear up after a run that was killed: what stood there comes back unless its successor is in place."""
    if old.exists() and not dest.exists():
        old.rename(dest)
    for left in (new, old):
        if left.exists():
            shutil.rmtree(left)


def _swap(dest: Path, new: Path, old: Path) -> None:
    if dest.exists():
        dest.rename(old)
    try:
        new.rename(dest)
    except OSError:
        if old.exists():
            old.rename(dest)
        raise
    shutil.rmtree(old, ignore_errors=True)

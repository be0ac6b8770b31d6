"""Build ``--output``: a git repository with the upstream commit and one commit per patch."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from contextlib import suppress
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from patchtool.adapters.files import LOCK_TIMEOUT, atomic_write, locked, made_folder
from patchtool.adapters.folders import uninterrupted
from patchtool.adapters.git.commits import (
    NEW_FILE,
    PatchCommit,
    WriteResult,
    added_files,
    digest,
    final_contents,
    import_stream,
)
from patchtool.adapters.git.output_record import RECORD, OutputRecord, read_output_record
from patchtool.adapters.git.plumbing import NO, REGULAR, UNKNOWN, Git
from patchtool.adapters.identity import is_signed, sign
from patchtool.domain.errors import EnvironmentFault, RefusedError
from patchtool.domain.text_patch import SYMLINK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

_HINT = "make room there, or choose another folder with --output"
# Running the tree must not make it look edited.
_EXCLUDE = b"__pycache__/\n*.pyc\n"


def write_output(
    store_git_dir: Path,
    base_commit: str,
    commits: Sequence[PatchCommit],
    dest: Path,
    *,
    branch: str,
    prepare: Callable[[], None] | None = None,
    lock_timeout: float = LOCK_TIMEOUT,
) -> WriteResult:
    """Build the patched tree, unless the one that is there is up to date.

    Args:
        store_git_dir: The bare repository that holds the upstream commit.
        base_commit: That commit's id.
        commits: The rendered series, in order; may be empty.
        dest: The tree's folder; an output of an earlier run is replaced unless it was edited.
        branch: Short name of the branch that the tree is left on, ``patchtool/<release>``.
        prepare: Brings files of the upstream commit that the bare repository lacks; called before it is built.
        lock_timeout: Seconds to wait for another run.

    Raises:
        RefusedError: Something else, or an edited output, is at ``dest``; names it.
        EnvironmentFault: Git or the disk failed, or another run holds the lock; ``dest`` is as before.
    """
    dest = dest.absolute()
    key = hashlib.sha256(f"{base_commit} {branch} {digest(commits)}".encode()).hexdigest()
    current = _up_to_date(dest, key)
    # The leftovers of a killed run are removed under the lock.
    if current and not any(folder.exists() for folder in _build_folders(dest)):
        return current
    if not current:
        _refuse_foreign(dest)
    try:
        with made_folder(dest.parent), locked(dest.parent, lock_timeout):
            return _replace(Git(store_git_dir), base_commit, commits, dest, key, branch, prepare)
    except OSError as error:
        raise EnvironmentFault(f"{dest} cannot be written", hint=_HINT, cause=error.strerror or str(error)) from error


def _replace(
    store: Git,
    base: str,
    commits: Sequence[PatchCommit],
    dest: Path,
    key: str,
    branch: str,
    prepare: Callable[[], None] | None,
) -> WriteResult:
    """Build beside ``dest`` and swap; the caller holds the lock, so everything is checked again."""
    new, old = _build_folders(dest)
    _recover(dest, new, old)
    current = _up_to_date(dest, key)
    if current:
        return current
    _refuse_foreign(dest)
    if prepare is not None:
        prepare()
    try:
        record = _build(store, base, commits, new, key, branch)
        with uninterrupted():
            _swap(dest, new, old)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return WriteResult(dest, tuple(final_contents(commits)), record.commits, branch, tree=record.tree)


def _build_folders(dest: Path) -> tuple[Path, Path]:
    """Where the new tree is built, and where the old one is moved before it is deleted."""
    return dest.with_name(f".{dest.name}.patchtool-new"), dest.with_name(f".{dest.name}.patchtool-old")


def _up_to_date(dest: Path, key: str) -> WriteResult | None:
    """The result for the tree at ``dest`` if nothing is to be done; needs one git process."""
    record = read_output_record(dest)
    # Of a record that came with a tree, nothing is believed: the tree is built again.
    if record is None or record.key != key or not is_signed(record.signed, record.signature):
        return None
    if not _is_intact(dest, record, untracked=False):
        return None
    return WriteResult(dest, (), record.commits, record.branch, unchanged=True, tree=record.tree)


def _refuse_foreign(dest: Path) -> None:
    """Refuse to replace anything but an unedited output."""
    hint = f"move {dest.name} away, or choose another folder with --output"
    if dest.is_symlink() or (dest.exists() and not dest.is_dir()):
        raise RefusedError(f"{dest} is in the way: it is not a folder", hint=hint)
    if not dest.exists() or not any(dest.iterdir()):
        return
    record = read_output_record(dest)
    if record is None:
        raise RefusedError(f"{dest} is in the way: it was not written by patchtool", hint=hint)
    if not _is_intact(dest, record, untracked=True):
        raise RefusedError(
            f"{dest} is in the way: it was edited, or commits were added, since patchtool wrote it", hint=hint
        )


def _is_intact(dest: Path, record: OutputRecord, *, untracked: bool) -> bool:
    flags = ("--porcelain=v2", "--branch", "-z", f"--untracked-files={'all' if untracked else 'no'}")
    # The threads that preload the index cost more processor time than they save here.
    status = Git(dest / ".git", dest).run("-c", "core.preloadIndex=false", "status", *flags, answers=UNKNOWN)
    lines = [line for line in status.stdout.decode(errors="surrogateescape").split("\0") if line]
    unedited = {f"# branch.oid {record.head}", f"# branch.head {record.branch}"}
    return status.code == 0 and set(lines) == unedited


def _build(store: Git, base: str, commits: Sequence[PatchCommit], new: Path, key: str, branch: str) -> OutputRecord:
    """Build the whole repository in a new folder."""
    git_dir = new / ".git"
    Git(None).run("init", "--quiet", "--template=", str(new))
    _pack(store, git_dir, base)
    if b"\nparent " in store.objects([base])[base][1].partition(b"\n\n")[0]:
        (git_dir / "shallow").write_text(f"{base}\n")
    modes = modes_of(store, base, commits)
    when = store.run("log", "-1", "--format=%ct +0000", base, "--").stdout.decode().strip()
    git = Git(git_dir, new)
    git.write_files_raw()
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
    _set_older_times(new)
    _verify(git, new, commits)
    record = OutputRecord(key, branch, made, made[-1] if made else base, git.line("rev-parse", "HEAD^{tree}"))
    with suppress(EnvironmentFault):  # where no identity can be kept, the tree is built again each time
        record = replace(record, signature=sign(record.signed))
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "info" / "exclude").write_bytes(_EXCLUDE)
    atomic_write(git_dir / RECORD, json.dumps({"schema": 1, **asdict(record)}, indent=1).encode())
    return record


def _pack(store: Git, git_dir: Path, base: str) -> None:
    """Pack a commit of the store straight into the new repository; a fetch would index the pack again.

    Git writes a pack in the repository that it runs in and renames it, so it runs in the new one, which reads from the
    store meanwhile: the two may be on different file systems.
    """
    alternates = git_dir / "objects" / "info" / "alternates"
    alternates.parent.mkdir(exist_ok=True)
    assert store.git_dir is not None  # noqa: S101 -- the store is one
    alternates.write_bytes(os.fsencode(f"{store.git_dir.resolve() / 'objects'}\n"))
    flags = ("--revs", "--quiet", "--window=0", "--delta-base-offset")
    # Its history, if it has one, stays where it is.
    selection = f"--shallow {base}\n{base}\n".encode()
    Git(git_dir).run("pack-objects", *flags, str(git_dir / "objects" / "pack" / "pack"), stdin=selection)
    alternates.unlink()


def _verify(git: Git, new: Path, commits: Sequence[PatchCommit]) -> None:
    """Compare every file on disk with what is committed, and the patched ones with what was rendered.

    Raises:
        EnvironmentFault: They differ; names the files.
    """
    # The times of all files were changed, so git reads them again.
    refreshed = git.run("update-index", "--refresh", answers=NO)
    differing = refreshed.stdout.decode(errors="replace").splitlines() + [
        path for path, data in final_contents(commits).items() if _bytes_of(new / path) != data
    ]
    if refreshed.code or differing:
        raise EnvironmentFault(
            "the tree does not have the bytes that were rendered",
            hint="check the disk, then run it again; nothing was changed",
            cause="\n".join(differing[:5]) or refreshed.stderr.decode(errors="replace"),
        )


def _bytes_of(file: Path) -> bytes | None:
    if file.is_symlink():
        return os.fsencode(file.readlink())
    return file.read_bytes() if file.is_file() else None


def _set_older_times(new: Path) -> None:
    """Make the files older than the index: git reads a file again whenever the index is as old as the file.

    Source: racy-git in git's documentation.
    """
    when = int(time.time()) - 2
    for folder, names, files in os.walk(new):
        names[:] = [name for name in names if name != ".git"]
        for name in files:
            os.utime(os.path.join(folder, name), (when, when), follow_symlinks=False)  # noqa: PTH118 -- thousands of files


def modes_of(store: Git, base: str, commits: Sequence[PatchCommit]) -> dict[str, str]:
    """Find the upstream mode of each file that the commits change, by path; created files are regular.

    Raises:
        RefusedError: Upstream does not have a file.
    """
    paths = list(final_contents(commits))
    entries = store.tree_entries(base, paths)
    modes = {path: mode for path, (mode, _) in entries.items() if mode in (*REGULAR, SYMLINK)}
    modes |= dict.fromkeys(added_files(commits) - modes.keys(), NEW_FILE)
    missing = [path for path in paths if path not in modes]
    if missing:
        raise RefusedError(
            f"the upstream commit {base} has no file {', '.join(missing)}", hint="correct the patch's targets"
        )
    return modes


def _recover(dest: Path, new: Path, old: Path) -> None:
    """Restore the old tree if a killed run had not moved the new one into place, and remove its leftovers."""
    if old.exists() and not dest.exists():
        old.rename(dest)
    for folder in (new, old):
        if folder.exists():
            shutil.rmtree(folder)


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

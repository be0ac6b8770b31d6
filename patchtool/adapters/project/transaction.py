"""Write several files of a folder as one transaction, which a later run rolls back or finishes after a kill.

The journal is written first. Then every new file is staged beside the old one and every old one gets a second name, so
that neither writing nor rolling back needs space; then the new files are renamed over the old ones. Renaming the
journal completes the transaction. See ci/adr/0014.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from patchtool.adapters.files import (
    LOCK_TIMEOUT,
    atomic_write,
    locked,
    safe_join,
    stage,
    staged_name,
    sync_folder,
)
from patchtool.adapters.folders import uninterrupted
from patchtool.domain.errors import EnvironmentFault, PatchtoolError

_JOURNAL = ".patchtool-writing"
_WRITTEN = ".patchtool-written"
_SCHEMA = 2
_NEW_FILE_MODE = 0o644


class _Change(NamedTuple):
    """One file of a transaction.

    Args:
        path: Below the folder.
        before: SHA-256 of the old bytes, hex; empty for a file that is created.
        after: The same of the new bytes; empty for a file that is removed.
    """

    path: str
    before: str
    after: str


@contextmanager
def writing_lock(root: Path, timeout: float = LOCK_TIMEOUT) -> Iterator[tuple[str, ...]]:
    """Hold a folder's lock for reading and then writing, after ending what a killed run left.

    Yields:
        Sentences for the user on what was rolled back or finished.

    Raises:
        EnvironmentFault: Another run holds the lock for longer than `timeout` seconds, or old files cannot be restored.
    """
    with locked(root, timeout):
        try:
            with uninterrupted():
                notes = _recover(root)
        except OSError as error:
            raise EnvironmentFault(
                f"an earlier run was killed while it wrote to {root}, and the old files cannot be restored",
                hint="make it writable, or make room there; then run it again",
                cause=str(error),
            ) from error
        yield notes


@contextmanager
def reading_lock(root: Path, timeout: float = LOCK_TIMEOUT) -> Iterator[tuple[str, ...]]:
    """Keep a folder's files as they are while several of them are read, after ending what a killed run left.

    Yields:
        Sentences for the user on what was rolled back or finished.

    Raises:
        EnvironmentFault: As `writing_lock`.
    """
    notes: tuple[str, ...] = ()
    with suppress(FileNotFoundError):
        if _left(root):
            with writing_lock(root, timeout) as notes:
                pass
        with locked(root, timeout, shared=True):
            yield notes


def write_all(root: Path, contents: Mapping[str, bytes | None]) -> list[str]:
    """Write every file, or none; the caller holds the folder's lock.

    Permissions, owner, extended attributes and links inside of the folder stay. Folders that lose their last file go.

    Args:
        root: The folder.
        contents: New bytes by path below it; None removes the file.

    Returns:
        Paths that changed.

    Raises:
        EnvironmentFault: A file cannot be written; all are as before.
    """
    targets = {path: _target(root, path) for path in contents}
    before = {path: file.read_bytes() if file.is_file() else None for path, file in targets.items()}
    changed = [path for path, data in contents.items() if before[path] != data]
    if not changed:
        return []
    changes = [_Change(path, _digest(before[path]), _digest(contents[path])) for path in changed]
    folders = _missing_folders(root, [targets[path].parent for path in changed])
    with uninterrupted():
        try:
            _write_journal(root, changes, folders)
            _write(root, changes, folders, contents)
            (root / _JOURNAL).rename(root / _WRITTEN)
        except (OSError, PatchtoolError) as error:
            raise _failed(root, error) from error
        for _ in range(2):  # an error may pass; else the next run removes what is left of a write that is complete
            with suppress(OSError):
                _finish(root, changes)
                break
    return changed


def _write_journal(root: Path, changes: list[_Change], folders: list[str]) -> None:
    from patchtool.adapters.identity import sign  # late: most runs write nothing

    document = {"schema": _SCHEMA, "changes": [list(change) for change in changes], "folders": folders}
    signature = sign(_signed(document))
    atomic_write(root / _JOURNAL, json.dumps({**document, "signature": signature}).encode())


def _signed(document: Mapping[str, object]) -> bytes:
    return json.dumps({key: document[key] for key in ("schema", "changes", "folders")}).encode()


def _write(root: Path, changes: list[_Change], folders: list[str], contents: Mapping[str, bytes | None]) -> None:
    for folder in folders:
        (root / folder).mkdir()
    targets = [_target(root, path) for path, *_ in changes]
    for target, (path, before, _) in zip(targets, changes):
        if (data := contents[path]) is not None:
            stage(target, data, None if before else _NEW_FILE_MODE)
        if before:
            _keep(target)
    parents = {target.parent for target in targets}
    for parent in parents:
        sync_folder(parent)
    for target, (*_, after) in zip(targets, changes):
        if not after:
            target.unlink()
            continue
        staged_name(target).replace(target)
        if _digest(target.read_bytes()) != after:
            raise EnvironmentFault(f"{target} does not have the bytes that were written")
    for parent in parents:
        sync_folder(parent)


def _failed(root: Path, error: Exception) -> EnvironmentFault:
    """Roll back after a failure; the error tells what is there now."""
    cause = (error.cause or error.message) if isinstance(error, PatchtoolError) else str(error)
    try:
        _recover(root)
    except (OSError, PatchtoolError):
        hint = "make room there, or make it writable; the next run restores every file"
    else:
        hint = "nothing was changed"
    return EnvironmentFault(f"{root} cannot be written", hint=hint, cause=cause)


def _left(root: Path) -> bool:
    """Whether a killed run left anything; cheap, because every run asks."""
    names = (root / _JOURNAL, root / _WRITTEN, staged_name(root / _JOURNAL))
    return any(os.path.lexists(name) for name in names)


def _recover(root: Path) -> tuple[str, ...]:
    """Roll back or finish the transaction of a killed run; the caller holds the lock."""
    if not _left(root):
        return ()
    staged_name(root / _JOURNAL).unlink(missing_ok=True)
    if changes := _read(root / _WRITTEN)[0]:
        _finish(root, changes)
        what = f"an earlier run was killed after it had written {_listed(changes)}"
        return (f"{what}: {root.name} is as that run left it",)
    changes, folders = _read(root / _JOURNAL)
    if not changes:
        return ()
    kept = [path for change in changes for path in _roll_back(root, change)]
    for folder in reversed(folders):
        with suppress(OSError):  # what someone else has put there stays
            safe_join(root, folder).rmdir()
    (root / _JOURNAL).unlink()  # last, so that a kill before it repeats the rollback
    sync_folder(root)
    what = f"an earlier run was killed while it wrote {_listed(changes)}"
    return (f"{what}; it was rolled back: {root.name} is as before it", *kept)


def _roll_back(root: Path, change: _Change) -> list[str]:
    """Bring one file back; a file that someone has edited since is left alone, and its old bytes are kept beside it."""
    target = _target(root, change.path)
    now = _digest(target.read_bytes()) if target.is_file() else ""
    old = _old_name(target)
    notes = []
    if now not in (change.before, change.after, ""):
        notes = [f"{change.path} was edited since, and is left as it is"]
        if old.exists():
            kept = _free_name(target)
            old.rename(kept)
            notes = [f"{notes[0]}; what it was before that run is in {kept.name} beside it"]
    elif change.before and now != change.before and old.exists():
        old.replace(target)
    elif not change.before and now == change.after:
        target.unlink()
    for leftover in (staged_name(target), old):
        if os.path.lexists(leftover):  # False too where no file can have that name
            leftover.unlink()
    return notes


def _finish(root: Path, changes: list[_Change]) -> None:
    for change in changes:
        _old_name(_target(root, change.path)).unlink(missing_ok=True)
    for change in changes:
        if not change.after:
            _remove_emptied(root, safe_join(root, change.path).parent)
    (root / _WRITTEN).unlink(missing_ok=True)
    sync_folder(root)


def _remove_emptied(root: Path, folder: Path) -> None:
    """Remove a folder in which nothing is left, or bytecode alone, and those around it that it leaves empty."""
    while folder != root and folder.is_dir() and not folder.is_symlink():
        caches = [folder / "__pycache__"] if (folder / "__pycache__").is_dir() else []
        bytecode = [file for cache in caches for file in cache.iterdir()]
        if any(each not in caches for each in folder.iterdir()) or any(file.suffix != ".pyc" for file in bytecode):
            return
        for file in bytecode:
            file.unlink()
        for each in (*caches, folder):
            each.rmdir()
        folder = folder.parent


def _read(journal: Path) -> tuple[list[_Change], list[str]]:
    """Read the changed files and the created folders of a journal; both empty where there is none.

    Raises:
        EnvironmentFault: It is not one that this user's patchtool wrote.
    """
    if not os.path.lexists(journal):
        return [], []
    cause = "it is not a file of yours, or another version of patchtool wrote it"
    try:
        status = journal.lstat()
        if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
            from patchtool.adapters.identity import is_signed  # late: most runs find no journal

            document = json.loads(journal.read_bytes())
            if document["schema"] == _SCHEMA:
                changes = [_Change(*map(str, change)) for change in document["changes"]]
                for change in changes:
                    safe_join(journal.parent, change.path)
                # One that came with a cloned project would name files to be removed or replaced.
                if is_signed(_signed(document), str(document["signature"])):
                    return changes, [str(folder) for folder in document["folders"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        cause = str(error)
    hint = "compare the folder with its history, then remove that file"
    raise EnvironmentFault(f"the journal {journal} cannot be read", hint=hint, cause=cause)


def _target(root: Path, path: str) -> Path:
    """The file that a path leads to, which is inside of the folder."""
    return safe_join(root, path).resolve()


def _keep(target: Path) -> None:
    """Give an old file a second name, so that rolling back is a rename."""
    old = _old_name(target)
    old.unlink(missing_ok=True)
    try:
        os.link(target, old)
    except OSError:  # a file system without hard links
        shutil.copy2(target, old)


def _old_name(target: Path) -> Path:
    return target.with_name(f".{target.name}.patchtool-old")


def _free_name(target: Path) -> Path:
    names = (target.with_name(f"{target.name}.orig{number or ''}") for number in range(1000))
    return next(name for name in names if not os.path.lexists(name))


def _missing_folders(root: Path, folders: list[Path]) -> list[str]:
    """Folders that have to be created, parents first."""
    missing = {
        folder.relative_to(root.resolve()).as_posix()
        for start in folders
        for folder in (start, *start.parents)
        if not folder.exists()
    }
    return sorted(missing)


def _digest(data: bytes | None) -> str:
    return "" if data is None else hashlib.sha256(data).hexdigest()


def _listed(changes: list[_Change]) -> str:
    return ", ".join(change.path for change in changes)

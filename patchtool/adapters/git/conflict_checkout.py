"""A checkout in which a person resolves the conflict of one patch, with the tools of git.

It is a repository of its own: the release, one commit for each patch before, and in index and files the patch whose
files conflict, as ``git rebase`` leaves them. What is resolved is what is in the index, and no commit need be made.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from patchtool.adapters.files import safe_join
from patchtool.adapters.git.commits import import_stream
from patchtool.adapters.git.merging import merge_with_markers
from patchtool.adapters.git.output_record import read_output_record
from patchtool.adapters.git.patched_repository import modes_of, write_output
from patchtool.adapters.git.plumbing import NO, REGULAR, Git
from patchtool.adapters.git.stale_locks import remove_stale_files
from patchtool.adapters.scratch import scratch_folder
from patchtool.domain.errors import RefusedError
from patchtool.domain.objects import MISSING
from patchtool.domain.text_patch import SYMLINK

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from patchtool.adapters.git.commits import PatchCommit
    from patchtool.domain.text_patch import Region

Entry = tuple[str, bytes]
"""Git's mode and the bytes of a file."""


class Sides(NamedTuple):
    """A file that conflicts, as the stages 1 to 3 of an index: None where it is not there.

    Args:
        base: What the patch was made for.
        ours: What the release and the patches before have.
        theirs: With the patch, where it was made.
    """

    base: Entry | None
    ours: Entry | None
    theirs: Entry | None


class Resolved(NamedTuple):
    """What a person made of a conflict.

    Args:
        files: Files that differ from the commit before; None for one that is deleted.
        unmerged: Files that are not marked as resolved.
        unstaged: Files that differ from the index.
        untracked: Files that git does not know.
    """

    files: Mapping[str, Entry | None]
    unmerged: tuple[str, ...]
    unstaged: tuple[str, ...]
    untracked: tuple[str, ...]


class ConflictCheckout:
    """The checkout; see the module.

    Args:
        folder: Its place.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._git_dir = folder / ".git"
        self._git = Git(self._git_dir, folder)

    def exists(self) -> bool:
        """Whether it is there, and this user's patchtool made it."""
        return read_output_record(self.folder) is not None

    def check_out(
        self,
        store: Git,
        base: str,
        commits: Sequence[PatchCommit],
        branch: str,
        *,
        prepare: Callable[[], None] | None,
        lock_timeout: float,
    ) -> str:
        """Bring it to a commit for each patch on a release; changed files that git tracks are replaced.

        Args:
            store: The store.
            base: The release's commit.
            commits: In series order.
            branch: The branch's name.
            prepare: Brings files of the release that the store lacks, before a new checkout is made.
            lock_timeout: Seconds to wait for another run.

        Returns:
            The last commit's id.
        """
        assert store.git_dir is not None  # noqa: S101 -- it is a repository
        if not self.exists():
            where = (store.git_dir, base, commits, self.folder)
            written = write_output(*where, branch=branch, prepare=prepare, lock_timeout=lock_timeout)
            return [base, *written.commits][-1]
        remove_stale_files(self._git_dir)
        (self._git_dir / "index.lock").unlink(missing_ok=True)
        tip = base
        if commits:
            modes, when = modes_of(store, base, commits), store.line("log", "-1", "--format=%ct +0000", base, "--")
            stream = import_stream(commits, base=base, when=when, place=lambda path: (modes[path], path))
            made = self._git.run("fast-import", "--quiet", "--done", "--date-format=raw", stdin=stream)
            tip = made.stdout.decode().split()[-1]
        self._git.run("update-ref", f"refs/heads/{branch}", tip)
        self._git.run("symbolic-ref", "HEAD", f"refs/heads/{branch}")
        self._git.run("read-tree", "--reset", "-u", tip)
        return tip

    def put(
        self,
        conflicts: Mapping[str, Sides],
        staged: Mapping[str, Entry | None],
        *,
        labels: tuple[str, str, str],
        regions: Mapping[str, Sequence[bytes | Region]],
    ) -> dict[str, bool]:
        """Put a patch on top: files that conflict, and those that do not.

        Args:
            conflicts: The former, by path.
            staged: The latter; None for one that the patch deletes.
            labels: What ours, base and theirs are called beside the markers.
            regions: Of files that conflict, what a person has to merge, with what is around it, where that is known.

        Returns:
            Whether there are conflict markers in it, for each file that conflicts.
        """
        contents = {path: _merged(sides, labels, regions.get(path, ())) for path, sides in conflicts.items()}
        lines = [f"0 {MISSING}\t{path}" for path in (*conflicts, *staged)]
        for path, sides in conflicts.items():
            for stage, entry in enumerate(sides, start=1):
                lines += [f"{entry[0]} {self._store(entry[1])} {stage}\t{path}"] if entry else []
        lines += [f"{entry[0]} {self._store(entry[1])} 0\t{path}" for path, entry in staged.items() if entry]
        stdin = "".join(f"{line}\0" for line in lines).encode(errors="surrogateescape")
        self._git.run("update-index", "-z", "--index-info", stdin=stdin)
        for path, (entry, _) in contents.items():
            self._write(path, entry)
        for path, staged_entry in staged.items():
            self._write(path, staged_entry)
        self._git.run("update-index", "-q", "--refresh", answers=NO)
        return {path: marked for path, (_, marked) in contents.items()}

    def _store(self, data: bytes) -> str:
        return self._git.line("hash-object", "-w", "--no-filters", "--stdin", stdin=data)

    def _write(self, path: str, entry: Entry | None) -> None:
        file = safe_join(self.folder, path)
        if os.path.lexists(file):
            file.unlink()
        if entry is None:
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        mode, data = entry
        if mode == SYMLINK:
            file.symlink_to(os.fsdecode(data))
        else:
            file.write_bytes(data)
            file.chmod(0o755 if mode == "100755" else 0o644)

    def difference(self, old: bytes, new: bytes) -> bytes:
        """The hunks between two versions of a file, as git writes them."""
        flags = ("--no-color", "--no-ext-diff", "--no-textconv", "-U3")
        diff = self._git.run("diff", *flags, self._store(old), self._store(new)).stdout
        return diff[diff.find(b"\n@@ ") + 1 :] if b"\n@@ " in diff else b""

    def read(self, tip: str) -> Resolved:
        """Read what a person made of the conflict; nothing in the checkout is written, not even the index.

        Args:
            tip: The commit before the patch.

        Raises:
            RefusedError: The index has what is no file.
        """
        with scratch_folder() as scratch:
            shutil.copyfile(self._git_dir / "index", scratch / "index")
            git = Git(self._git_dir, self.folder, {"GIT_INDEX_FILE": str(scratch / "index")})
            git.run("update-index", "-q", "--refresh", answers=NO)
            return self._read(git, tip)

    def _read(self, git: Git, tip: str) -> Resolved:
        unmerged = _listed(git, "ls-files", "--unmerged", "-z", split=True)
        raw = git.run("diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", tip).stdout
        fields = raw.decode("utf-8", "surrogateescape").split("\0")[:-1]
        entries = {path: header.split()[1:4:2] for header, path in zip(fields[::2], fields[1::2])}
        entries = {path: entry for path, entry in entries.items() if path not in unmerged}
        for path, (mode, _) in entries.items():
            if mode not in (*REGULAR, SYMLINK, "000000"):
                raise RefusedError(f"{path} is neither a file nor a symbolic link", hint=f"git rm --cached {path}")
        objects = git.objects(oid for mode, oid in entries.values() if mode != "000000")
        return Resolved(
            {path: (mode, objects[oid][1]) if mode != "000000" else None for path, (mode, oid) in entries.items()},
            unmerged,
            tuple(path for path in _listed(git, "diff-files", "--name-only", "-z") if path not in unmerged),
            _listed(git, "ls-files", "--others", "--exclude-standard", "-z"),
        )

    def remove(self) -> tuple[str, ...]:
        """Remove it, unless it has files that git does not know; return those. Another folder in its place stays."""
        # Renamed first, in one step: what a run that is killed leaves is told from what a person put there.
        doomed = self.folder.with_name(f".{self.folder.name}.removed-by-patchtool")
        if self.exists():
            if kept := _listed(self._git, "ls-files", "--others", "--exclude-standard", "-z"):
                return kept
            shutil.rmtree(doomed, ignore_errors=True)
            try:
                self.folder.rename(doomed)
            except OSError:  # a mount point
                doomed = self.folder
        for _ in range(2):  # an error may pass
            shutil.rmtree(doomed, ignore_errors=True)
        with suppress(OSError):  # something else is there
            self.folder.rmdir()
        return ()


def _listed(git: Git, *command: str, split: bool = False) -> tuple[str, ...]:
    names = git.run(*command).stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]
    return tuple(dict.fromkeys(name.partition("\t")[2] if split else name for name in names))


def refuse_occupied(folder: Path) -> None:
    """Refuse a folder that has anything in it.

    Raises:
        RefusedError: It has, or it is no folder.
    """
    hint = "name an empty folder, or one that does not exist, with --work"
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise RefusedError(f"{folder} is not a folder", hint=hint)
    if folder.exists() and any(folder.iterdir()):
        raise RefusedError(f"{folder} is not empty", hint=hint)


def _merged(sides: Sides, labels: tuple[str, str, str], regions: Sequence[bytes | Region]) -> tuple[Entry | None, bool]:
    """What is written for a file that conflicts, as git does, and whether there are markers in it.

    Git compares lines. Where other regions are known, they count if it finds no conflict, or a larger one.
    """
    base, ours, theirs = sides
    if ours is None or theirs is None:
        return ours or theirs, False
    texts = [data for _, data in filter(None, sides)]
    if SYMLINK in (ours[0], theirs[0]) or any(b"\0" in data for data in texts):
        return ours, False
    text, marked = merge_with_markers(base[1] if base else b"", ours[1], theirs[1], labels)
    if regions:
        other = b"".join(part if isinstance(part, bytes) else _marked(part, labels) for part in regions)
        if not marked or len(other) < len(text):
            return (ours[0], other), True
    return (ours[0], text), marked


def _marked(region: Region, labels: tuple[str, str, str]) -> bytes:
    """A region with markers around what both changed; around all of it where git would merge it without a person."""
    text, marked = merge_with_markers(region.base, region.target, region.patched, labels)
    if marked:
        return text
    ours, base, theirs = (f" {label}\n".encode() for label in labels)
    parts = (
        b"<" * 7,
        ours,
        region.target,
        b"|" * 7,
        base,
        region.base,
        b"=" * 7,
        b"\n",
        region.patched,
        b">" * 7,
        theirs,
    )
    return b"".join(parts)


def conflict_markers(data: bytes, *known: bytes | None) -> list[int]:
    """The lines of a text, from one, that are conflict markers which no known version of it has.

    Args:
        data: The text.
        known: Its versions, from before the conflict.
    """
    lines = {line for each in known if each for line in each.splitlines()}
    marked = (n for n, line in enumerate(data.splitlines(), start=1) if _is_marker(line) and line not in lines)
    return list(marked)


def _is_marker(line: bytes) -> bool:
    return line[:7] in (b"<" * 7, b"|" * 7, b"=" * 7, b">" * 7) and line[7:8] in (b"", b" ")

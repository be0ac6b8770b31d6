"""Applying diffs with git where no files are: on an index of its own, with the objects of a store below.

Git reads the diff and applies it; nothing here does. Without fuzz: every line of context must be there. New objects are
kept in a scratch folder, so the store is not written to.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from patchtool.adapters.diff_text import split_diff
from patchtool.adapters.git.applying import words_of
from patchtool.adapters.git.plumbing import UNKNOWN, Git
from patchtool.adapters.scratch import scratch_folder
from patchtool.domain.objects import MISSING
from patchtool.domain.text_patch import REGULAR, FileChange, TextChange

DIFF = ("-p", "--no-commit-id", "--full-index", "--binary", "--find-renames", "--no-color", "--no-ext-diff", "-U3")
"""How git is to write the diff of a text patch."""
Entry = tuple[str, bytes]
"""Git's mode and the bytes of a file."""

_MADE_OF = re.compile(rb"^index ([0-9a-f]+)\.\.", re.MULTILINE)
_FAILED = re.compile(r"^error: patch failed: (.*:\d+)$", re.MULTILINE)


class PatchIndex:
    """The files that a series of diffs changes, as the diffs before left them; see `open_patch_index`.

    Args:
        git: Git on the store, with the index and the scratch folder for objects.
        folder: For the bytes of files while git reads them.
    """

    def __init__(self, git: Git, folder: Path) -> None:
        self._git = git
        self._folder = folder
        self._files: dict[str, Entry] = {}

    @property
    def files(self) -> Mapping[str, Entry]:
        """The files as the diffs left them."""
        return self._files

    def put(self, files: Mapping[str, Entry | None]) -> None:
        """Replace files; None for one that is not there."""
        changed = {path: entry for path, entry in files.items() if self._files.get(path) != entry}
        present = {path: entry for path, entry in changed.items() if entry is not None}
        names = []
        for number, (_, data) in enumerate(present.values()):
            names.append(self._folder / f"blob-{number}")
            names[-1].write_bytes(data)
        stdin = "".join(f"{name}\n" for name in names).encode()
        ids = self._git.line("hash-object", "-w", "--no-filters", "--stdin-paths", stdin=stdin).split() if names else []
        lines = [f"{mode} {blob}\t{path}" for (path, (mode, _)), blob in zip(present.items(), ids)]
        lines += [f"0 {MISSING}\t{path}" for path in changed if path not in present]
        if lines:
            stdin = "".join(f"{line}\0" for line in lines).encode(errors="surrogateescape")
            self._git.run("update-index", "-z", "--index-info", stdin=stdin)
        self._files = {path: entry for path, entry in self._files.items() if path not in changed} | present

    def apply(self, diff: bytes, *, only: Collection[str] = ()) -> TextChange:
        """Apply a diff, all of it or nothing.

        Args:
            diff: As git writes it, with paths below ``a/`` and ``b/``.
            only: Paths of files to apply it to; all by default.
        """
        parts = split_diff(diff)
        if only:
            parts = [part for part in parts if {part.old, part.new} & set(only)]
            diff = b"".join(part.text for part in parts)
        applied = self._git.run("apply", "--cached", "--whitespace=nowarn", "-p1", "-", stdin=diff, answers=UNKNOWN)
        if applied.code:
            told = words_of(applied, diff)
            return TextChange(problem=self._failed_hunks(diff) or _first_line(told))
        paths = sorted({path for part in parts for path in (part.old, part.new) if path})
        before = {path: entry for path in paths if (entry := self._files.get(path))}
        after = self._read(paths)
        for path in paths:
            self._files.pop(path, None)
        self._files |= after
        return TextChange(tuple(_changes(before, after, {p.new: p.old for p in parts if p.old and p.new != p.old})))

    def apply_where_made(self, diff: bytes) -> tuple[FileChange, ...]:
        """What a diff does to the files that its ``index`` lines name; nothing where the store lacks one of them.

        The index stays as it was.
        """
        parts = split_diff(diff)
        made = {part.old: found[1].decode() for part in parts if part.old and (found := _MADE_OF.search(part.text))}
        objects = self._git.objects(f"{blob}^{{blob}}" for blob in made.values())
        kept = {path: self._files.get(path) for part in parts for path in (part.old, part.new) if path}
        before: dict[str, Entry | None] = dict.fromkeys(kept)
        for path, blob in made.items():
            known = objects.get(f"{blob}^{{blob}}")
            before[path] = ((kept[path] or (REGULAR, b""))[0], known[1]) if known else None
        if any(before[part.old] is None for part in parts if part.old):
            return ()
        self.put(before)
        change = self.apply(diff)
        self.put(kept)
        return change.files

    def _failed_hunks(self, diff: bytes) -> str:
        """Which hunks do not apply, in git's words; empty where it is not about hunks."""
        # With --check, nothing is written: neither to the index nor to files for what is rejected.
        told = self._git.run("apply", "--cached", "--check", "--reject", "-p1", "-", stdin=diff, answers=UNKNOWN).stderr
        places = _FAILED.findall(told.decode(errors="replace"))
        return f"patch failed: {', '.join(places)}" if places else ""

    def tree(self) -> str:
        """Write the files as a tree, into the scratch folder; its id."""
        return self._git.line("write-tree")

    def difference(self, old: str, new: str) -> bytes:
        """The diff between two of its trees, as a text patch has it."""
        return self._git.run("diff-tree", *DIFF, old, new).stdout

    def _read(self, paths: Sequence[str]) -> dict[str, Entry]:
        listing = self._git.run("ls-files", "--stage", "-z", "--", *paths).stdout
        entries = {}
        for line in listing.decode(errors="surrogateescape").split("\0")[:-1]:
            attributes, _, path = line.partition("\t")
            entries[path] = attributes.split()[:2]
        objects = self._git.objects(blob for _, blob in entries.values())
        return {path: (mode, objects[blob][1]) for path, (mode, blob) in entries.items()}


@contextmanager
def open_patch_index(git_dir: Path) -> Iterator[PatchIndex]:
    """Make an empty index over the objects of a store, which is not written to."""
    with scratch_folder() as folder:
        (folder / "objects").mkdir()
        variables = {
            "GIT_INDEX_FILE": str(folder / "index"),
            "GIT_OBJECT_DIRECTORY": str(folder / "objects"),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(git_dir.resolve() / "objects"),
        }
        yield PatchIndex(Git(git_dir, variables=variables), folder)


def _changes(
    before: Mapping[str, Entry], after: Mapping[str, Entry], sources: Mapping[str, str]
) -> Iterator[FileChange]:
    """Pair the files before and after a diff; a source that is still there was copied, not renamed."""
    renamed = {new: old for new, old in sources.items() if new in after and old in before and old not in after}
    for path in sorted({*before, *after} - set(renamed.values())):
        old_path = renamed.get(path, "")
        old, new = before.get(old_path or path), after.get(path)
        if old != new or old_path:
            old_mode, base = old or ("", None)
            new_mode, patched = new or ("", None)
            yield FileChange(path, base, patched, old_path, old_mode, new_mode)


def _quoted(folder: Path) -> str:
    """A folder in a list that is separated by colons, as git reads it."""
    return '"{}"'.format(str(folder).replace("\\", "\\\\").replace('"', '\\"'))


def _first_line(text: str) -> str:
    lines = [line.removeprefix("error: ") for line in text.splitlines()]
    return next((line for line in lines if line), "git apply failed")

"""Patches as git commits, and the ``git fast-import`` stream that makes them: the same bytes on every machine."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from patchtool.domain.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

NEW_FILE = "100644"
"""Mode of a file that a patch creates."""
# Never written: the stream resets it before it ends.
_STAGED_REF = "refs/patchtool/staged"
_AUTHOR = re.compile(r"[^<>\n\0]+ <[^<>\s\0]*>")


@dataclass(frozen=True)
class PatchCommit:
    """One patch of the series, rendered.

    Args:
        subject: The commit's first line.
        body: The rest of its message, may be empty.
        author: ``Name <address>``.
        trailers: Key and value, in order.
        contents: All bytes of each file after this patch, by path in the git layout, as git stores them; None for a
            file that the patch deletes.
        added: Those of the files that the patch creates.
        date: Of author and committer, ``<seconds> <zone>``; empty for the date that the whole series gets.
        modes: Git's modes of those of the files that have another one than without the series.
    """

    subject: str
    body: str
    author: str
    trailers: tuple[tuple[str, str], ...]
    contents: Mapping[str, bytes | None]
    added: frozenset[str] = frozenset()
    date: str = ""
    modes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Both become lines of the fast-import stream, where a further line would be a further command.
        if not _AUTHOR.fullmatch(self.author):
            raise InputError(f"{self.author!r} is not an author", hint="write it like Name <address>")
        if not self.subject.strip() or "\n" in self.subject.strip():
            raise InputError(f"{self.subject!r} is not a subject", hint="give the patch a title of one line")

    @property
    def message(self) -> str:
        """The commit message: subject, body and trailers, with a newline at the end."""
        trailers = "\n".join(f"{key}: {value}" for key, value in self.trailers)
        parts = (self.subject.strip(), self.body.strip(), trailers)
        return "\n\n".join(part for part in parts if part) + "\n"

    def trailer(self, key: str) -> str:
        """The first value of that trailer, or an empty string."""
        return next((value for name, value in self.trailers if name == key), "")


class WriteResult(NamedTuple):
    """The outcome of writing a series.

    Args:
        path: The tree's root.
        changed: Files whose bytes changed, in the git layout, sorted.
        commits: Ids of the patches' commits, in series order; empty where nothing was committed.
        branch: The branch they are on.
        unchanged: The series had been written before.
        notes: Sentences for the report.
        tree: Git tree id of the last commit, empty where nothing was committed.
    """

    path: Path
    changed: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    branch: str | None = None
    unchanged: bool = False
    notes: tuple[str, ...] = ()
    tree: str = ""


def final_contents(commits: Sequence[PatchCommit]) -> dict[str, bytes | None]:
    """The bytes of every file after the whole series, by path, sorted; None for one that is deleted."""
    merged: dict[str, bytes | None] = {}
    for commit in commits:
        merged.update(commit.contents)
    return dict(sorted(merged.items()))


def final_modes(commits: Sequence[PatchCommit]) -> dict[str, str]:
    """Git's modes after the whole series of those files that have another one than without it."""
    return {path: mode for commit in commits for path, mode in commit.modes.items()}


def added_files(commits: Sequence[PatchCommit]) -> frozenset[str]:
    """The files that the series creates; one that a patch deletes and a later one creates was there before."""
    first: dict[str, bool] = {}
    for commit in commits:
        for path in commit.contents:
            first.setdefault(path, path in commit.added)
    return frozenset(path for path, added in first.items() if added)


def only_edits(commits: Sequence[PatchCommit]) -> bool:
    """Whether the series has bytes for files that are there, and nothing else: no new files, modes or dates."""
    return not any(c.added or c.modes or c.date or None in c.contents.values() for c in commits)


def digest(commits: Sequence[PatchCommit]) -> str:
    """SHA-256 over messages, authors and contents of the commits, hex; equal digests write equal trees."""
    return hashlib.sha256(_stream(commits, "", "", lambda _: ("", ""))).hexdigest()


def import_stream(
    commits: Sequence[PatchCommit],
    *,
    base: str,
    when: str,
    place: Callable[[str], tuple[str, str]],
    ref: str | None = None,
) -> bytes:
    """Write the commits for ``git fast-import --done``, which then prints their ids in order.

    Args:
        commits: In series order.
        base: The parent of the first.
        when: Date of author and committer, ``<seconds> <zone>``; the base's, so that ids are reproducible.
        place: Mode and path in the repository of a path in the git layout.
        ref: The branch to leave them on; None makes objects and changes no ref.
    """
    stream = _stream(commits, base, when, place, ref or _STAGED_REF)
    if ref is None:
        stream += b"reset %s\nfrom %s\n\n" % (_STAGED_REF.encode(), b"0" * len(base))
    return stream + b"done\n"


def _stream(
    commits: Sequence[PatchCommit],
    base: str,
    when: str,
    place: Callable[[str], tuple[str, str]],
    ref: str = _STAGED_REF,
) -> bytes:
    parts: list[bytes] = []
    for mark, commit in enumerate(commits, start=1):
        parts.append(f"commit {ref}\nmark :{mark}\n".encode())
        parts += [f"{role} {commit.author} {commit.date or when}\n".encode() for role in ("author", "committer")]
        parts.append(_data(commit.message.encode()))
        parts.append(f"from {base if mark == 1 else f':{mark - 1}'}\n".encode())
        for path, content in sorted(commit.contents.items()):
            mode, repository_path = place(path)
            mode = commit.modes.get(path, mode)
            name = _quoted(repository_path or path)
            written = b"D %s\n" % name if content is None else b"M %s inline %s\n" % (mode.encode(), name)
            parts.append(written if content is None else written + _data(content))
        parts.append(f"\nget-mark :{mark}\n".encode())
    return b"".join(parts)


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)


def _quoted(path: str) -> bytes:
    """Quote a path as fast-import needs it; unquoted, a path extends to the end of the line."""
    if not path.startswith('"') and "\n" not in path:
        return path.encode("utf-8", "surrogateescape")
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'.encode("utf-8", "surrogateescape")

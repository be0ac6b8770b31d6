"""One commit of a git repository as a read-only tree of files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from patchtool.adapters.git.plumbing import Git

_NO_MATCH = 1
# Above the number of files that a series reads; a caller that looks up a whole tree must not load all of it.
_READ_AHEAD = 32


class CommitTree:
    """The `Tree` port over a commit; each method starts at most two git processes, whatever the number of paths.

    Args:
        git: The repository.
        commit: Full commit or tree id.
        known: Blob ids that were looked up before, None for a path that does not exist.
    """

    def __init__(self, git: Git, commit: str, known: Mapping[str, str | None] | None = None) -> None:
        self.git = git
        self.commit = commit
        self._blobs: dict[str, str | None] = dict(known or {})
        self._contents: dict[str, bytes] = {}

    def blob_ids(self, paths: Iterable[str]) -> Mapping[str, str]:
        """Git blob ids of those paths that exist as regular files."""
        wanted = list(paths)
        unknown = [path for path in wanted if path not in self._blobs]
        if unknown:
            self._blobs |= {**dict.fromkeys(unknown), **self.git.blob_ids(self.commit, unknown)}
        return {path: blob for path in wanted if (blob := self._blobs[path]) is not None}

    def read(self, path: str) -> bytes | None:
        """The file's bytes, or None where it does not exist; reads ahead the files whose ids were looked up."""
        if path not in self._contents:
            ahead = [name for name, blob in self._blobs.items() if blob is not None and name not in self._contents]
            self._contents |= self.read_many([path, *ahead[:_READ_AHEAD]])
        return self._contents.get(path)

    def read_many(self, paths: Iterable[str]) -> Mapping[str, bytes]:
        """The bytes of those paths that exist as regular files."""
        blobs = self.blob_ids(paths)
        contents = self.git.objects(blobs.values())
        return {path: contents[blob][1] for path, blob in blobs.items()}

    def containing(self, word: str) -> list[str]:
        """Paths of Python files that contain this word, sorted; slow, for explaining only."""
        matches = self.git.run(
            "grep", "-z", "-l", "-w", "--fixed-strings", "--full-name", "-e", word, self.commit, check=False
        )
        if matches.code > _NO_MATCH:
            self.git.run("cat-file", "-e", self.commit)  # a missing commit is the better explanation
        names = matches.stdout.decode(errors="surrogateescape").split("\0")
        paths = (name.removeprefix(f"{self.commit}:") for name in names)
        return sorted(path for path in paths if path.endswith(".py"))

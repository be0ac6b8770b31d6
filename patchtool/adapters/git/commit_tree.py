"""One commit of a git repository as a read-only tree of files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from patchtool.adapters.git.plumbing import Git

_NO_MATCH = 1
# A series looks at a handful of files; whoever looks up a whole tree does not want it all in memory.
_TOGETHER = 32


class GitTree:
    """The `Tree` port over a commit; however many paths it is asked for, one git process answers.

    Args:
        git: The repository.
        commit: Full commit or tree id.
        known: Blob ids that were looked up already, None for a path that does not exist.
    """

    def __init__(self, git: Git, commit: str, known: Mapping[str, str | None] | None = None) -> None:
        self.git = git
        self.commit = commit
        # a commit never changes, so what was asked once is known
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
        """The file's bytes, or None where it does not exist; what was looked up with it is read with it."""
        if path not in self._contents:
            near = [each for each, blob in self._blobs.items() if blob is not None and each not in self._contents]
            self._contents |= self.read_many([path, *near[:_TOGETHER]])
        return self._contents.get(path)

    def read_many(self, paths: Iterable[str]) -> Mapping[str, bytes]:
        """The bytes of those paths that exist as regular files."""
        blobs = self.blob_ids(paths)
        contents = self.git.objects(blobs.values())
        return {path: contents[blob][1] for path, blob in blobs.items()}

    def containing(self, word: str) -> list[str]:
        """Paths of Python files that contain this word, sorted; slow, for explaining only."""
        found = self.git.run(
            "grep", "-z", "-l", "-w", "--fixed-strings", "--full-name", "-e", word, self.commit, check=False
        )
        if found.code > _NO_MATCH:
            self.git.run("cat-file", "-e", self.commit)  # says why, where the commit is what is missing
        names = found.stdout.decode(errors="surrogateescape").split("\0")
        paths = (name.removeprefix(f"{self.commit}:") for name in names)
        return sorted(path for path in paths if path.endswith(".py"))

"""One commit of a git repository as a read-only tree of files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchtool.adapters.git.plumbing import NO, REGULAR, UNKNOWN
from patchtool.adapters.process import ProcessFailed
from patchtool.domain.errors import EnvironmentFault
from patchtool.domain.text_patch import SYMLINK

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from patchtool.adapters.git.plumbing import Git
    from patchtool.adapters.git.remote import Remote

# Above the number of files that a series reads; a caller that looks up a whole tree must not load all of it.
_READ_AHEAD = 32
_BATCH = 4000


class CommitTree:
    """The `Tree` port over a commit; each method starts at most two git processes, whatever the number of paths.

    Args:
        git: The repository.
        commit: Full commit or tree id.
        known: Blob ids that were looked up before, None for a path that does not exist.
        remote: Where blobs come from that the repository does not have; it is a partial clone.
        folder: The folder that `containing` searches.
        contents: Blobs that were read, by id; shared by commits that have most files in common.
    """

    def __init__(
        self,
        git: Git,
        commit: str,
        known: Mapping[str, str | None] | None = None,
        remote: Remote | None = None,
        folder: str = ".",
        contents: dict[str, bytes] | None = None,
    ) -> None:
        self._folder = folder
        self.git = git
        self._remote = remote
        self.commit = commit
        self._blobs: dict[str, str | None] = dict(known or {})
        self._entries: dict[str, tuple[str, str] | None] = {}
        self._renamed: dict[str, dict[str, str]] = {}
        self._contents: dict[str, bytes] = {}
        self._by_id = {} if contents is None else contents

    def blob_ids(self, paths: Iterable[str]) -> Mapping[str, str]:
        """Git blob ids of those paths that exist as regular files."""
        wanted = list(paths)
        unknown = [path for path in wanted if path not in self._blobs]
        if unknown:
            self._blobs |= {**dict.fromkeys(unknown), **self.git.blob_ids(self.commit, unknown)}
        return {path: blob for path in wanted if (blob := self._blobs[path]) is not None}

    def entries(self, paths: Iterable[str]) -> Mapping[str, tuple[str, bytes]]:
        """Mode and bytes of those paths that are files or symbolic links."""
        wanted = [path for path in paths if path not in self._entries]
        if wanted:
            ahead = [path for path in self._blobs if path not in self._entries]
            found = self.git.tree_entries(self.commit, {*wanted, *ahead})
            self._entries |= {path: found.get(path) for path in (*wanted, *ahead)}
        there = {p: e for p in paths if (e := self._entries[p]) is not None and e[0] in (*REGULAR, SYMLINK)}
        self._read_blobs({blob for _, blob in there.values()})
        return {path: (mode, self._by_id[blob]) for path, (mode, blob) in there.items()}

    def renamed_since(self, commit: str) -> Mapping[str, str]:
        """New paths of the files that git finds renamed since a commit, by old path."""
        if commit not in self._renamed:
            flags = ("-r", "-z", "--diff-filter=R", "--name-status", "-l0")
            for likeness in ("60%", "100%"):  # equal files are found by their ids, where a partial clone lacks blobs
                listed = self.git.run("diff-tree", f"-M{likeness}", *flags, commit, self.commit, answers=UNKNOWN)
                if not listed.code:
                    break
            fields = listed.stdout.decode(errors="surrogateescape").split("\0") if not listed.code else []
            self._renamed[commit] = dict(zip(fields[1::3], fields[2::3]))
        return self._renamed[commit]

    def read(self, path: str) -> bytes | None:
        """The file's bytes, or None where it does not exist; reads ahead the files whose ids were looked up."""
        if path not in self._contents:
            ahead = [name for name, blob in self._blobs.items() if blob is not None and name not in self._contents]
            self._contents |= self.read_many([path, *ahead[:_READ_AHEAD]])
        return self._contents.get(path)

    def read_many(self, paths: Iterable[str]) -> Mapping[str, bytes]:
        """The bytes of those paths that exist as regular files."""
        blobs = self.blob_ids(paths)
        self._read_blobs(set(blobs.values()))
        return {path: self._by_id[blob] for path, blob in blobs.items()}

    def _read_blobs(self, blobs: Collection[str]) -> None:
        """Read those blobs that were not read before, after fetching what a partial clone lacks."""
        self._read({blob for blob in blobs if blob not in self._by_id})
        lacking = {blob for blob in blobs if blob not in self._by_id}
        if lacking:
            self.fetch(lacking)
            self._read(lacking)

    def _read(self, blobs: Collection[str]) -> None:
        self._by_id |= {blob: content for blob, (_, content) in self.git.objects(blobs).items()}

    def fetch(self, blobs: Collection[str]) -> None:
        """Fetch blobs that are missing, all at once.

        Raises:
            EnvironmentFault: There is nowhere to fetch them from, or it failed.
        """
        if self._remote is None:
            raise EnvironmentFault(
                f"the store has a part of commit {self.commit[:12]}, without {len(blobs)} files that are needed",
                hint="run it without --offline once, and with the git upstream that the commit is from",
            )
        self._remote.fetch_objects(blobs)

    def complete(self, folder: str = ".") -> None:
        """Fetch all files below a folder that are missing."""
        listing = self.git.run("ls-tree", "-r", "-z", "--full-tree", self.commit, "--", folder).stdout
        entries = (line.split(b"\t", 1)[0].split() for line in listing.split(b"\0") if line)
        lacking = self.git.missing(oid.decode() for _, kind, oid in entries if kind == b"blob")
        for start in range(0, len(lacking), _BATCH):  # an interrupted run goes on at the next batch
            self.fetch(lacking[start : start + _BATCH])

    def containing(self, word: str) -> list[str]:
        """Paths of Python files that contain this word, sorted; slow, for explaining only."""
        self.complete(self._folder)  # grep would leave a missing file out in silence
        flags = ("-z", "-l", "-w", "--fixed-strings", "--full-name")
        try:
            matches = self.git.run("grep", *flags, "-e", word, self.commit, "--", self._folder, answers=NO)
        except ProcessFailed:
            self.git.run("cat-file", "-e", self.commit)  # a missing commit is the better explanation
            raise
        names = matches.stdout.decode(errors="surrogateescape").split("\0")
        paths = (name.removeprefix(f"{self.commit}:") for name in names)
        return sorted(path for path in paths if path.endswith(".py"))

"""Upstream's releases in one bare git repository, one commit each, whichever artifact was imported."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.adapters.cache_folder import VARIABLE, default_path
from patchtool.adapters.files import LOCK_TIMEOUT, atomic_write, locked
from patchtool.adapters.git.commit_tree import CommitTree
from patchtool.adapters.git.plumbing import Git, check_git_version
from patchtool.adapters.git.remote import Remote
from patchtool.adapters.git.stale_locks import remove_stale_files
from patchtool.adapters.store.damage import is_damaged, remove_damaged
from patchtool.adapters.store.records import StoredArtifact, StoredRelease, read_record, tree_of, write_record
from patchtool.domain.errors import EnvironmentFault, InputError, RefusedError
from patchtool.domain.package import Package, normalized
from patchtool.domain.release import Release

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    Progress = Callable[[int, int], None]
    """Called with the bytes so far and the total."""

NEIGHBOURS = frozenset(
    {"bytecode", "file-ids", "judgements", "measurements", "proven-red.json", "results", "scratch", "stopped", "trees"}
)
"""What the tool keeps in the store's folder beside the repository, maybe before the first release is imported."""
_INCOMING = "refs/incoming"
_OF_ITS_OWN = f"set {VARIABLE} or --store to a folder of its own"
_LOCK = "patchtool.lock"
_FORMAT_FILE = "patchtool-format"
_FORMAT = "1"
_TEMPORARY = (".lock", ".pid", ".tmp", ".patchtool-new")


class Store:
    """The releases of one upstream project.

    Args:
        path: The bare repository, created by the first import.
        package: The package, with the name of its distribution.
        remote_url: Of upstream's git repository, where missing objects of its commits come from; None for nowhere.
        fetching: Called while they are fetched; see `Remote`.
    """

    def __init__(
        self,
        path: Path | None,
        package: Package,
        remote_url: str | None = None,
        fetching: Callable[[str, int, int, str], None] = lambda *_: None,
    ) -> None:
        self.path = (path or default_path()).absolute()
        self.package = package
        # Distributions have the same versions with other files, and the same files in another layout are other commits.
        self._namespace = f"refs/distributions/{normalized(self.project)}/{package.folder}"
        self.git = Git(self.path)
        self.remote = None if remote_url is None else Remote(self.path, remote_url, fetching)

    @property
    def project(self) -> str:
        """The distribution's name."""
        return self.package.distribution

    def beside(self, name: str) -> Path:
        """Where one of the store's `NEIGHBOURS` is; it need not exist."""
        if name not in NEIGHBOURS:
            raise ValueError(f"{name} is not in NEIGHBOURS: the store would be refused as another program's folder")
        return self.path / name

    def releases(self) -> list[Release]:
        """All releases, oldest first."""
        return sorted(map(Release.parse, self.git.refs(f"{self._namespace}/releases"))) if self.exists() else []

    def release(self, release: Release) -> StoredRelease | None:
        """Look a release up, in one process; None where it was not imported."""
        return self.stored([release]).get(release)

    def stored(self, releases: Iterable[Release]) -> dict[Release, StoredRelease]:
        """Look releases up, all in one process; those that were not imported are left out."""
        wanted = list(releases)
        if not self.exists():
            return {}
        names = {release: self._names(release) for release in wanted}
        objects = self.git.objects([name for pair in names.values() for name in pair])
        stored = {}
        for release, (commit, other) in names.items():
            if commit in objects and other in objects:
                name, content = objects[commit]
                artifacts = () if release.commit else read_record(objects[other][1])
                origin = f"git+{self.remote.url}@{name}" if release.commit and self.remote else ""
                stored[release] = StoredRelease(release, name, tree_of(content), artifacts, origin, self.project)
        return stored

    def _names(self, release: Release) -> tuple[str, str]:
        """The objects that must be there: a commit, and the record of its artifacts or, of upstream's own, its tree."""
        if release.commit:
            return release.commit, f"{release.commit}^{{tree}}"
        return f"{self._namespace}/releases/{release.tag}", f"{self._namespace}/artifacts/{release.tag}"

    def tree(self, commit: str) -> CommitTree:
        """The files of a commit."""
        return CommitTree(self.git, commit, remote=self.remote, folder=self.package.layout or ".")

    def trees(self, commits: Sequence[str], paths: Sequence[str]) -> dict[str, CommitTree]:
        """The files of many commits; the ids of those paths are looked up for all commits in one process."""
        files = self.git.regular_files(commits, paths)
        known = {commit: {path: files[commit].get(path) for path in paths} for commit in commits}
        read: dict[str, bytes] = {}
        return {c: CommitTree(self.git, c, known[c], self.remote, self.package.layout or ".", read) for c in commits}

    @contextmanager
    def writing(self, lock_timeout: float = LOCK_TIMEOUT) -> Iterator[None]:
        """Hold the store's lock, in a store that is created where there is none.

        Raises:
            EnvironmentFault: The lock is held, or git is missing or too old.
            InputError: The store's folder has something else.
        """
        check_git_version()
        self._refuse_foreign_folder()
        with locked(self.path / _LOCK, lock_timeout):
            self._initialise()
            yield

    def import_wheel(
        self,
        release: Release,
        wheel: Path,
        sha256: str,
        progress: Progress | None = None,
        *,
        lock_timeout: float = LOCK_TIMEOUT,
    ) -> StoredRelease:
        """Import an artifact of a release, all or nothing.

        Args:
            release: The release that its metadata must name.
            wheel: A wheel, or a ``.tar.gz`` source archive; never unpacked to disk or executed.
            sha256: Expected hash of its bytes, hex.
            progress: Called with unpacked bytes.
            lock_timeout: Seconds to wait for another import.

        Raises:
            EnvironmentFault: Hash mismatch, the lock is held, or git failed.
            RefusedError: A member is unsafe, it is another release, or its files differ from those of an artifact of
                this release that was imported before.
            InputError: There is no such file, or the store's folder has something else.
        """
        from patchtool.adapters.store.importing import read_release

        with self.writing(lock_timeout):
            known = self.release(release)
            if known is not None and sha256 in known.digests:
                return known
            incoming = f"{_INCOMING}/{release.tag}"
            artifact = read_release(self.git, release, self.package, wheel, sha256, incoming, progress)
            try:
                return self._publish(release, incoming, artifact, known)
            finally:
                with suppress(EnvironmentFault):  # the next run that writes removes it
                    self.git.run("update-ref", "-d", incoming)

    def repair(self, *, lock_timeout: float = LOCK_TIMEOUT) -> None:
        """Remove what is not whole, so that it is fetched again; nothing where there is no store."""
        if self.exists() and is_damaged(self.path):
            with self.writing(lock_timeout):
                pass  # which removes it

    def record_yanked(
        self, release: Release, reasons: Mapping[str, str | None], *, lock_timeout: float = LOCK_TIMEOUT
    ) -> None:
        """Record which artifacts of a release the index has withdrawn.

        Args:
            release: The release.
            reasons: Why, by SHA-256; None for those that it still offers. Others stay as they are.
            lock_timeout: Seconds to wait for another run that writes to the store.
        """
        if self._with_yanked(release, reasons) is None:
            return
        with self.writing(lock_timeout):
            if (record := self._with_yanked(release, reasons)) is not None:
                blob = self.git.line("hash-object", "-w", "--stdin", stdin=record)
                self.git.run("update-ref", self._names(release)[1], blob)

    def _with_yanked(self, release: Release, reasons: Mapping[str, str | None]) -> bytes | None:
        """The record of a release's artifacts with these reasons; None if it has them."""
        known = self.release(release)
        artifacts = known.artifacts if known else ()
        now = tuple(each._replace(yanked=reasons.get(each.sha256, each.yanked)) for each in artifacts)
        return write_record(now) if now != artifacts else None

    def _publish(
        self, release: Release, incoming: str, artifact: StoredArtifact, known: StoredRelease | None
    ) -> StoredRelease:
        """Move both refs in one transaction, which makes the release visible."""
        commit = self.git.line("rev-parse", "--verify", incoming)
        if known is not None and known.commit != commit:
            raise self._mismatch(known, commit, artifact)
        artifacts = known.artifacts if known else ()
        if artifact not in artifacts:
            record = write_record((*artifacts, artifact))
            blob = self.git.line("hash-object", "-w", "--stdin", stdin=record)
            commit_ref, record_ref = self._names(release)
            moves = f"update {record_ref} {blob}\nupdate {commit_ref} {commit}\n"
            self.git.run("update-ref", "--stdin", stdin=moves.encode())
        stored = self.release(release)
        if stored is None:
            raise EnvironmentFault(f"{release} is not in {self.path} after its import")
        return stored

    def _mismatch(self, known: StoredRelease, commit: str, artifact: StoredArtifact) -> RefusedError:
        differing = self.git.line("diff-tree", "-r", "--name-only", "--no-renames", known.commit, commit).splitlines()
        first = known.artifacts[0]
        return RefusedError(
            f"{artifact.filename} (sha256:{artifact.sha256}) and {first.filename} (sha256:{first.sha256}) "
            f"are both {known.release}, but {len(differing)} files differ",
            hint=f"the store has {first.filename}; to start again, remove {self.path}",
            cause=", ".join(differing[:5]),
        )

    def exists(self) -> bool:
        """Whether anything was ever written to it.

        Raises:
            EnvironmentFault: A newer version of the tool writes it in another format.
            InputError: It is a file.
        """
        # What git makes of a repository, in this order; a run that was killed while it created the store left less.
        if not all((self.path / part).exists() for part in ("HEAD", "refs", "config", "objects/info")):
            if self.path.exists() and not self.path.is_dir():
                raise InputError(f"{self.path} is not a store: it is a file", hint=_OF_ITS_OWN)
            return False
        self._refuse_newer_format()
        return True

    def _refuse_newer_format(self) -> None:
        try:
            found = (self.path / _FORMAT_FILE).read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return  # written before there was such a file
        except (OSError, ValueError) as error:
            found = str(error)
        if found != _FORMAT:
            raise EnvironmentFault(
                f"the store {self.path} has the format {found}, this patchtool reads and writes {_FORMAT}",
                hint="use a newer patchtool, or a store of its own (--store)",
            )

    def _refuse_foreign_folder(self) -> None:
        if self.exists() or not self.path.exists() or (self.path / _LOCK).is_file():
            return
        names = {entry.name for entry in self.path.iterdir() if not entry.name.endswith(_TEMPORARY)}
        foreign = sorted(names - {"HEAD", "objects", "refs", "config", "info", _FORMAT_FILE} - NEIGHBOURS)
        if foreign:
            raise InputError(f"{self.path} is not a store: it has {foreign[0]!r}", hint=_OF_ITS_OWN)

    def _initialise(self) -> None:
        """Create the store, or complete one whose creation was killed; no other run writes while the lock is held."""
        remove_stale_files(self.path)
        remove_damaged(self.path)
        if not self.exists():
            # Explicit, because a later git changes the default object format and with it every id.
            options = ("--quiet", "--bare", "--template=", "--initial-branch=main", "--object-format=sha1")
            Git(None).run("init", *options, str(self.path))
        self.git.write_files_raw()
        for release in self.git.refs(_INCOMING):
            self.git.run("update-ref", "-d", f"{_INCOMING}/{release}")
        if not (self.path / _FORMAT_FILE).exists():
            atomic_write(self.path / _FORMAT_FILE, f"{_FORMAT}\n".encode())

"""Trees for judging: a real wheel, or files in memory; what is written over them is seen by the next patch."""

import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from patchtool.adapters.project.metadata import read_patch
from patchtool.domain.objects import blob_id
from patchtool.domain.patch import Judgement, PatchInfo
from patchtool.domain.release import Release
from patchtool.semantic.kind import SemanticKind

ROOT = Path(__file__).resolve().parents[2]
SERIES = ("ssm_index_layout", "mtp_tracking", "kv_copy_override", "track_index_precompute")
INFOS = {name: read_patch(ROOT / "patches" / name) for name in SERIES}


class MemoryTree:
    """Files in memory."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)

    def read(self, path: str) -> bytes | None:
        return self.files.get(path)

    def blob_ids(self, paths: Iterable[str]) -> dict[str, str]:
        found = {path: self.read(path) for path in paths}
        return {path: blob_id(data) for path, data in found.items() if data is not None}

    def containing(self, word: str) -> list[str]:
        return sorted(path for path, data in self.files.items() if path.endswith(".py") and word.encode() in data)

    def written(self, contents: Mapping[str, bytes]) -> "MemoryTree":
        return MemoryTree({**self.files, **contents})


class WheelTree(MemoryTree):
    """A wheel's files in the git layout, read when they are asked for."""

    def __init__(self, archive: zipfile.ZipFile, over: Mapping[str, bytes] | None = None) -> None:
        super().__init__(over or {})
        self._archive = archive

    @classmethod
    def of(cls, path: Path) -> "WheelTree":
        return cls(zipfile.ZipFile(path))

    def read(self, path: str) -> bytes | None:
        if path not in self.files:
            try:
                return self._archive.read(path.removeprefix("python/"))
            except KeyError:
                return None
        return self.files[path]

    def containing(self, word: str) -> list[str]:
        names = [f"python/{name}" for name in self._archive.namelist() if name.endswith(".py")]
        return sorted(path for path in {*names, *self.files} if word.encode() in (self.read(path) or b""))

    def written(self, contents: Mapping[str, bytes]) -> "WheelTree":
        return WheelTree(self._archive, {**self.files, **contents})


def judge(name: str, tree: MemoryTree, release: str | None = None) -> Judgement:
    """One of the four patches on a tree."""
    return SemanticKind().judge(INFOS[name], tree, Release(release) if release else None)


def info_of(codemod: Path, *targets: str, since: str = "") -> PatchInfo:
    """Metadata for a codemod that a test wrote."""
    return PatchInfo(codemod.parent.name, "", "", "", targets, since=since, source_file=str(codemod))


def on_paths(info: PatchInfo, *targets: str) -> PatchInfo:
    """The same patch for other files."""
    return info._replace(targets=targets)

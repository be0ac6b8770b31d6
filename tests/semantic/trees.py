"""Trees to judge: a real wheel or files in memory, with more files written over them."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from patchtool.adapters.project.metadata import read_patch
from patchtool.domain.objects import blob_id
from patchtool.domain.patch import Judgement
from patchtool.domain.release import Release
from patchtool.emulation import PACKAGE as SGLANG
from patchtool.semantic.kind import SemanticKind

ROOT = Path(__file__).resolve().parents[2]
SERIES = ("ssm_index_layout", "mtp_tracking", "kv_copy_override", "track_index_precompute")
LATER = ("verify_cow_guard", "mtp_commit_first_step", "spec_state_layout", "fp4_kv_copy")
"""Patches of few releases each: the tests of layouts and spellings, which are on the pin, leave them out."""
INFOS = {name: read_patch(ROOT / "patches" / name, SGLANG) for name in (*SERIES, *LATER)}


class MemoryTree:
    """Files in memory."""

    def __init__(self, files: Mapping[str, bytes | None]) -> None:
        self.files = {path: data for path, data in files.items() if data is not None}

    def read(self, path: str) -> bytes | None:
        return self.files.get(path)

    def blob_ids(self, paths: Iterable[str]) -> dict[str, str]:
        contents = {path: self.read(path) for path in paths}
        return {path: blob_id(data) for path, data in contents.items() if data is not None}

    def containing(self, word: str) -> list[str]:
        return sorted(path for path, data in self.files.items() if path.endswith(".py") and word.encode() in data)

    def written(self, contents: Mapping[str, bytes | None]) -> MemoryTree:
        return MemoryTree({**self.files, **contents})


class WheelTree(MemoryTree):
    """A wheel's files in the git layout, read on demand."""

    def __init__(self, archive: zipfile.ZipFile, files: Mapping[str, bytes], found: dict[str, list[str]]) -> None:
        super().__init__(files)
        self._archive = archive
        self._found = found  # by word; unzipping all files takes longer than a judgement

    @classmethod
    def of(cls, path: Path) -> WheelTree:
        return cls(zipfile.ZipFile(path), {}, {})

    def read(self, path: str) -> bytes | None:
        if path not in self.files:
            try:
                return self._archive.read(path.removeprefix("python/"))
            except KeyError:
                return None
        return self.files[path]

    def containing(self, word: str) -> list[str]:
        if word not in self._found:
            names = [name for name in self._archive.namelist() if name.endswith(".py")]
            found = [f"python/{name}" for name in names if word.encode() in self._archive.read(name)]
            self._found[word] = found
        return sorted({*(path for path in self._found[word] if path not in self.files), *super().containing(word)})

    def written(self, contents: Mapping[str, bytes | None]) -> WheelTree:
        assert None not in contents.values()
        files = {**self.files, **{path: data or b"" for path, data in contents.items()}}
        return WheelTree(self._archive, files, self._found)


def judge(name: str, tree: MemoryTree, release: str | None = None) -> Judgement:
    """Judge one of the four patches on a tree."""
    return SemanticKind().judge(INFOS[name], tree, Release(release) if release else None)


def judge_bytes(name: str, data: bytes) -> Judgement:
    """Judge one of the four patches on the bytes of its target."""
    return judge(name, MemoryTree({INFOS[name].targets[0]: data}))

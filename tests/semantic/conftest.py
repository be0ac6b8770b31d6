"""Fixtures for the engine's tests: trees in memory, the patches, their look-alike sources and the real wheels."""

from __future__ import annotations

import ast
import zipfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest

from patchtool.domain.objects import blob_id
from patchtool.domain.patch import Judgement, PatchInfo
from patchtool.domain.release import Release
from patchtool.semantic.kind import SemanticKind

PATCHES = Path(__file__).parents[2] / "patches"
NPU = "python/sglang/srt/hardware_backend/npu/"
TARGETS = {
    "ssm_index_layout": NPU + "attention/ascend_hybrid_linear_attn_backend.py",
    "mtp_tracking": NPU + "attention/ascend_hybrid_linear_attn_backend.py",
    "kv_copy_override": NPU + "memory_pool_npu.py",
    "track_index_precompute": NPU + "attention/ascend_gdn_backend.py",
}


class MemoryTree:
    """A tree of files in memory."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)

    def blob_ids(self, paths: Iterable[str]) -> Mapping[str, str]:
        return {path: blob_id(self.files[path]) for path in paths if path in self.files}

    def read(self, path: str) -> bytes | None:
        return self.files.get(path)

    def containing(self, word: str) -> list[str]:
        return sorted(path for path, data in self.files.items() if word.encode() in data)


class WheelTree(MemoryTree):
    """A wheel's files in the git layout, read when they are asked for."""

    def __init__(self, path: Path) -> None:
        super().__init__({})
        self.archive = zipfile.ZipFile(path)
        self.names = {f"python/{name}" for name in self.archive.namelist() if name.startswith("sglang/")}

    def read(self, path: str) -> bytes | None:
        if path not in self.files and path in self.names:
            self.files[path] = self.archive.read(path.removeprefix("python/"))
        return self.files.get(path)


def patch_info(name: str) -> PatchInfo:
    since = "" if name == "kv_copy_override" else "0.5.11"
    codemod = str(PATCHES / name / "codemod.py")
    return PatchInfo(name, "", "", "", (TARGETS[name],), since=since, source_file=codemod)


def judge_bytes(name: str, data: bytes) -> Judgement:
    return SemanticKind().judge(patch_info(name), MemoryTree({TARGETS[name]: data}), None)


@pytest.fixture
def judge() -> Callable[[str, str | bytes], Judgement]:
    """Judge one of the four patches on a source for its target."""
    return lambda name, source: judge_bytes(name, source.encode() if isinstance(source, str) else source)


@pytest.fixture
def written() -> Callable[[str, Judgement], bytes]:
    return lambda name, judgement: judgement.contents[TARGETS[name]]


@pytest.fixture
def lookalike() -> Callable[..., str]:
    """A patch's look-alike source: ``before``, ``after`` or ``landed``."""

    def read(name: str, which: str = "before") -> str:
        case = "landed" if which == "landed" else "plain"
        return (PATCHES / name / "cases" / case / f"{which}.py").read_text()

    return read


@pytest.fixture
def tree_of() -> Callable[[Mapping[str, str]], MemoryTree]:
    return lambda files: MemoryTree({path: text.encode() for path, text in files.items()})


@pytest.fixture
def judge_codemod(tmp_path: Path) -> Callable[..., Judgement]:
    """Judge a codemod given as text on a source given as text."""

    def judge(codemod: str, source: str | bytes, path: str = "m.py") -> Judgement:
        folder = tmp_path / f"p{abs(hash(codemod))}"
        folder.mkdir(exist_ok=True)
        file = folder / "codemod.py"
        file.write_text(codemod)
        data = source.encode() if isinstance(source, str) else source
        info = PatchInfo("p", "", "", "", (path,), source_file=str(file))
        return SemanticKind().judge(info, MemoryTree({path: data}), None)

    return judge


@pytest.fixture
def release_source(wheel: Callable[[str], Path]) -> Callable[[str, str], bytes]:
    """A patch's target file as a release has it."""

    def read(name: str, version: str) -> bytes:
        data = WheelTree(wheel(version)).read(TARGETS[name])
        assert data is not None
        return data

    return read


@pytest.fixture
def judge_release(wheel: Callable[[str], Path]) -> Callable[[str], dict[str, Judgement]]:
    """Judge the whole series on a release, each patch on what the ones before it left."""

    def judge(version: str) -> dict[str, Judgement]:
        tree = WheelTree(wheel(version))
        found = {}
        for name in TARGETS:
            found[name] = SemanticKind().judge(patch_info(name), tree, Release(version))
            tree.files.update(found[name].contents)
            if found[name].contents:
                again = SemanticKind().judge(patch_info(name), tree, Release(version))
                assert (again.state.value, again.contents) == ("landed", {}), (version, name)
        return found

    return judge


def normal(source: str | bytes) -> str:
    return ast.dump(ast.parse(source))

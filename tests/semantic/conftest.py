"""Fixtures for the engine's tests: the four patches, their look-alike sources and the real releases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from patchtool.domain.patch import Judgement, PatchInfo
from patchtool.semantic.kind import SemanticKind
from tests.semantic import trees
from tests.semantic.trees import INFOS, ROOT, MemoryTree, WheelTree


@pytest.fixture
def judge() -> Callable[[str, str | bytes], Judgement]:
    """Judge one of the four patches on a source for its target."""
    return lambda name, source: trees.judge_bytes(name, source.encode() if isinstance(source, str) else source)


@pytest.fixture
def written() -> Callable[[str, Judgement], bytes]:
    """The bytes that a judgement has for a patch's target."""
    return lambda name, judgement: judgement.contents[INFOS[name].targets[0]] or b""


@pytest.fixture
def lookalike() -> Callable[..., str]:
    """A patch's look-alike source: ``before``, ``after`` or ``landed``."""

    def read(name: str, which: str = "before") -> str:
        case = "landed" if which == "landed" else "plain"
        return (ROOT / "patches" / name / "cases" / case / f"{which}.py").read_text()

    return read


@pytest.fixture
def tree_of() -> Callable[[Mapping[str, str]], MemoryTree]:
    """A tree of texts by path."""
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
def judge_codemod_on_tree(tmp_path: Path) -> Callable[..., Judgement]:
    """Judge a codemod given as text on a tree of texts by path."""

    def judge(codemod: str, files: Mapping[str, str], targets: tuple[str, ...]) -> Judgement:
        folder = tmp_path / f"p{abs(hash(codemod))}"
        folder.mkdir(exist_ok=True)
        (folder / "codemod.py").write_text(codemod)
        info = PatchInfo("p", "", "", "", targets, source_file=str(folder / "codemod.py"))
        return SemanticKind().judge(info, MemoryTree({path: text.encode() for path, text in files.items()}), None)

    return judge


@pytest.fixture
def release_source(wheel: Callable[[str], Path]) -> Callable[[str, str], bytes]:
    """A patch's target file in a release."""

    def read(name: str, version: str) -> bytes:
        data = WheelTree.of(wheel(version)).read(INFOS[name].targets[0])
        assert data is not None
        return data

    return read


@pytest.fixture
def judge_release(wheel: Callable[[str], Path]) -> Callable[[str], dict[str, Judgement]]:
    """Judge the series on a release, each patch on what the patches before it left."""

    def judge(version: str) -> dict[str, Judgement]:
        tree = WheelTree.of(wheel(version))
        judgements = {}
        for name in INFOS:
            judgements[name] = trees.judge(name, tree, version)
            if judgements[name].contents:
                tree = tree.written(judgements[name].contents)
                second = trees.judge(name, tree, version)
                assert (second.state.value, second.contents) == ("landed", {}), (version, name)
        return judgements

    return judge

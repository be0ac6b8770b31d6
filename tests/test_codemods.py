"""Each patch runs as a LibCST codemod command, and writes what ``patchtool apply`` writes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from libcst.codemod import (
    CodemodContext,
    TransformFailure,
    TransformResult,
    TransformSkip,
    TransformSuccess,
    transform_module,
)

import patchtool.codemods
from patchtool.adapters.project.project import open_project
from patchtool.domain.release import Release
from patchtool.domain.state import State
from patchtool.workflow.rendering import render
from tests.semantic.trees import WheelTree

ROOT = Path(__file__).parents[1]
COMMANDS = (
    "SsmIndexLayout",
    "MtpTracking",
    "KvCopyOverride",
    "TrackIndexPrecompute",
    "VerifyCowGuard",
    "MtpCommitFirstStep",
    "SpecStateLayout",
    "Fp4KvCopy",
)
LAYOUTS = {"0.5.11": "", "0.5.12": "python", "0.5.13": "lib/python3.11/site-packages", "0.5.14": "python"}


def codemod(command: str, *files: Path, cwd: Path = ROOT, jobs: int = 2) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "libcst.tool", "codemod", "--no-format", "-x", f"patchtool.codemods.{command}"]
    argv += [*map(str, files), "-j", str(jobs)]  # LibCST's first pass takes the value of an option for the command
    return subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("version", LAYOUTS)
def test_the_commands_write_what_apply_writes(version: str, wheel: Callable[[str], Path], tmp_path: Path) -> None:
    patches = open_project(ROOT).patches
    tree = WheelTree.of(wheel(version))
    before = {path: tree.read(path) or b"" for path in sorted({path for info in patches for path in info.footprint})}
    base = tmp_path / LAYOUTS[version]
    files = {path: base / path.removeprefix("python/") for path in before}
    for path, file in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(before[path])
    rendering = render(patches, tree, Release(version))
    assert len(files) > 4, "LibCST uses worker processes from five files on"
    for command, report in zip(COMMANDS, rendering.patches, strict=True):
        if report.judgement.state is State.ABSENT:
            continue  # a command is not told which release its files are of
        done = codemod(command, *files.values())
        assert done.returncode == 0, done.stderr
        if not report.judgement.contents:
            assert f"{report.info.name} is {report.judgement.state.value}" in done.stderr
    after = {path: file.read_bytes() for path, file in files.items()}
    contents = {path: data for report in rendering.patches for path, data in report.judgement.contents.items()}
    assert after == {**before, **contents}
    assert [path for path in before if after[path] != before[path]], "nothing to write on this release"


PAIR = """
from patchtool.semantic import *
from patchtool.semantic import SemanticPatch


class {name}(SemanticPatch):
    rules = tuple(
        Rule(
            file,
            scope=scope,
            target=f"python/sglang/{{file}}.py",
            edit=replace("{before}(A_)", "{after}(A_)"),
            goals=(goal("the call", "{after}(A_)"),),
        )
        for file, scope in (("a", "f"), ("b", "g"))
    )
    facts = (Fact("python/sglang/c.py", "", "new(A_)", "the function must exist"),)
"""
METADATA = """title = "small: a patch"
reason = "For a test."
author = "a <a@b.invalid>"
targets = {targets}
last-update = "2026-01-01"
"""
SOURCES = {
    "a": "def new(x): ...\n\n\ndef f(x):\n    old(x)\n",
    "b": "def new(x): ...\n\n\ndef g(x):\n    old(x)\n",
    "c": "def h():\n    new(1)\n",
}


class Small:
    """A project with one patch of two files, and a tree that it fits."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.package = folder / "tree" / "sglang"
        self.package.mkdir(parents=True)
        for name, text in SOURCES.items():
            self.file(name).write_text(text)
        self.project.mkdir()
        (self.project / "patchtool.toml").write_text('[upstream]\ndistribution = "sglang"\n')
        self.add(
            "pair", PAIR.format(name="Pair", before="old", after="new"), ["python/sglang/a.py", "python/sglang/b.py"]
        )

    def add(self, name: str, code: str, targets: list[str], more: str = "") -> None:
        folder = self.project / "patches" / name
        folder.mkdir(parents=True)
        (folder / "codemod.py").write_text(code)
        (folder / "patch.toml").write_text(METADATA.format(targets=targets) + more)
        with (self.project / "patches" / "series").open("a") as series:
            series.write(f"{name}\n")

    def file(self, name: str) -> Path:
        return self.package / f"{name}.py"

    def run(self, name: str, command: str = "Pair") -> TransformResult:
        context = CodemodContext(filename=str(self.file(name)))
        return transform_module(getattr(patchtool.codemods, command)(context), self.file(name).read_text())


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Small:
    made = Small(tmp_path)
    monkeypatch.chdir(made.project)
    return made


@pytest.mark.slow
def test_a_patch_of_two_files_is_written_file_by_file(small: Small) -> None:
    done = codemod("Pair", *map(small.file, SOURCES), cwd=small.project)
    assert done.returncode == 0, done.stderr
    for name, text in SOURCES.items():
        assert small.file(name).read_text() == text.replace("old", "new")
    done = codemod("Pair", *map(small.file, SOURCES), cwd=small.project)
    assert (done.returncode, done.stderr.count("pair is landed")) == (0, 2), done.stderr


def test_a_file_that_is_no_target_is_skipped(small: Small) -> None:
    result = small.run("c")
    assert isinstance(result, TransformSkip)
    assert result.skip_description == "no target of pair"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a", "def f(x):\n    other(x)\n", "anchor-missing"),
        ("b", "def g(x):\n    other(x)\n", "anchor-missing"),
        ("b", "def g(", "target-unparsable"),
        ("c", "def h(): ...\n", "fact-missing"),
    ],
)
def test_a_conflict_anywhere_in_the_patch_is_an_error(small: Small, name: str, text: str, reason: str) -> None:
    small.file(name).write_text(text)
    other = "a" if name == "b" else "b" if name == "a" else "a"
    result = small.run(other)
    assert isinstance(result, TransformFailure)
    assert f"conflict ({reason})" in str(result.error)
    done = codemod("Pair", small.file(other), cwd=small.project)
    assert done.returncode == 1
    assert f"conflict ({reason})" in done.stderr
    assert small.file(other).read_text() == SOURCES[other]


def test_a_missing_file_is_an_error(small: Small) -> None:
    small.file("b").unlink()
    result = small.run("a")
    assert isinstance(result, TransformFailure)
    assert "conflict (target-missing)" in str(result.error)


def test_a_fact_that_cannot_be_looked_up_is_a_warning(small: Small) -> None:
    small.file("c").unlink()
    result = small.run("a")
    assert isinstance(result, TransformSuccess)
    assert any("python/sglang/c.py" in message for message in result.warning_messages)


def test_a_required_patch_must_be_in_the_tree(small: Small) -> None:
    code = PAIR.format(name="Later", before="new", after="newer")
    for name in ("a", "b"):
        small.file(name).write_text(f"def newer(x): ...\n{SOURCES[name]}")
    small.add("later", code, ["python/sglang/a.py", "python/sglang/b.py"], 'requires = ["pair"]\n')
    result = small.run("a", "Later")
    assert isinstance(result, TransformFailure)
    assert str(result.error) == "later requires pair, which is not in this tree (applied)"
    assert codemod("Pair", *map(small.file, "ab"), cwd=small.project).returncode == 0
    assert isinstance(small.run("a", "Later"), TransformSuccess)


def test_an_unknown_or_ambiguous_name_is_an_error(small: Small) -> None:
    with pytest.raises(AttributeError, match=r"0 patches in .* are called Nothing"):
        _ = patchtool.codemods.Nothing
    small.add("same", PAIR.format(name="Pair", before="old", after="new"), ["python/sglang/a.py", "python/sglang/b.py"])
    with pytest.raises(AttributeError, match=r"2 patches in .* are called Pair"):
        _ = patchtool.codemods.Pair


def test_without_a_project_the_packaged_series_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command = patchtool.codemods.MtpTracking
    assert command.DESCRIPTION == "npu: commit the verified state to the tracked slots too"
    assert command is patchtool.codemods.MtpTracking

"""The guide for authors is true: its files and commands do what it says."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream

GUIDE = (Path(__file__).parents[1] / "patches" / "README.md").read_text()
TARGET = "python/sglang/srt/load_report.py"
FILES = re.findall(r"`(patches/[\w./]+)`:\n\n```\w+\n(.*?)```", GUIDE, re.DOTALL)
UPSTREAM, DIFF = (
    re.findall(rf"^```{kind}\n(.*?)```", GUIDE, re.DOTALL | re.MULTILINE)[0] for kind in ("python", "diff")
)
PATCHED = UPSTREAM.replace("len(batch.reqs)", "max(len(batch.reqs), 1)")
CODEMODS = [text for path, text in FILES if path.endswith("codemod.py")]


@pytest.fixture
def guide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> SmallUpstream:
    """A project without patches, whose upstream has the guide's file."""
    small = SmallUpstream(tmp_path, capsys)
    shutil.rmtree(small.project / "patches")
    (small.project / "patches").mkdir()
    (small.project / "patches" / "series").touch()
    small.release("1.0", {CACHE: SOURCE, TARGET: UPSTREAM})
    small.pin("1.0")
    return small


def write_files(guide: SmallUpstream, codemod: str) -> None:
    for path, text in FILES:
        file = guide.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(codemod if path.endswith("codemod.py") else text)
    (guide.project / "patches/series").write_text("empty_batch\n")


def test_the_draft_applies(guide: SmallUpstream) -> None:
    diff = guide.folder / "fix.patch"
    diff.write_text(DIFF)
    assert "patchtool new empty_batch --from fix.patch\n" in GUIDE
    created = guide.run("new", "empty_batch", "--from", str(diff))
    assert created.code == 0, created.err
    assert (guide.project / "patches/series").read_text() == "empty_batch\n"
    assert guide.run("status", "--json").states()["empty_batch"] == "applied"
    assert (guide.project / "patches/empty_batch/cases/drafted/after.py").read_text() == PATCHED


@pytest.mark.parametrize("codemod", CODEMODS, ids=["templates", "libcst"])
def test_the_patch_does_what_the_guide_says(guide: SmallUpstream, codemod: str) -> None:
    write_files(guide, codemod)
    for command in re.findall(
        r"^    patchtool (check|status|explain .*?|diff .*?|refresh .*?)(?:  .*)?$", GUIDE, re.MULTILINE
    ):
        done = guide.run(*command.split())
        assert done.code == 0, (command, done.out, done.err)
    assert guide.run("status", "--json").states()["empty_batch"] == "applied"
    assert guide.run("apply", "--output", str(guide.folder / "out")).code == 0
    assert (guide.folder / "out" / TARGET).read_text() == PATCHED


@pytest.mark.parametrize("codemod", CODEMODS, ids=["templates", "libcst"])
def test_the_patch_is_a_libcst_command(guide: SmallUpstream, codemod: str) -> None:
    write_files(guide, codemod)
    file = guide.folder / "site-packages" / TARGET.removeprefix("python/")
    file.parent.mkdir(parents=True)
    file.write_text(UPSTREAM)
    (command,) = re.findall(r"^    python (-m libcst.tool .*) FILE…$", GUIDE, re.MULTILINE)
    argv = [sys.executable, *command.split(), str(file)]
    done = subprocess.run(argv, cwd=guide.project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert file.read_text() == PATCHED
    done = subprocess.run(argv, cwd=guide.project, capture_output=True, text=True, check=False)
    assert (done.returncode, "empty_batch is landed" in done.stderr) == (0, True)

"""The guide for authors is true: its files and commands do what it says."""

from __future__ import annotations

import difflib
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import patchtool.semantic
from patchtool.domain.patch import Judgement, PatchInfo
from patchtool.semantic.judge import judge_files
from patchtool.semantic.load import load_draft
from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream

GUIDE = (Path(__file__).parents[1] / "patches" / "README.md").read_text()
TARGET = "python/sglang/srt/load_report.py"
FILES = re.findall(r"`(patches/[\w./]+)`:\n\n```\w+\n(.*?)```", GUIDE, re.DOTALL)
UPSTREAM, DIFF = (
    re.findall(rf"^```{kind}\n(.*?)```", GUIDE, re.DOTALL | re.MULTILINE)[0] for kind in ("python", "diff")
)
PATCHED = UPSTREAM.replace("len(batch.reqs)", "max(len(batch.reqs), 1)")
VOCABULARY = GUIDE[GUIDE.index("## The vocabulary") :]
STORE, BASE = re.findall(r"```python\n(.*?)```", VOCABULARY, re.DOTALL)[:2]
EXAMPLES = re.findall(r"```python\n((?:(?!```).)*?)```\n\n```(diff|text)\n(.*?)```", VOCABULARY, re.DOTALL)
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


def test_the_diff_is_a_text_patch_and_is_promoted(guide: SmallUpstream) -> None:
    section = GUIDE[GUIDE.index("## Text patches") : GUIDE.index("## The vocabulary")]
    folder = guide.project / "patches/empty_batch"
    folder.mkdir()
    (folder / "empty_batch.patch").write_text(DIFF)
    (folder / "patch.toml").write_text(re.findall(r"```toml\n(.*?)```", section, re.DOTALL)[0])
    (guide.project / "patches/series").write_text("empty_batch\n")
    assert guide.run("status", "--json").states() == {"empty_batch": "applied"}
    diff = guide.run("diff").out
    assert "patchtool new --from-patch empty_batch`" in section
    assert guide.run("new", "--from-patch", "empty_batch").code == 0
    assert guide.run("diff").out == diff


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


def test_why_not_says_what_the_guide_shows(guide: SmallUpstream) -> None:
    section = GUIDE[GUIDE.index("### When a template finds no site") : GUIDE.index("## Your own LibCST")]
    (command,) = re.findall(r"^    patchtool (.*)$", section, re.MULTILINE)
    (wrong,) = re.findall(r"^`(len.*)`,$", section, re.MULTILINE)
    (shown,) = re.findall(r"```text\n(.*?)```", section, re.DOTALL)
    write_files(guide, CODEMODS[0].replace("TOKENS_ / len(BATCH_.reqs)", f"TOKENS_ / {wrong}"))
    answer = guide.run(*command.split())
    assert (answer.code, answer.out.count(shown)) == (3, 1), answer.out


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


def judged(rule: str, store: str, scope: str = "") -> Judgement:
    """What an example of the vocabulary decides."""
    body = (f"scope = {scope!r}\n" if scope else "") + rule
    imports = "from patchtool.semantic import *\nfrom patchtool.semantic import SemanticPatch\n"
    text = f"{imports}class Example(SemanticPatch):\n{textwrap.indent(body, '    ')}"
    info = PatchInfo("example", "", "", "", ("store.py",), reads=("base.py",))
    return judge_files(info, load_draft(text), {"store.py": store.encode(), "base.py": BASE.encode()})


@pytest.mark.parametrize("codemod", CODEMODS, ids=["templates", "libcst"])
def test_other_code_like_the_defect_is_found(guide: SmallUpstream, codemod: str) -> None:
    write_files(guide, codemod)
    other = TARGET.replace("load", "idle")
    like = "class IdleReport:\n    def mean(self, items):\n        return sum(items) / len(items)\n"
    cured = like.replace("return", "if not items:\n            return 0\n        return").replace("Idle", "Cured")
    guide.release("1.1", {CACHE: SOURCE, TARGET: UPSTREAM, other: like, TARGET.replace("load", "cured"): cured})
    (row,) = guide.run("survey", "--siblings", "v1.1", "--json").document["releases"]
    assert [(s["path"], s["line"], s["likeness"], s["fixed"]) for s in row["siblings"]] == [
        (other, 3, "divides by a length", False),
        (TARGET, 11, "like what the rule EmptyBatch replaces", True),
    ]


@pytest.mark.parametrize(("rule", "diff"), [(rule, shown) for rule, kind, shown in EXAMPLES if kind == "diff"])
def test_edit_of_the_vocabulary_changes_the_lines_below_it(rule: str, diff: str) -> None:
    judgement = judged(rule, STORE)
    assert judgement.state.value == "applied", f"{judgement.reason}: {judgement.detail}{judgement.trace}"
    after = (judgement.contents["store.py"] or b"").decode()
    lines = difflib.unified_diff(STORE.splitlines(), after.splitlines(), lineterm="", n=0)
    assert [line for line in lines if not line.startswith(("---", "+++", "@@"))] == diff.splitlines()
    assert judged(rule, after).state.value == "landed"


@pytest.mark.parametrize(("rule", "decided"), [(rule, shown) for rule, kind, shown in EXAMPLES if kind == "text"])
def test_rule_of_the_vocabulary_decides_what_stands_below_it(rule: str, decided: str) -> None:
    for line in decided.splitlines():
        scope, expected = line.split()
        judgement = judged(rule, STORE, scope)
        assert (judgement.reason or judgement.state.value) == expected, (scope, judgement)


@pytest.mark.parametrize("name", patchtool.semantic.__all__)
def test_every_exported_name_is_in_the_guide(name: str) -> None:
    assert re.search(rf"`[^`\n]*\b{name}\b[^`\n]*`|^[^\n`]*\b{name}\(", GUIDE, re.MULTILINE), name


def test_vocabulary_has_an_example_for_every_edit() -> None:
    shown = " ".join(rule for rule, _, _ in EXAMPLES)
    edits = [name for name in patchtool.semantic.__all__ if name.startswith(("add_", "remove", "insert_"))]
    assert len(EXAMPLES) > len(edits) > 10
    for name in [*edits, "replace", "rename", "wrap"]:
        assert f"{name}(" in shown, name

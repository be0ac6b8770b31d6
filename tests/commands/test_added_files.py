"""A patch that creates files: rendered, written, committed, unapplied, landed or in conflict."""

import subprocess
from pathlib import Path

import pytest

from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream

NEW = "python/sglang/srt/added/helper.py"
HELPER = '"""Helps."""\n\nLIMIT = 3\n\n\ndef helper(rows):\n    return rows[:LIMIT]\n'
METADATA = """\
title = "srt: a helper"
reason = "the fork needs it"
author = "A <a@example.org>"
targets = [{targets}]
"""
ONLY = '''\
"""There is a helper."""

from patchtool.semantic import SemanticPatch


class Helper(SemanticPatch):
    """Only a file."""
'''


@pytest.fixture
def helper(upstream: SmallUpstream) -> SmallUpstream:
    folder = upstream.project / "patches/helper"
    file = folder / "files" / NEW
    file.parent.mkdir(parents=True)
    file.write_text(HELPER)
    (folder / "codemod.py").write_text(ONLY)
    (folder / "patch.toml").write_text(METADATA.format(targets=f'"{NEW}"'))
    (upstream.project / "patches/series").write_text("dense\ntracking\nhelper\n")
    return upstream


def test_check_accepts_a_patch_of_one_file(helper: SmallUpstream) -> None:
    assert "patches/helper" not in helper.run("check").out


def test_check_reports_a_file_that_is_no_python(helper: SmallUpstream) -> None:
    (helper.project / "patches/helper/files" / NEW).write_text("def (\n")
    assert f"patches/helper/files/{NEW}" in helper.run("check").out


def test_file_that_the_metadata_does_not_list_is_refused(helper: SmallUpstream) -> None:
    (helper.project / "patches/helper/patch.toml").write_text(METADATA.format(targets=f'"{CACHE}"'))
    refused = helper.run("status")
    assert refused.code == 2
    assert NEW in refused.err


def test_output_tree_has_the_file(helper: SmallUpstream) -> None:
    applied = helper.run("apply")
    assert applied.code == 0, applied.err
    output = next((helper.project / "build").glob("sglang-*"))
    assert (output / NEW).read_text() == HELPER
    listed = subprocess.run(
        ["git", "show", "--format=%s", "--name-status", "HEAD"], cwd=output, check=True, capture_output=True, text=True
    )
    assert listed.stdout.split() == ["srt:", "a", "helper", "A", NEW]
    again = helper.run("apply")
    assert (again.code, helper.run("status", "--json").states()["helper"]) == (0, "applied")


def test_diff_is_one_that_git_applies(helper: SmallUpstream, tmp_path: Path) -> None:
    diff = helper.run("diff", "--patch", "helper").out
    assert "new file mode 100644" in diff
    subprocess.run(["git", "apply", "-"], input=diff.encode(), cwd=tmp_path, check=True)
    assert (tmp_path / NEW).read_text() == HELPER


def unpacked(upstream: SmallUpstream, folder: Path, *, git: bool) -> Path:
    for name, text in {
        "sglang/__init__.py": "",
        "sglang/srt/__init__.py": "",
        CACHE.removeprefix("python/"): SOURCE,
    }.items():
        file = folder / "python" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    if git:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        for words in (("init", "-q"), ("add", "."), (*identity, "commit", "-qm", "upstream")):
            subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    files = (file for file in folder.rglob("*") if ".git" not in file.parts)
    return {file.relative_to(folder).as_posix(): file.read_bytes() if file.is_file() else b"" for file in files}


@pytest.mark.parametrize("git", [True, False], ids=["checkout", "folder"])
def test_apply_creates_the_file_and_unapply_removes_it(helper: SmallUpstream, tmp_path: Path, git: bool) -> None:
    tree = unpacked(helper, tmp_path / "tree", git=git)
    before = contents(tree)
    applied = helper.run("apply", "--tree", str(tree))
    assert applied.code == 0, applied.err
    assert (tree / NEW).read_text() == HELPER
    assert helper.run("apply", "--tree", str(tree)).code == 0
    assert helper.run("status", "--tree", str(tree), "--json").states()["helper"] == "applied"
    if git:
        shown = subprocess.run(["git", "status", "--porcelain"], cwd=tree, check=True, capture_output=True, text=True)
        assert shown.stdout == ""
    (tree / NEW).parent.joinpath("__pycache__").mkdir()
    unapplied = helper.run("unapply", "--tree", str(tree))
    assert unapplied.code == 0, unapplied.err
    assert contents(tree) == before
    if git:
        shown = subprocess.run(["git", "status", "--porcelain"], cwd=tree, check=True, capture_output=True, text=True)
        assert shown.stdout == ""


def test_no_commit_creates_the_file_only(helper: SmallUpstream, tmp_path: Path) -> None:
    tree = unpacked(helper, tmp_path / "tree", git=True)
    applied = helper.run("apply", "--tree", str(tree), "--no-commit")
    assert applied.code == 0, applied.err
    assert (tree / NEW).read_text() == HELPER
    assert helper.run("unapply", "--tree", str(tree)).code == 0
    assert not (tree / NEW).parent.exists()


def test_edited_file_is_not_removed(helper: SmallUpstream, tmp_path: Path) -> None:
    tree = unpacked(helper, tmp_path / "tree", git=False)
    assert helper.run("apply", "--tree", str(tree)).code == 0
    (tree / NEW).write_text("mine = 1\n")
    assert helper.run("unapply", "--tree", str(tree)).code != 0
    assert (tree / NEW).read_text() == "mine = 1\n"


@pytest.mark.parametrize(
    ("upstream_has", "state"),
    [
        pytest.param(HELPER, "landed", id="equal"),
        pytest.param(HELPER.replace("Helps", "Helps a lot") + "\n\ndef more():\n    pass\n", "landed", id="more"),
        pytest.param(HELPER.replace("rows[:LIMIT]", "rows"), "conflict", id="other code"),
        pytest.param("", "conflict", id="empty"),
    ],
)
def test_file_that_upstream_has(helper: SmallUpstream, upstream_has: str, state: str) -> None:
    helper.release("1.1", {CACHE: SOURCE, NEW: upstream_has})
    status = helper.run("status", "--on", "v1.1", "--json")
    assert status.states()["helper"] == state
    assert status.reasons()["helper"] == (None if state == "landed" else "file-exists")


def test_edit_imports_from_the_file_that_the_patch_creates(helper: SmallUpstream) -> None:
    folder = helper.project / "patches/helper"
    source = SOURCE.replace("from kernels", "from sglang.srt.added.helper import helper\nfrom kernels")
    helper.release("1.1", {CACHE: source})
    (folder / "patch.toml").write_text(METADATA.format(targets=f'"{CACHE}", "{NEW}"'))
    edit = """
    scope = "Cache.commit"
    edit = replace("return own", "return helper(own)")
    goals = (goal("rows are limited", "return helper(ROWS_)"),)
"""
    codemod = ONLY.replace("import SemanticPatch", "import SemanticPatch, goal, replace")
    (folder / "codemod.py").write_text(codemod + edit)
    status = helper.run("status", "--on", "v1.1", "--json")
    assert status.states()["helper"] == "applied", status.document["patches"]
    (folder / "files" / NEW).write_text("def other():\n    pass\n")
    status = helper.run("status", "--on", "v1.1", "--json")
    assert status.reasons()["helper"] == "import-missing"

"""A patch that deletes files: rendered, written, committed, unapplied, landed, moved or still in use."""

# ruff: noqa: E501

import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from patchtool.semantic.kind import SemanticKind
from tests.commands.small_upstream import CACHE, SOURCE, SmallUpstream
from tests.commands.test_added_files import METADATA, ONLY, contents, unpacked
from tests.commands.test_new import diff_of

OLD = "python/sglang/srt/old/legacy.py"
LEGACY = '"""Old."""\n\nLIMIT = 3\n\n\ndef legacy_rows(rows):\n    kept = rows[:LIMIT]\n    return kept\n'


@pytest.fixture
def legacy(upstream: SmallUpstream) -> SmallUpstream:
    folder = upstream.project / "patches/no_legacy"
    file = folder / "deleted" / OLD
    file.parent.mkdir(parents=True)
    file.write_text(LEGACY)
    (folder / "codemod.py").write_text(ONLY)
    (folder / "patch.toml").write_text(METADATA.format(targets=f'"{OLD}"'))
    (upstream.project / "patches/series").write_text("dense\ntracking\nno_legacy\n")
    upstream.release("1.0", {CACHE: SOURCE, OLD: LEGACY})
    upstream.pin("1.0")
    return upstream


def git(folder: Path, *words: str, stdin: str = "") -> str:
    run = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True, input=stdin)
    return run.stdout


def test_check_accepts_a_patch_that_only_deletes(legacy: SmallUpstream) -> None:
    assert "patches/no_legacy" not in legacy.run("check").out


def test_file_that_the_metadata_does_not_list_is_refused(legacy: SmallUpstream) -> None:
    (legacy.project / "patches/no_legacy/patch.toml").write_text(METADATA.format(targets=f'"{CACHE}"'))
    refused = legacy.run("status")
    assert refused.code == 2
    assert OLD in refused.err


def test_output_tree_lock_survey_and_explain_know_the_deletion(legacy: SmallUpstream) -> None:
    applied = legacy.run("apply")
    assert applied.code == 0, applied.err
    output = next((legacy.project / "build").glob("sglang-*"))
    assert not (output / OLD).exists()
    assert git(output, "show", "--format=%s", "--name-status", "HEAD").split() == ["srt:", "a", "helper", "D", OLD]
    assert legacy.run("apply").code == 0
    assert legacy.run("status", "--json").states()["no_legacy"] == "applied"
    assert legacy.run("refresh").code == 0
    assert OLD in (legacy.project / "patches/series.lock").read_text()
    assert legacy.run("status", "--json").states()["no_legacy"] == "applied"
    assert f"{OLD} is deleted" in legacy.run("explain", "no_legacy").out
    assert legacy.run("survey", "v1.0", "--json").code == 0
    assert "-8" in legacy.run("diff", "--stat", "--patch", "no_legacy").out


def test_diff_is_one_that_git_applies(legacy: SmallUpstream, tmp_path: Path) -> None:
    diff = legacy.run("diff", "--patch", "no_legacy").out
    (tmp_path / OLD).parent.mkdir(parents=True)
    (tmp_path / OLD).write_text(LEGACY)
    git(tmp_path, "apply", "-", stdin=diff)
    assert not (tmp_path / OLD).exists()


@pytest.mark.parametrize("mode", ["checkout", "checkout without commits", "folder"])
def test_apply_deletes_the_file_and_unapply_restores_it(legacy: SmallUpstream, tmp_path: Path, mode: str) -> None:
    tree = tmp_path / "tree"
    (tree / OLD).parent.mkdir(parents=True)
    (tree / OLD).write_bytes(LEGACY.encode())
    (tree / OLD).chmod(0o755)
    unpacked(legacy, tree, git=mode != "folder")
    before = contents(tree)
    flags = ["--no-commit"] if "without" in mode else []
    applied = legacy.run("apply", "--tree", str(tree), *flags)
    assert applied.code == 0, applied.err
    assert not (tree / OLD).exists()
    assert legacy.run("apply", "--tree", str(tree), *flags).code == 0
    assert legacy.run("status", "--tree", str(tree), "--json").states()["no_legacy"] == "applied"
    if mode == "checkout":
        assert git(tree, "status", "--porcelain") == ""
        assert OLD not in git(tree, "ls-files")
    unapplied = legacy.run("unapply", "--tree", str(tree))
    assert unapplied.code == 0, unapplied.err
    assert contents(tree) == before
    assert (tree / OLD).stat().st_mode & 0o777 == 0o755
    if mode != "folder":
        assert git(tree, "status", "--porcelain") == ""


def test_file_that_is_there_again_is_not_overwritten_by_unapply(legacy: SmallUpstream, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / OLD).parent.mkdir(parents=True)
    (tree / OLD).write_text(LEGACY)
    unpacked(legacy, tree, git=False)
    assert legacy.run("apply", "--tree", str(tree)).code == 0
    (tree / OLD).write_text("mine = 1\n")
    assert legacy.run("unapply", "--tree", str(tree)).code != 0
    assert (tree / OLD).read_text() == "mine = 1\n"


USER = "python/sglang/srt/user.py"
SAME_CODE = LEGACY.replace("Old.", "New.")
ON_UPSTREAM = [
    ("gone", {}, "landed", None),
    ("comment changed", {OLD: LEGACY.replace('"""Old."""', "# very old")}, "applied", None),
    ("code changed", {OLD: LEGACY.replace("[:LIMIT]", "[LIMIT:]")}, "conflict", "file-changed"),
    ("code added", {OLD: LEGACY + "\n\ndef more():\n    return 1\n"}, "conflict", "file-changed"),
    ("moved", {USER: SAME_CODE}, "conflict", "file-moved"),
    ("moved and edited", {USER: SAME_CODE.replace("return kept", "return sorted(kept)")}, "conflict", "file-moved"),
    ("other code of its name", {USER: "def legacy_rows():\n    raise NotImplementedError\n"}, "landed", None),
    ("name only mentioned", {USER: "legacy_rows = None\n"}, "landed", None),
    ("imported", {OLD: LEGACY, USER: "from sglang.srt.old.legacy import LIMIT\n"}, "conflict", "still-imported"),
    ("imported relatively", {OLD: LEGACY, USER: "from .old import legacy\n"}, "conflict", "still-imported"),
    ("imported in a function", {OLD: LEGACY, USER: "def f():\n    import sglang.srt.old.legacy\n"}, "conflict", "still-imported"),
    ("imported by name", {OLD: LEGACY, USER: "load('sglang.srt.old.legacy')\n"}, "conflict", "still-imported"),
    ("imported if it is there", {OLD: LEGACY, USER: "try:\n    import sglang.srt.old.legacy\nexcept ImportError:\n    pass\n"}, "applied", None),
    ("another module of its name", {OLD: LEGACY, USER: "from other import legacy\n"}, "applied", None),
]  # fmt: skip


@pytest.mark.parametrize(("files", "state", "reason"), [pytest.param(*row[1:], id=row[0]) for row in ON_UPSTREAM])
def test_state_on_an_upstream(legacy: SmallUpstream, files: dict[str, str], state: str, reason: str | None) -> None:
    legacy.release("1.1", {CACHE: SOURCE, **files})
    status = legacy.run("status", "--on", "v1.1", "--json")
    assert (status.states()["no_legacy"], status.reasons()["no_legacy"]) == (state, reason), status.document["patches"]


def test_repeated_status_of_a_deletion_that_landed_makes_no_judgement(
    legacy: SmallUpstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    legacy.release("1.1", {CACHE: SOURCE})
    assert legacy.run("status", "--on", "v1.1", "--json").states()["no_legacy"] == "landed"
    monkeypatch.setattr(SemanticKind, "judge", None)
    assert legacy.run("status", "--on", "v1.1", "--json").states()["no_legacy"] == "landed"


def test_rebase_onto_a_release_without_the_file(legacy: SmallUpstream) -> None:
    assert legacy.run("refresh").code == 0
    legacy.release("1.1", {CACHE: SOURCE})
    rebased = legacy.run("rebase", "--to", "v1.1", "--json")
    assert rebased.code == 0, rebased.err
    assert legacy.run("status", "--json").states()["no_legacy"] == "landed"


def test_edit_removes_the_import_of_the_file_that_the_patch_deletes(legacy: SmallUpstream) -> None:
    importing = "from sglang.srt.old.legacy import LIMIT\n"
    folder = legacy.project / "patches/no_legacy"
    (folder / "patch.toml").write_text(METADATA.format(targets=f'"{USER}", "{OLD}"'))
    codemod = ONLY.replace("import SemanticPatch", "import SemanticPatch, remove_import")
    (folder / "codemod.py").write_text(f"{codemod}\n    edit = remove_import({importing.strip()!r})\n")
    legacy.release("1.1", {CACHE: SOURCE, OLD: LEGACY, USER: f"{importing}\nX = 1\n"})
    status = legacy.run("status", "--on", "v1.1", "--json")
    assert status.states()["no_legacy"] == "applied", status.document["patches"]


def test_one_patch_deletes_what_another_one_creates_or_edits(legacy: SmallUpstream, tmp_path: Path) -> None:
    folder = legacy.project / "patches/back"
    file = folder / "files" / OLD
    file.parent.mkdir(parents=True)
    file.write_text("def fresh():\n    return 1\n")
    (folder / "codemod.py").write_text(ONLY)
    (folder / "patch.toml").write_text(METADATA.format(targets=f'"{OLD}"') + 'requires = ["no_legacy"]\n')
    (legacy.project / "patches/series").write_text("dense\ntracking\nno_legacy\nback\n")
    applied = legacy.run("apply")
    assert applied.code == 0, applied.err + applied.out
    output = next((legacy.project / "build").glob("sglang-*"))
    assert (output / OLD).read_text() == file.read_text()
    tree = tmp_path / "tree"
    (tree / OLD).parent.mkdir(parents=True)
    (tree / OLD).write_text(LEGACY)
    unpacked(legacy, tree, git=True)
    before = contents(tree)
    applied = legacy.run("apply", "--tree", str(tree))
    assert applied.code == 0, applied.err
    assert (tree / OLD).read_text() == file.read_text()
    assert legacy.run("unapply", "--tree", str(tree)).code == 0
    assert contents(tree) == before


def test_new_drafts_a_deletion_that_check_accepts_and_that_applies(legacy: SmallUpstream, tmp_path: Path) -> None:
    diff = legacy.run("diff", "--patch", "no_legacy").out
    (legacy.project / "patches/series").write_text("dense\ntracking\n")
    shutil.rmtree(legacy.project / "patches/no_legacy")
    change = tmp_path / "fix.patch"
    edit = diff_of(SOURCE, SOURCE.replace("return own", "return list(own)"), CACHE)
    change.write_text(
        diff
        + edit
        + "--- a/other.yaml\n+++ b/other.yaml\n@@ -1 +1 @@\n-a: 1\n+a: 2\n--- a/x.cpp\n+++ /dev/null\n@@ -1 +0,0 @@\n-int x;\n"
    )
    made = legacy.run("new", "drafted", "--from", str(change), "--json")
    assert made.code == 0, made.err
    assert [hunk["path"].rpartition("/")[2] for hunk in made.document["unstated"]] == ["other.yaml", "x.cpp"]
    assert (legacy.project / "patches/drafted/deleted" / OLD).read_text() == LEGACY
    assert legacy.run("status", "--json").states()["drafted"] == "applied"
    assert legacy.faults("drafted") == []


def test_exports_delete_the_file(legacy: SmallUpstream, tmp_path: Path) -> None:
    exported = legacy.run("export", "quilt", "mbox", "--output", str(tmp_path / "out"))
    assert exported.code == 0, exported.err
    diffs = [file.read_text() for file in (tmp_path / "out").rglob("*") if "no_legacy" in file.name]
    assert diffs
    assert all("deleted file mode 100644" in diff for diff in diffs)
    wheels = legacy.run("export", "wheel", "--output", str(tmp_path / "wheels"))
    assert wheels.code == 0, wheels.err
    (wheel,) = (tmp_path / "wheels").rglob("*.whl")
    assert OLD.removeprefix("python/") not in zipfile.ZipFile(wheel).namelist()

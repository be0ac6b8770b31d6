"""A proof is about the bytes that its tests loaded; on other bytes there is none, and every output says so."""

from __future__ import annotations

import json
import shutil
import time
from typing import TYPE_CHECKING, Any

import pytest

from patchtool.domain.state import Proof
from patchtool.matrix.planning.matrix_file import Matrix
from patchtool.matrix.verdict import PatchProof
from patchtool.workflow.lock_comparison import render_series
from patchtool.workflow.matrix_results import record_proofs
from patchtool.workflow.matrix_run import MatrixRun
from patchtool.workflow.matrix_trees import base_trees
from patchtool.workflow.session import Session
from tests.commands.small_upstream import CACHE, METADATA, SOURCE, SmallUpstream

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

HELPER, UNRELATED = "python/sglang/srt/kernels.py", "python/sglang/srt/unrelated.py"
VERSION = "python/sglang/_version.py"
PACKAGE = "python/sglang/srt/kernels/__init__.py"
FILES = {
    VERSION: "version = '1.0'\n",
    CACHE: SOURCE,
    HELPER: "def copy_rows(state, own):\n    state.copy(own)\n",
    UNRELATED: "x = 1\n",
}
LOADED = ("python/sglang/__init__.py", "python/sglang/srt/__init__.py", CACHE, HELPER, VERSION)
FILL = "        self.table[0:total] = slots\n        self.table[total:] = 0\n"
LANDED = {
    **FILES,
    VERSION: "version = '1.1'\n",
    CACHE: SOURCE.replace(FILL, "        self.table[:] = slots\n").replace(
        "        # undo", "        copy_rows(state, tracked)\n        # undo"
    ),
}


@pytest.fixture
def proven(upstream: SmallUpstream) -> SmallUpstream:
    """A project whose patches are proven on 1.0; 1.1 has both."""
    upstream.release("1.0", FILES)
    upstream.pin("1.0")
    upstream.release("1.1", LANDED)
    assert upstream.run("fetch", "1.0", "1.1").code == 0
    assert upstream.run("refresh").code == 0
    prove(upstream)
    return upstream


def prove(
    upstream: SmallUpstream,
    *,
    release: str = "",
    tree: Path | None = None,
    verdict: Proof = Proof.AGREES,
    loaded: tuple[str, ...] = LOADED,
    started: float = 0.0,
) -> list[str]:
    """Record what ``patchtool test`` records after a run in which every cell was as expected."""
    session = Session(upstream.project, upstream.folder / "store", offline=True)
    bases = base_trees(session, Matrix(), [release] if release else [], tree)
    rendering = render_series(session, bases[0].tree, bases[0].release)
    proofs = tuple(
        PatchProof(patch.info.name, bases[0].release, patch.judgement.state, None, None, verdict, "", loaded)
        for patch in rendering.patches
    )
    began = started or time.time() + 1
    return record_proofs(session, MatrixRun(tuple(bases), (), (), proofs, (), (rendering,), began))


def planted(upstream: SmallUpstream, files: Mapping[str, str], version: str = "1.0") -> Path:
    """A folder of a user with these files."""
    root = upstream.folder / "tree"
    for path, text in {"python/sglang/__init__.py": "", "python/sglang/srt/__init__.py": "", **files}.items():
        file = root / path.removeprefix("python/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    info = root / f"sglang-{version}.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: sglang\nVersion: {version}\n")
    return root


def proofs(upstream: SmallUpstream, *argv: str) -> dict[str, tuple[Any, ...]]:
    document = upstream.run(*argv, "--json").document
    return {p["name"]: (p["proof"], p["proven_on"], p["proof_detail"]) for p in document["patches"]}


PROVEN = dict.fromkeys(("dense", "tracking"), ("agrees", "v1.0", None))


def test_release_has_the_proof_of_its_run(proven: SmallUpstream) -> None:
    assert proofs(proven, "status") == PROVEN
    assert proven.run("status").code == 0
    lock = (proven.project / "patches/series.lock").read_text()
    assert lock.count('proof = "agrees"') == lock.count("tests = ") == 2
    record = json.loads((proven.project / "patches/series.proofs/1.0.json").read_bytes())
    assert sorted(record["files"]) == sorted(set(LOADED) - {VERSION})
    (row,) = proven.run("survey", "1.0", "--json").document["releases"]
    assert {patch["proof"] for patch in row["patches"]} == {"agrees"}


SAME: dict[str, Callable[[dict[str, str]], Any]] = {
    "as-released": lambda files: None,
    "file-that-no-test-loaded": lambda files: files.update({UNRELATED: "x = 2\n"}),
    "version-of-another-build": lambda files: files.update({VERSION: "version = '1.0.dev1'\n"}),
    "git-checkout-without-version": lambda files: files.pop(VERSION),
    "another-file": lambda files: files.update({"python/sglang/srt/more.py": "x = 3\n"}),
}
OTHER: dict[str, tuple[Callable[[dict[str, str]], Any], str]] = {
    "helper-changed": (lambda files: files.update({HELPER: "def copy_rows(state, own):\n    pass\n"}), HELPER),
    "helper-commented": (lambda files: files.update({HELPER: "# mine\n" + FILES[HELPER]}), HELPER),
    "package-instead-of-the-helper": (lambda files: files.update({PACKAGE: "x = 1\n"}), PACKAGE),
    "helper-gone": (lambda files: files.pop(HELPER), HELPER),
    "target-commented": (lambda files: files.update({CACHE: "# mine\n" + SOURCE}), CACHE),
    "target-returns-early": (
        lambda files: files.update({CACHE: SOURCE.replace("        own = state.rows", "        own = tuple(state)")}),
        CACHE,
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_tree_with_the_same_bytes_has_the_proof_of_its_release(proven: SmallUpstream, name: str) -> None:
    files = dict(FILES)
    SAME[name](files)
    tree = str(planted(proven, files))
    assert proofs(proven, "status", "--tree", tree) == PROVEN
    assert proven.run("status", "--tree", tree).code == 1, "it is not applied"
    assert proven.run("apply", "--tree", tree).code == 0
    assert proofs(proven, "status", "--tree", tree) == PROVEN
    assert proven.run("status", "--tree", tree).code == 0


@pytest.mark.parametrize("name", OTHER)
def test_tree_with_other_bytes_has_no_proof(proven: SmallUpstream, name: str) -> None:
    change, path = OTHER[name]
    files = dict(FILES)
    change(files)
    tree = str(planted(proven, files))
    none = ("none", None, f"proven on other bytes: {path} differs from v1.0")
    assert proofs(proven, "status", "--tree", tree) == {"dense": none, "tracking": none}
    assert proofs(proven, "explain", "dense", "--tree", tree) == {"dense": none}
    text = proven.run("status", "--tree", tree)
    assert text.code == 1
    assert "agrees" not in text.out
    assert f"note: no proof for dense, tracking: proven on other bytes: {path} differs from v1.0" in text.out
    assert f"patchtool test --tree {tree}" in text.out
    assert f"proof: none, proven on other bytes: {path}" in proven.run("explain", "dense", "--tree", tree).out


def test_tree_gets_a_proof_of_its_own(proven: SmallUpstream) -> None:
    tree = planted(proven, {**LANDED, HELPER: "# mine\n" + FILES[HELPER]}, "1.1")
    before = proven.run("status", "--tree", str(tree))
    assert before.code == 0, "1.1 was never proven"
    assert before.out.count("landed (unproven)") == 2
    assert prove(proven, tree=tree) == ["the store records the proofs of this tree"]
    own = dict.fromkeys(("dense", "tracking"), ("agrees", "this tree", None))
    assert proofs(proven, "status", "--tree", str(tree)) == own
    assert proven.run("status", "--tree", str(tree)).out.count("landed (proven on this tree)") == 2
    (tree / "sglang/srt/kernels.py").write_text("# theirs\n")
    after = proven.run("status", "--tree", str(tree))
    assert (after.code, after.out.count("landed (unproven)")) == (1, 2)
    assert proofs(proven, "status") == PROVEN
    assert proofs(proven, "status", "--on", "1.1")["dense"] == (
        "none",
        None,
        f"proven on other bytes: {HELPER} differs from this tree",
    )


def test_file_that_changes_while_it_is_tested_leaves_nothing_recorded(proven: SmallUpstream) -> None:
    tree = planted(proven, LANDED, "1.1")
    (note,) = prove(proven, tree=tree, started=time.time() - 60)
    assert note.startswith("nothing is recorded: python/sglang/")
    assert {proof for proof, *_ in proofs(proven, "status", "--tree", str(tree)).values()} == {"none"}


def test_proof_of_an_earlier_version_is_about_the_release_alone(proven: SmallUpstream) -> None:
    lock = proven.project / "patches/series.lock"
    lines = lock.read_text().splitlines(keepends=True)
    lock.write_text("".join(line for line in lines if not line.startswith("tests = ")))
    for folder in (proven.project / "patches/series.proofs", proven.folder / "store/results/proofs"):
        for file in folder.iterdir():
            file.unlink()
    assert proofs(proven, "status") == PROVEN
    found = proofs(proven, "status", "--tree", str(planted(proven, FILES)))
    assert found["dense"] == ("none", None, "the proof on v1.0 does not say on which files it was made")


@pytest.mark.parametrize("edited", ["dense/codemod.py", "dense/test_dense.py"])
def test_edited_patch_or_test_has_no_proof(proven: SmallUpstream, edited: str) -> None:
    file = proven.project / "patches" / edited
    file.write_text((file.read_text() if file.exists() else "") + "\n# mine\n")
    found = proofs(proven, "status")
    assert found["dense"][0] == "none"
    assert "edited since" in found["dense"][2]
    assert found["tracking"] == PROVEN["tracking"]
    assert proven.run("refresh").code == 0
    assert proofs(proven, "status")["dense"][0] == "none"


def test_edited_requirement_voids_the_proof(proven: SmallUpstream) -> None:
    toml = proven.project / "patches/tracking/patch.toml"
    toml.write_text(toml.read_text() + 'requires = ["dense"]\n')
    assert proven.run("refresh").code == 0
    prove(proven)
    assert proofs(proven, "status") == PROVEN
    codemod = proven.project / "patches/dense/codemod.py"
    codemod.write_text(codemod.read_text() + "\n# mine\n")
    assert proofs(proven, "status")["tracking"] == ("none", None, "dense was edited since")


def test_failed_patch_has_no_proof(proven: SmallUpstream) -> None:
    files = {**FILES, CACHE: SOURCE.replace("self.table[total:] = 0", "pass")}
    tree = str(planted(proven, files))
    assert proofs(proven, "status", "--tree", tree)["dense"] == ("none", None, None)
    assert proven.run("status", "--tree", tree).code == 3


def test_disputed_release_is_disputed_and_another_tree_is_not(proven: SmallUpstream) -> None:
    prove(proven, verdict=Proof.DISPUTES)
    status = proven.run("status")
    assert (status.code, status.out.count("disputes")) == (1, 2)
    tree = str(planted(proven, {**FILES, HELPER: "x = 1\n"}))
    assert proofs(proven, "status", "--tree", tree)["dense"][0] == "none"


def test_rebase_says_what_is_unproven_and_can_refuse_it(proven: SmallUpstream) -> None:
    before = proven.written()
    plan = proven.run("rebase", "--to", "1.1", "--dry-run")
    assert plan.code == 0
    assert plan.out.count("landed (unproven)") == 2
    note = "no tests have confirmed dense, tracking on v1.1: patchtool test --release v1.1 runs them"
    assert f"note: {note}" in plan.out
    refused = proven.run("rebase", "--to", "1.1", "--require-proof")
    assert refused.code == 1
    assert "nothing was written: dense, tracking without a proof on v1.1 (--require-proof)" in refused.out
    assert proven.written() == before
    prove(proven, release="1.1")
    done = proven.run("rebase", "--to", "1.1", "--require-proof")
    assert done.code == 0, done.out
    assert done.out.count("landed (proven on v1.1)") == 2
    assert "no tests have confirmed" not in done.out
    assert (proven.project / "patches/series.proofs/1.1.json").exists()
    assert proofs(proven, "status") == dict.fromkeys(PROVEN, ("agrees", "v1.1", None))
    assert proven.run("rebase", "--to", "1.1").out.endswith("nothing to do\n")


def test_accepted_dispute_counts_as_proven(proven: SmallUpstream) -> None:
    prove(proven, release="1.1", verdict=Proof.DISPUTES)
    assert "landed (disputed)" in proven.run("rebase", "--to", "1.1", "--require-proof").out
    accepted = ("--accept", "dense", "--accept", "tracking", "--reason", "a test is wrong")
    assert proven.run("rebase", "--to", "1.1", "--require-proof", *accepted).code == 0
    assert proven.run("status").code == 0


def test_cells_that_do_not_say_what_they_loaded_prove_the_release_alone(upstream: SmallUpstream) -> None:
    assert upstream.run("refresh").code == 0
    prove(upstream, loaded=())
    assert proofs(upstream, "status")["dense"][0] == "agrees"
    tree = str(planted(upstream, {CACHE: SOURCE}))
    assert proofs(upstream, "status", "--tree", tree)["dense"][0] == "none"


def test_survey_takes_no_proofs_from_a_run_on_a_folder(proven: SmallUpstream) -> None:
    made = {
        "patch": "dense", "release": "v1.1", "structural": "landed", "pristine": "green", "patched": None,
        "verdict": "agrees", "detail": "",
    }  # fmt: skip
    for source, count in (("pypi", 1), ("tree", 0)):
        upstream = {"release": "v1.1", "source": source}
        run = {"schema": 1, "verb": "test", "cells": [], "proofs": [made], "notes": [], "upstream": upstream}
        saved, page = proven.folder / "run.json", proven.folder / "page.html"
        saved.write_text(json.dumps(run))
        assert proven.run("survey", "1.1", "--html", str(page), "--tests", str(saved)).code == 0
        assert page.read_text().count("landed, tests agree") // 2 == count
        assert ("ran on a folder" in page.read_text()) is (source == "tree")


def test_survey_legend_says_that_an_unmarked_landed_is_unproven(proven: SmallUpstream) -> None:
    sentence = "landed without a mark is unproven"
    assert sentence in proven.run("survey", "1.1").out
    assert sentence in proven.run("survey", "1.1", "--markdown").out
    assert sentence not in proven.run("survey", "1.0").out


BUFFER = "python/sglang/srt/buffer.py"
ROWS = """\
from sglang.srt.kernels import scale


class Buffer:
    def rows(self, count):
        return scale(count)
"""
TWICE = """\
from patchtool.semantic import SemanticPatch, goal, replace


class Twice(SemanticPatch):
    scope = "Buffer.rows"
    edit = replace("return scale(COUNT_)", "return scale(COUNT_) + 1")
    goals = (goal("one more", "return scale(COUNT_) + 1"),)
"""
TEST = """\
from patchtool.emulation.testing import assert_equal
from patchtool.emulation.upstream import import_srt


def test_one_more():
    assert_equal("rows", import_srt("buffer").Buffer().rows(3), 7)
"""


@pytest.mark.slow
@pytest.mark.emulated
def test_real_run_seals_what_its_cells_loaded(upstream: SmallUpstream) -> None:
    files = {BUFFER: ROWS, HELPER: "def scale(count):\n    return 2 * count\n", UNRELATED: "x = 1\n"}
    upstream.release("1.0", files)
    upstream.pin("1.0")
    patch = upstream.project / "patches/dense"
    (patch / "codemod.py").write_text(TWICE)
    (patch / "patch.toml").write_text(METADATA.format(title="one more").replace("cache.py", "buffer.py"))
    (patch / "test_dense.py").write_text(TEST)
    shutil.rmtree(upstream.project / "patches/tracking")
    (upstream.project / "patches/series").write_text("dense\n")
    (upstream.project / "ci").mkdir()
    (upstream.project / "ci/matrix.toml").write_text(
        '[[rows]]\nplan = "proofs"\ntiers = ["emulated"]\nreleases = ["pin"]\n'
    )
    assert upstream.run("refresh").code == 0
    (proof,) = upstream.run("test", "--json").document["proofs"]
    assert (proof["pristine"], proof["patched"], proof["verdict"]) == ("red", "green", "agrees"), proof
    assert proofs(upstream, "status") == {"dense": ("agrees", "v1.0", None)}
    record = json.loads((upstream.project / "patches/series.proofs/1.0.json").read_bytes())
    assert {BUFFER, HELPER} <= set(record["files"])
    assert UNRELATED not in record["files"]
    tree = str(planted(upstream, {**files, HELPER: files[HELPER] + "# mine\n"}))
    assert proofs(upstream, "status", "--tree", tree)["dense"][0] == "none"
    assert upstream.run("test", "--tree", tree, "--json").document["proofs"][0]["verdict"] == "agrees"
    for _ in range(2):
        assert proofs(upstream, "status", "--tree", tree) == {"dense": ("agrees", "this tree", None)}
        assert upstream.run("apply", "--tree", tree).code == 0

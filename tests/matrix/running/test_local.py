"""The worker and its forks, on a tree of empty modules; what a cell does is up to the test file it is given."""

import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from patchtool.domain.errors import InputError
from patchtool.matrix.cell import Cell, Outcome, Test, Tier
from patchtool.matrix.options import RunOptions
from patchtool.matrix.release_trees import ReleaseTrees
from patchtool.matrix.running.run import run_cells
from tests.matrix.conftest import RELEASE

_REQUIRED = os.environ.get("PATCHTOOL_REQUIRE_CONSUMERS") == "1"
FILE = "hardware_backend/npu/memory_pool_npu.py"
PATCHED = {f"python/sglang/srt/{FILE}": b"WHO = 'patched'\n"}
OPTIONS = RunOptions(timeout=20)

BODY = """
import os, sys, time
from patchtool.emulation import testing

def test_pass():
    testing.record(answer=42)
    print("noise on stdout")

def test_fail():
    testing.assert_equal("answer", 41, 42)

def test_upstream_asserts():
    assert False, "upstream's own"

def test_exit():
    sys.exit(3)

def test_crash():
    os.abort()

def test_hang():
    os.system("sleep 60")

def test_patched():
    from sglang.srt.hardware_backend.npu import memory_pool_npu
    testing.assert_equal("who", getattr(memory_pool_npu, "WHO", "pristine"), "patched")

def test_stand_ins():
    import torch, torch_npu, sgl_kernel_npu.anything.below
    testing.assert_equal("torch_npu", torch_npu.__version__, "0+emulated")
    testing.assert_equal("device", str(torch.ones(2, device="npu:0").device), "cpu")
    try:
        sgl_kernel_npu.anything.below.some_kernel(1, 2)
    except RuntimeError as error:
        testing.assert_equal("error", "sgl_kernel_npu.anything.below.some_kernel was called" in str(error), True)
    else:
        raise testing.MismatchError("an unknown kernel was called in silence")

def test_module_of_other_releases():
    import sglang.srt.a_later_module

def test_others_are_not_stood_in_for():
    try:
        import torchcodec
    except ModuleNotFoundError:
        return
    raise testing.MismatchError("a stand-in where none is allowed")
"""


@pytest.fixture
def cell(tmp_path: Path) -> Any:
    path = tmp_path / "test_body.py"
    path.write_text(BODY)

    def make(name: str, patches: tuple[str, ...] = ()) -> Cell:
        return Cell(RELEASE, patches, Tier.EMULATED, Test(f"body::{name}", str(path), f"test_{name}"))

    return make


@pytest.fixture
def subject(small_tree: Path) -> ReleaseTrees:
    return ReleaseTrees(RELEASE, small_tree, {("one",): PATCHED})


def results(cells: Any, subject: Any, options: Any = OPTIONS) -> Any:
    return {result.cell.id.rpartition("/emulated/")[2]: result for result in run_cells(cells, [subject], options)}


@pytest.mark.emulated
def test_every_outcome_is_told_apart(cell: Any, subject: Any) -> None:
    names = (
        "module_of_other_releases",
        "pass",
        "fail",
        "upstream_asserts",
        "exit",
        "crash",
        "stand_ins",
        "others_are_not_stood_in_for",
    )
    found = results([cell(name) for name in names], subject)
    outcomes = {name.rpartition("::")[2]: result.outcome.value for name, result in found.items()}
    assert outcomes == {
        "module_of_other_releases": "skipped",
        "pass": "passed",
        "fail": "failed",
        "upstream_asserts": "error",
        "exit": "error",
        "crash": "error",
        "stand_ins": "passed",
        "others_are_not_stood_in_for": "passed",
    }
    assert found["pristine/body::pass"].numbers == {"answer": 42}
    assert found["pristine/body::fail"].detail == "answer: got 41, want 42"
    assert "upstream's own" in found["pristine/body::upstream_asserts"].detail
    assert "ended with -6" in found["pristine/body::crash"].detail


@pytest.mark.emulated
@pytest.mark.parametrize("options", [OPTIONS, replace(OPTIONS, fork=False), replace(OPTIONS, jobs=2)])
def test_each_subset_is_its_own_tree(cell: Any, subject: Any, options: Any) -> None:
    found = results([cell("patched"), cell("patched", ("one",)), cell("pass")], subject, options)
    assert [(result.outcome, result.detail) for result in found.values()] != []
    assert found["pristine/body::patched"].detail == "who: got pristine, want patched"
    assert found["one/body::patched"].outcome is Outcome.PASSED
    assert found["pristine/body::pass"].outcome is Outcome.PASSED


@pytest.mark.emulated
@pytest.mark.parametrize("fork", [True, False])
def test_a_cell_that_hangs_is_ended_and_the_next_one_runs(cell: Any, subject: Any, fork: Any) -> None:
    started = time.monotonic()
    found = results([cell("hang"), cell("pass")], subject, replace(OPTIONS, timeout=5, fork=fork))
    assert found["pristine/body::hang"].outcome is Outcome.TIMEOUT
    assert found["pristine/body::pass"].outcome is Outcome.PASSED
    assert time.monotonic() - started < 40


@pytest.mark.emulated
def test_the_real_torch_npu_without_cann_is_in_nobody_s_way(
    cell: Any, subject: Any, tmp_path: Path, installed: Callable[[str], Path]
) -> None:
    torch = metadata.version("torch").partition("+")[0]
    try:
        torch_npu = installed(f"torch_npu=={torch}")
    except subprocess.CalledProcessError:
        if _REQUIRED:
            raise
        pytest.skip(f"pip finds no torch_npu for torch {torch}")
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    (packages,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    (packages / "all.pth").write_text(f"{sysconfig.get_path('purelib')}\n{torch_npu}\n")
    trap = subprocess.run([str(python), "-c", "import torch"], capture_output=True, text=True, check=False)
    assert "Failed to load the backend extension: torch_npu" in trap.stderr, "it is not the trap that this is about"
    found = results([cell("stand_ins")], subject, replace(OPTIONS, python=str(python)))
    assert (found["pristine/body::stand_ins"].outcome, found["pristine/body::stand_ins"].detail) == (Outcome.PASSED, "")


@pytest.mark.emulated
def test_a_torch_npu_in_the_tree_is_never_imported(cell: Any, subject: Any) -> None:
    (subject.tree / "torch_npu").mkdir()
    (subject.tree / "torch_npu" / "__init__.py").write_text("REAL = True\nraise ImportError('libhccl.so')\n")
    assert results([cell("stand_ins")], subject)["pristine/body::stand_ins"].detail == ""


@pytest.mark.emulated
def test_what_a_tree_needs_is_named(cell: Any, subject: Any) -> None:
    (subject.tree / "sglang" / "srt" / FILE).write_text("import some_new_dependency\n")
    (found,) = results([cell("pass")], subject).values()
    assert found.outcome is Outcome.ERROR
    assert "some_new_dependency is not installed" in found.detail


def test_an_interpreter_without_the_packages_is_no_verdict(cell: Any, subject: Any, tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text("#!/bin/sh\necho 'no such module' >&2\nexit 1\n")
    bare.chmod(0o755)
    (found,) = results([cell("pass")], subject, replace(OPTIONS, python=str(bare))).values()
    assert (found.outcome, "no such module" in found.detail) == (Outcome.ERROR, True)


def test_an_interpreter_that_is_not_there(cell: Any, subject: Any) -> None:
    (found,) = results([cell("pass")], subject, replace(OPTIONS, python="/nowhere/python")).values()
    assert (found.outcome, "/nowhere/python" in found.detail) == (Outcome.ERROR, True)


def test_a_tree_nobody_gave_is_refused(cell: Any, subject: Any) -> None:
    with pytest.raises(InputError, match="no tree was given"):
        results([cell("pass", ("two",))], subject)


def test_an_overlay_stays_inside_its_tree(subject: Any) -> None:
    with pytest.raises(InputError, match="not a file of the tree"):
        replace(subject, overlays={("one",): {"python/sglang/../../x.py": b""}})


def test_npu_cells_are_skipped_with_the_reason(cell: Any, subject: Any) -> None:
    (found,) = results([replace(cell("pass"), tier=Tier.NPU)], subject).values()
    assert found.outcome is Outcome.SKIPPED
    assert "NPU" in found.detail

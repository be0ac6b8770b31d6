"""Workers and their forks on a tree of empty modules, with a test file for every way in which a cell can end."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from patchtool.domain.errors import InputError
from patchtool.emulation.preload import BACKEND_MODULES
from patchtool.matrix.cell import Cell, Outcome, Test, Tier
from patchtool.matrix.options import RunOptions
from patchtool.matrix.release_trees import ReleaseTrees
from patchtool.matrix.running.run import run_cells
from tests.matrix.conftest import RELEASE
from tests.matrix.waiting import LIMIT, group_is_gone, wait_until

_REQUIRED = os.environ.get("PATCHTOOL_REQUIRE_CONSUMERS") == "1"
FILE = "hardware_backend/npu/memory_pool_npu.py"
PATCHED = {f"python/sglang/srt/{FILE}": b"WHO = 'patched'\n"}
OPTIONS = RunOptions(timeout=LIMIT, import_timeout=LIMIT)

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
    with open(__file__ + ".group", "w") as file:
        file.write(str(os.getpgrp()))
    os.system("sleep 3600")

def test_patched():
    from sglang.srt.hardware_backend.npu import memory_pool_npu
    testing.assert_equal("who", getattr(memory_pool_npu, "WHO", "pristine"), "patched")

def test_stubs():
    import torch, torch_npu, sgl_kernel_npu.anything.below
    testing.assert_equal("torch_npu", torch_npu.__version__, "0+emulated")
    testing.assert_equal("device", str(torch.ones(2, device="npu:0").device), "cpu")
    try:
        sgl_kernel_npu.anything.below.some_kernel(1, 2)
    except RuntimeError as error:
        testing.assert_equal("error", "sgl_kernel_npu.anything.below.some_kernel was called" in str(error), True)
    else:
        raise testing.MismatchError("calling an unknown kernel was not an error")

def test_module_of_other_releases():
    import sglang.srt.a_later_module

def test_others_have_no_stubs():
    try:
        import torchcodec
    except ModuleNotFoundError:
        return
    raise testing.MismatchError("a stub for a package that is not of the NPU")
"""


@pytest.fixture
def cell(tmp_path: Path) -> Any:
    path = tmp_path / "test_body.py"
    path.write_text(BODY)

    def make(name: str, patches: tuple[str, ...] = ()) -> Cell:
        return Cell(RELEASE, patches, Tier.EMULATED, Test(f"body::{name}", str(path), f"test_{name}"))

    return make


@pytest.fixture
def trees(small_tree: Path) -> ReleaseTrees:
    return ReleaseTrees(RELEASE, small_tree, {("one",): PATCHED})


def results(cells: Any, trees: Any, options: Any = OPTIONS) -> Any:
    return {result.cell.id.rpartition("/emulated/")[2]: result for result in run_cells(cells, [trees], options)}


@pytest.mark.emulated
def test_every_end_of_a_cell_has_its_outcome(cell: Any, trees: Any) -> None:
    names = (
        "module_of_other_releases",
        "pass",
        "fail",
        "upstream_asserts",
        "exit",
        "crash",
        "stubs",
        "others_have_no_stubs",
    )
    found = results([cell(name) for name in names], trees)
    outcomes = {name.rpartition("::")[2]: result.outcome.value for name, result in found.items()}
    assert outcomes == {
        "module_of_other_releases": "skipped",
        "pass": "passed",
        "fail": "failed",
        "upstream_asserts": "error",
        "exit": "error",
        "crash": "error",
        "stubs": "passed",
        "others_have_no_stubs": "passed",
    }
    assert found["pristine/body::pass"].numbers == {"answer": 42}
    assert found["pristine/body::fail"].detail == "answer: got 41, want 42"
    assert "upstream's own" in found["pristine/body::upstream_asserts"].detail
    assert "ended with -6" in found["pristine/body::crash"].detail


@pytest.mark.emulated
@pytest.mark.parametrize("options", [OPTIONS, replace(OPTIONS, fork=False), replace(OPTIONS, jobs=2)])
def test_cell_sees_the_files_of_its_subset_only(cell: Any, trees: Any, options: Any) -> None:
    found = results([cell("patched"), cell("patched", ("one",)), cell("pass")], trees, options)
    assert found["pristine/body::patched"].detail == "who: got pristine, want patched"
    assert found["one/body::patched"].outcome is Outcome.PASSED
    assert found["pristine/body::pass"].outcome is Outcome.PASSED


@pytest.mark.emulated
def test_loaded_files_are_those_of_the_tree_whether_imported_before_or_by_the_cell(cell: Any, trees: Any) -> None:
    found = {
        fork: results([cell("patched"), cell("patched", ("one",))], trees, replace(OPTIONS, fork=fork))
        for fork in (True, False)
    }
    changed = f"python/sglang/srt/{FILE}"
    for fork in (True, False):
        assert all(changed in result.loaded for result in found[fork].values())
    before = {f"python/sglang/srt/{name.replace('.', '/')}.py" for name in BACKEND_MODULES}
    assert all(before <= {*result.loaded} for result in found[True].values())


@pytest.mark.emulated
@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("raise RuntimeError('at import')", "RuntimeError: at import"),
        ("import os\nos._exit(7)", "the cell's process ended with 7"),
        ("import sys\nsys.exit('gone')", "SystemExit: gone"),
    ],
)
def test_module_that_cannot_be_imported_costs_the_cells_that_import_it(
    cell: Any, trees: Any, text: str, answer: str
) -> None:
    trees = replace(trees, overlays={("one",): {f"python/sglang/srt/{FILE}": text.encode()}})
    found = results([cell("patched", ("one",)), cell("pass", ("one",)), cell("pass")], trees)
    assert (found["one/body::patched"].outcome, answer in found["one/body::patched"].detail) == (Outcome.ERROR, True)
    assert found["one/body::pass"].outcome is found["pristine/body::pass"].outcome is Outcome.PASSED


@pytest.mark.emulated
@pytest.mark.parametrize("fork", [True, False])
def test_hanging_cell_is_ended_and_the_next_one_runs(cell: Any, trees: Any, tmp_path: Path, fork: Any) -> None:
    group = tmp_path / "test_body.py.group"
    for timeout in (5, 20, 80, 320):  # on a busy machine the cell may time out before it hangs
        found = results([replace(cell("hang"), timeout=timeout), cell("pass")], trees, replace(OPTIONS, fork=fork))
        assert found["pristine/body::hang"].outcome is Outcome.TIMEOUT
        assert found["pristine/body::pass"].outcome is Outcome.PASSED
        if group.exists():
            break
    wait_until(lambda: group_is_gone(int(group.read_text())))


@pytest.mark.emulated
def test_installed_torch_npu_without_cann_is_not_loaded(
    cell: Any, trees: Any, tmp_path: Path, installed: Callable[[str], Path]
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
    (packages / "all.pth").write_text(f"{metadata.distribution('torch').locate_file('')}\n{torch_npu}\n")
    broken = subprocess.run([str(python), "-c", "import torch"], capture_output=True, text=True, check=False)
    assert "Failed to load the backend extension: torch_npu" in broken.stderr, (
        "this torch_npu does not break the import of torch"
    )
    found = results([cell("stubs")], trees, replace(OPTIONS, python=str(python)))
    assert (found["pristine/body::stubs"].outcome, found["pristine/body::stubs"].detail) == (Outcome.PASSED, "")


@pytest.mark.emulated
def test_torch_npu_in_the_tree_is_never_imported(cell: Any, trees: Any) -> None:
    (trees.tree / "torch_npu").mkdir()
    (trees.tree / "torch_npu" / "__init__.py").write_text("REAL = True\nraise ImportError('libhccl.so')\n")
    assert results([cell("stubs")], trees)["pristine/body::stubs"].detail == ""


@pytest.mark.emulated
def test_missing_dependency_of_a_tree_is_named(cell: Any, trees: Any) -> None:
    (trees.tree / "sglang" / "srt" / FILE).write_text("import some_new_dependency\n")
    (found,) = results([cell("pass")], trees).values()
    assert found.outcome is Outcome.ERROR
    assert "some_new_dependency is not installed" in found.detail


def test_worker_that_cannot_start_is_an_error_with_its_output(cell: Any, trees: Any, tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text("#!/bin/sh\necho 'no such module' >&2\nexit 1\n")
    bare.chmod(0o755)
    (found,) = results([cell("pass")], trees, replace(OPTIONS, python=str(bare))).values()
    assert (found.outcome, "no such module" in found.detail) == (Outcome.ERROR, True)


def test_missing_interpreter_is_an_error(cell: Any, trees: Any) -> None:
    (found,) = results([cell("pass")], trees, replace(OPTIONS, python="/nowhere/python")).values()
    assert (found.outcome, "/nowhere/python" in found.detail) == (Outcome.ERROR, True)


def test_cell_without_a_tree_is_rejected(cell: Any, trees: Any) -> None:
    with pytest.raises(InputError, match="no tree was given"):
        results([cell("pass", ("two",))], trees)


def test_overlay_outside_of_its_tree_is_rejected(trees: Any) -> None:
    with pytest.raises(InputError, match="not a file of the tree"):
        replace(trees, overlays={("one",): {"python/sglang/../../x.py": b""}})


def test_npu_cell_is_skipped_with_the_reason(cell: Any, trees: Any) -> None:
    (found,) = results([replace(cell("pass"), tier=Tier.NPU)], trees).values()
    assert found.outcome is Outcome.SKIPPED
    assert "NPU" in found.detail

"""Several workers on this machine, with cells that die, hang or are cancelled; and batches."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from patchtool.domain.errors import InputError
from patchtool.matrix.cell import Cell, CellResult, Outcome, Tier
from patchtool.matrix.options import RunOptions
from patchtool.matrix.release_trees import ReleaseTrees
from patchtool.matrix.running.executors import create_executor
from patchtool.matrix.running.executors.settings import MIN_BATCH, ExecutorSettings, make_batches
from tests.matrix.running.executors.fakes import cell, outcomes, trees
from tests.matrix.waiting import group_is_gone, wait_for, wait_until


def run(
    options: RunOptions, cells: Sequence[Cell], releases: Sequence[ReleaseTrees], workers: int = 2
) -> list[CellResult]:
    return list(create_executor("local", ExecutorSettings(options, workers=workers)).run(cells, releases))


def test_every_end_of_a_cell_has_its_outcome(
    tmp_path: Path, options: RunOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATCHTOOL_STRAY", "1")
    names = ("test_green", "test_red", "test_exits", "test_out_of_memory", "test_environment", "test_patched")
    results = run(options, [cell(name) for name in names], [trees(tmp_path)])
    assert outcomes(results) == {
        "test_green": Outcome.PASSED,
        "test_red": Outcome.FAILED,
        "test_exits": Outcome.ERROR,
        "test_out_of_memory": Outcome.ERROR,
        "test_environment": Outcome.PASSED,
        "test_patched": Outcome.FAILED,
    }
    details = {result.cell.test.function: result.detail for result in results}
    assert details["test_red"] == "got 1, want 2"
    assert details["test_exits"].endswith("ended with 9")


def test_patched_cell_sees_its_overlay(tmp_path: Path, options: RunOptions) -> None:
    (result,) = run(options, [cell("test_patched", patches=("fix",))], [trees(tmp_path)])
    assert result.outcome is Outcome.PASSED


def test_hanging_cell_times_out_and_the_next_one_runs(tmp_path: Path, options: RunOptions) -> None:
    results = run(options, [cell("test_hangs", timeout=0.5), cell("test_green")], [trees(tmp_path)], workers=1)
    assert outcomes(results) == {"test_hangs": Outcome.TIMEOUT, "test_green": Outcome.PASSED}


def test_cells_of_a_killed_worker_are_errors(tmp_path: Path, options: RunOptions) -> None:
    cells = [cell("test_kills_worker"), cell("test_green")]
    results = run(options, cells, [trees(tmp_path)], workers=1)
    assert outcomes(results) == {"test_kills_worker": Outcome.ERROR, "test_green": Outcome.ERROR}
    assert "worker ended" in results[1].detail


def test_tree_that_cannot_be_imported_is_an_error(tmp_path: Path, options: RunOptions) -> None:
    (result,) = run(options, [cell("test_green")], [trees(tmp_path, body="FAULT = 'no torchvision here'")])
    assert (result.outcome, result.detail) == (
        Outcome.ERROR,
        "the tree could not be imported: no torchvision here",
    )


def test_two_workers_run_at_the_same_time(tmp_path: Path, options: RunOptions) -> None:
    results = run(options, [cell("test_meets_second"), cell("test_meets_first")], [trees(tmp_path)])
    assert set(outcomes(results).values()) == {Outcome.PASSED}


def test_cells_of_several_releases_run_once_each(tmp_path: Path, options: RunOptions) -> None:
    releases = ("0.5.13", "0.5.14")
    cells = [cell("test_green", release, number=n) for release in releases for n in range(5)]
    results = run(options, cells, [trees(tmp_path, release) for release in releases])
    assert sorted(result.cell.id for result in results) == sorted(each.id for each in cells)


def test_closing_the_results_ends_running_cells(tmp_path: Path, options: RunOptions) -> None:
    release = trees(tmp_path)
    cells = [cell("test_green"), cell("test_hangs")]
    results = create_executor("local", ExecutorSettings(options, workers=1)).run(cells, [release])
    assert next(results).outcome is Outcome.PASSED
    group = release.tree / "sglang" / "hanging"
    wait_until(lambda: group.exists() and group.read_text() != "")
    wait_for(results.close)
    wait_until(lambda: group_is_gone(int(group.read_text())))


@pytest.mark.parametrize(
    ("counts", "workers", "sizes"),
    [
        pytest.param((3,), 8, [3], id="too few cells to split"),
        pytest.param((2 * MIN_BATCH,), 2, [MIN_BATCH, MIN_BATCH], id="one release, two workers"),
        pytest.param((20, 20), 2, [20, 20], id="as many releases as workers"),
        pytest.param((20, 4), 4, [10, 10, 4], id="a large and a small release"),
        pytest.param((), 2, [], id="no cells"),
    ],
)
def test_batches_keep_all_workers_busy(counts: tuple[int, ...], workers: int, sizes: list[int]) -> None:
    cells = [cell("test_green", f"0.5.{n}", number=k) for n, count in enumerate(counts) for k in range(count)]
    batches = make_batches(cells, workers)
    assert [len(batch.cells) for batch in batches] == sizes
    assert [each for batch in batches for each in batch.cells] == cells


def test_batch_requires_the_devices_of_its_cells() -> None:
    cells = [cell("test_green", number=n, tier=Tier.NPU, devices=1 + n % 2) for n in range(4)]
    sizes = {
        batch.resources["NPU"]: len(batch.cells)
        for batch in make_batches([*cells, cell("test_red")], 1)
        if batch.tier is Tier.NPU
    }
    assert sizes == {1: 2, 2: 2}


def test_each_served_model_is_a_batch_of_its_own() -> None:
    names = [f"{model}::gsm8k-{number}[graph]" for number in range(2 * MIN_BATCH) for model in ("one", "two")]
    cells = [cell(name, tier=Tier.NPU) for name in names]
    batches = make_batches(cells, 8)
    assert [{each.test.function.partition("::")[0] for each in batch.cells} for batch in batches] == [{"one"}, {"two"}]
    assert sum(len(batch.cells) for batch in batches) == len(cells)


def test_unknown_executor_is_rejected() -> None:
    with pytest.raises(InputError, match="not an executor"):
        create_executor("slurm", ExecutorSettings())


def test_cell_without_a_tree_is_rejected(tmp_path: Path, options: RunOptions) -> None:
    with pytest.raises(InputError, match=r"no tree was given for v0\.5\.14"):
        run(options, [cell("test_green", "0.5.14")], [trees(tmp_path)])


def test_code_of_nodes_and_workers_imports_without_our_dependencies() -> None:
    code = "import sys; sys.modules.update(dict.fromkeys(('msgspec', 'tomlkit', 'tomli', 'typer', 'libcst', 'git')))\n"
    code += "import patchtool.matrix.running.executors.remote, patchtool.matrix.running.worker"
    subprocess.run([sys.executable, "-c", code], check=True)

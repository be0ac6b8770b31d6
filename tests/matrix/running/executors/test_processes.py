"""Several workers on this machine, and what becomes of cells that die, hang or are left."""

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from patchtool.domain.errors import InputError
from patchtool.matrix.cell import Cell, CellResult, Outcome, Tier
from patchtool.matrix.options import RunOptions
from patchtool.matrix.release_trees import ReleaseTrees
from patchtool.matrix.running.executors import create_executor
from patchtool.matrix.running.executors.settings import SMALLEST, ExecutorSettings, share_out
from tests.matrix.running.executors.fakes import cell, outcomes, subject


def run(
    options: RunOptions, cells: Sequence[Cell], subjects: Sequence[ReleaseTrees], workers: int = 2
) -> list[CellResult]:
    return list(create_executor("local", ExecutorSettings(options, workers=workers)).run(cells, subjects))


def test_outcomes_are_told_apart(tmp_path: Path, options: RunOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATCHTOOL_STRAY", "1")
    names = ("test_green", "test_red", "test_exits", "test_out_of_memory", "test_environment", "test_patched")
    results = run(options, [cell(name) for name in names], [subject(tmp_path)])
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


def test_patched_cells_see_their_overlay(tmp_path: Path, options: RunOptions) -> None:
    (result,) = run(options, [cell("test_patched", patches=("fix",))], [subject(tmp_path)])
    assert result.outcome is Outcome.PASSED


def test_a_cell_that_hangs_is_a_timeout(tmp_path: Path, python: str) -> None:
    options = RunOptions(python=python, timeout=0.5)
    results = run(options, [cell("test_hangs"), cell("test_green")], [subject(tmp_path)])
    assert outcomes(results) == {"test_hangs": Outcome.TIMEOUT, "test_green": Outcome.PASSED}


def test_a_dead_worker_leaves_no_cell_without_an_answer(tmp_path: Path, options: RunOptions) -> None:
    cells = [cell("test_kills_worker"), cell("test_green")]
    results = run(options, cells, [subject(tmp_path)], workers=1)
    assert outcomes(results) == {"test_kills_worker": Outcome.ERROR, "test_green": Outcome.ERROR}
    assert "worker ended" in results[1].detail


def test_a_tree_that_does_not_import_is_an_error(tmp_path: Path, options: RunOptions) -> None:
    (result,) = run(options, [cell("test_green")], [subject(tmp_path, body="FAULT = 'no torchvision here'")])
    assert (result.outcome, result.detail) == (
        Outcome.ERROR,
        "the tree could not be imported: no torchvision here",
    )


def test_releases_run_side_by_side(tmp_path: Path, options: RunOptions) -> None:
    releases = ("0.5.13", "0.5.14")
    cells = [cell("test_slow", release, number=n) for release in releases for n in range(5)]
    began = time.monotonic()
    results = run(options, cells, [subject(tmp_path, release) for release in releases])
    assert len({result.cell.id for result in results}) == 10
    assert time.monotonic() - began < 10 * 0.4


def test_closing_the_results_ends_what_runs(tmp_path: Path, python: str) -> None:
    cells = [cell("test_green"), cell("test_hangs")]
    results = create_executor("local", ExecutorSettings(RunOptions(python=python, timeout=60))).run(
        cells, [subject(tmp_path)]
    )
    assert next(results).outcome is Outcome.PASSED
    began = time.monotonic()
    results.close()
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("counts", "workers", "sizes"),
    [
        pytest.param((3,), 8, [3], id="too few cells to cut"),
        pytest.param((2 * SMALLEST,), 2, [SMALLEST, SMALLEST], id="one release, two workers"),
        pytest.param((20, 20), 2, [20, 20], id="as many releases as workers"),
        pytest.param((20, 4), 4, [10, 10, 4], id="a large and a small release"),
        pytest.param((), 2, [], id="nothing to do"),
    ],
)
def test_batches(counts: tuple[int, ...], workers: int, sizes: list[int]) -> None:
    cells = [cell("test_green", f"0.5.{n}", number=k) for n, count in enumerate(counts) for k in range(count)]
    batches = share_out(cells, workers)
    assert [len(batch.cells) for batch in batches] == sizes
    assert [each for batch in batches for each in batch.cells] == cells


def test_a_batch_asks_for_the_devices_of_its_cells() -> None:
    cells = [cell("test_green", number=n, tier=Tier.NPU, devices=1 + n % 2) for n in range(4)]
    found = {
        batch.needs["NPU"]: len(batch.cells)
        for batch in share_out([*cells, cell("test_red")], 1)
        if batch.tier is Tier.NPU
    }
    assert found == {1: 2, 2: 2}


def test_unknown_executors_and_trees_are_refused(tmp_path: Path, options: RunOptions) -> None:
    with pytest.raises(InputError, match="not an executor"):
        create_executor("slurm", ExecutorSettings())
    with pytest.raises(InputError, match=r"no tree was given for v0\.5\.14"):
        run(options, [cell("test_green", "0.5.14")], [subject(tmp_path)])

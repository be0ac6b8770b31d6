"""A cached result is found as long as nothing that decides it has changed."""

from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from patchtool.domain.release import Release
from patchtool.matrix.cell import Cell, CellResult, Colour, Outcome, Test, Tier
from patchtool.matrix.release_trees import ReleaseTrees
from patchtool.matrix.running.fingerprint import Fingerprint
from patchtool.matrix.running.result_cache import ResultCache
from patchtool.matrix.verdict import cell_verdicts

RELEASE = Release("0.5.13")
ENVIRONMENT = Fingerprint("3.11.7", "Linux-x86_64", {"torch": "2.13.0"})


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    path = tmp_path / "test_it.py"
    path.write_text("def test_it(): ...")
    return Cell(RELEASE, ("fix",), Tier.EMULATED, Test("fix::test_it", str(path), "test_it", "fix"), Colour.GREEN)


@pytest.fixture
def trees(tmp_path: Path) -> ReleaseTrees:
    return ReleaseTrees(RELEASE, tmp_path, {("fix",): {"python/sglang/fix.py": b"1"}})


def cache_in(folder: Path, commit: str = "abc", environment: Fingerprint = ENVIRONMENT) -> ResultCache:
    return ResultCache(folder / "cache", {RELEASE: commit} if commit else {}, environment)


class RecordingExecutor:
    """An executor that passes every cell and records what it ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def run(self, cells: Sequence[Cell], trees: Sequence[ReleaseTrees]) -> Generator[CellResult, None, None]:
        for cell in cells:
            self.ran.append(cell.id)
            yield CellResult(cell, Outcome.PASSED, 0.5, "", {"syncs": 1})


def test_cached_result_equals_the_first_one(tmp_path: Path, cell: Cell, trees: ReleaseTrees) -> None:
    executor = RecordingExecutor()
    first = list(cache_in(tmp_path).run(executor, [cell], [trees]))
    assert list(cache_in(tmp_path).run(executor, [cell], [trees])) == first
    assert len(executor.ran) == 1
    assert list(cache_in(tmp_path).run(executor, [cell], [trees], fresh=True)) == first
    assert len(executor.ran) == 2


def test_cached_result_does_not_depend_on_the_expectation(tmp_path: Path, cell: Cell, trees: ReleaseTrees) -> None:
    cache_in(tmp_path).put(CellResult(cell, Outcome.PASSED), trees)
    other = replace(cell, expected=Colour.RED)
    assert cache_in(tmp_path).get(other, trees) == CellResult(other, Outcome.PASSED)


@pytest.mark.parametrize("outcome", [each for each in Outcome if not each.ran])
def test_cell_that_could_not_run_is_not_cached(
    tmp_path: Path, cell: Cell, trees: ReleaseTrees, outcome: Outcome
) -> None:
    cache_in(tmp_path).put(CellResult(cell, outcome), trees)
    assert cache_in(tmp_path).get(cell, trees) is None


def test_result_of_a_real_npu_is_not_cached(tmp_path: Path, cell: Cell, trees: ReleaseTrees) -> None:
    npu = replace(cell, tier=Tier.NPU)
    cache_in(tmp_path).put(CellResult(npu, Outcome.PASSED), trees)
    assert cache_in(tmp_path).get(npu, trees) is None


def test_every_input_is_part_of_the_key(tmp_path: Path, cell: Cell, trees: ReleaseTrees) -> None:
    cache_in(tmp_path).put(CellResult(cell, Outcome.PASSED), trees)
    assert cache_in(tmp_path).get(cell, trees) is not None
    assert cache_in(tmp_path, "abd").get(cell, trees) is None
    assert cache_in(tmp_path, "").get(cell, trees) is None
    assert cache_in(tmp_path, environment=replace(ENVIRONMENT, packages={"torch": "2.8.0"})).get(cell, trees) is None
    assert cache_in(tmp_path).get(cell, replace(trees, overlays={("fix",): {"python/sglang/fix.py": b"2"}})) is None
    assert cache_in(tmp_path).get(replace(cell, test=replace(cell.test, function="test_that")), trees) is None
    assert cache_in(tmp_path).get(replace(cell, tier=Tier.STATIC), trees) is None
    Path(cell.test.path).write_text("def test_it(): assert False")
    assert cache_in(tmp_path).get(cell, trees) is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"outcome": "green"}', '{"outcome": "passed"}', "\x00"])
def test_broken_entry_is_a_miss(tmp_path: Path, cell: Cell, trees: ReleaseTrees, content: str) -> None:
    cache_in(tmp_path).put(CellResult(cell, Outcome.PASSED), trees)
    (entry,) = (tmp_path / "cache").glob("*/*.json")
    entry.write_text(content)
    assert cache_in(tmp_path).get(cell, trees) is None


def test_unwritable_cache_is_ignored(tmp_path: Path, cell: Cell, trees: ReleaseTrees) -> None:
    (tmp_path / "cache").write_text("a file")
    assert [each.outcome for each in cache_in(tmp_path).run(RecordingExecutor(), [cell], [trees])] == [Outcome.PASSED]


def test_failures_of_the_last_run_are_recorded(tmp_path: Path, cell: Cell) -> None:
    assert cache_in(tmp_path).last_failed() is None
    good = replace(cell, patches=())
    cache_in(tmp_path).record_run(
        cell_verdicts([CellResult(cell, Outcome.FAILED), CellResult(good, Outcome.PASSED)], ["fix::test_it"])
    )
    assert cache_in(tmp_path).last_failed() == frozenset({cell.id})

"""Results are found again exactly while nothing that decides them has changed."""

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
def subject(tmp_path: Path) -> ReleaseTrees:
    return ReleaseTrees(RELEASE, tmp_path, {("fix",): {"python/sglang/fix.py": b"1"}})


def kept(folder: Path, commit: str = "abc", environment: Fingerprint = ENVIRONMENT) -> ResultCache:
    return ResultCache(folder / "cache", {RELEASE: commit} if commit else {}, environment)


class Counting:
    """An executor that says of every cell that it passed, and how often it was asked."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def run(self, cells: Sequence[Cell], subjects: Sequence[ReleaseTrees]) -> Generator[CellResult, None, None]:
        for each in cells:
            self.ran.append(each.id)
            yield CellResult(each, Outcome.PASSED, 0.5, "", {"syncs": 1})


def test_a_result_comes_back_as_it_was(tmp_path: Path, cell: Cell, subject: ReleaseTrees) -> None:
    executor = Counting()
    first = list(kept(tmp_path).run(executor, [cell], [subject]))
    assert list(kept(tmp_path).run(executor, [cell], [subject])) == first
    assert len(executor.ran) == 1
    assert list(kept(tmp_path).run(executor, [cell], [subject], fresh=True)) == first
    assert len(executor.ran) == 2


def test_the_expectation_is_not_part_of_a_result(tmp_path: Path, cell: Cell, subject: ReleaseTrees) -> None:
    kept(tmp_path).put(CellResult(cell, Outcome.PASSED), subject)
    other = replace(cell, expected=Colour.RED)
    assert kept(tmp_path).get(other, subject) == CellResult(other, Outcome.PASSED)


@pytest.mark.parametrize("outcome", [each for each in Outcome if not each.ran])
def test_what_could_not_run_is_tried_again(tmp_path: Path, cell: Cell, subject: ReleaseTrees, outcome: Outcome) -> None:
    kept(tmp_path).put(CellResult(cell, outcome), subject)
    assert kept(tmp_path).get(cell, subject) is None


def test_what_a_real_device_says_is_not_kept(tmp_path: Path, cell: Cell, subject: ReleaseTrees) -> None:
    served = replace(cell, tier=Tier.NPU)
    kept(tmp_path).put(CellResult(served, Outcome.PASSED), subject)
    assert kept(tmp_path).get(served, subject) is None


def test_every_input_counts(tmp_path: Path, cell: Cell, subject: ReleaseTrees) -> None:
    kept(tmp_path).put(CellResult(cell, Outcome.PASSED), subject)
    assert kept(tmp_path).get(cell, subject) is not None
    assert kept(tmp_path, "abd").get(cell, subject) is None
    assert kept(tmp_path, "").get(cell, subject) is None
    assert kept(tmp_path, environment=replace(ENVIRONMENT, packages={"torch": "2.8.0"})).get(cell, subject) is None
    assert kept(tmp_path).get(cell, replace(subject, overlays={("fix",): {"python/sglang/fix.py": b"2"}})) is None
    assert kept(tmp_path).get(replace(cell, test=replace(cell.test, function="test_that")), subject) is None
    assert kept(tmp_path).get(replace(cell, tier=Tier.STATIC), subject) is None
    Path(cell.test.path).write_text("def test_it(): assert False")
    assert kept(tmp_path).get(cell, subject) is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"outcome": "green"}', '{"outcome": "passed"}', "\x00"])
def test_a_broken_entry_is_a_miss(tmp_path: Path, cell: Cell, subject: ReleaseTrees, content: str) -> None:
    kept(tmp_path).put(CellResult(cell, Outcome.PASSED), subject)
    (entry,) = (tmp_path / "cache").glob("*/*.json")
    entry.write_text(content)
    assert kept(tmp_path).get(cell, subject) is None


def test_a_folder_that_cannot_be_written_to_does_not_matter(tmp_path: Path, cell: Cell, subject: ReleaseTrees) -> None:
    (tmp_path / "cache").write_text("a file")
    assert [each.outcome for each in kept(tmp_path).run(Counting(), [cell], [subject])] == [Outcome.PASSED]


def test_the_last_run_is_remembered(tmp_path: Path, cell: Cell) -> None:
    assert kept(tmp_path).last_failed() is None
    good = replace(cell, patches=())
    kept(tmp_path).remember(
        cell_verdicts([CellResult(cell, Outcome.FAILED), CellResult(good, Outcome.PASSED)], ["fix::test_it"])
    )
    assert kept(tmp_path).last_failed() == frozenset({cell.id})

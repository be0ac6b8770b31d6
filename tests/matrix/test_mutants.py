"""The helpers of the mutation tests in ``test_release``."""

from pathlib import Path
from typing import Any

import pytest

from patchtool.domain.errors import InputError
from patchtool.matrix.cell import CellResult, Outcome
from patchtool.matrix.planning.cells import SeriesStates
from tests.matrix.conftest import a_test
from tests.matrix.mutants import Mutant, mutant_cells, mutant_results, mutated, read_mutants

MUTANT = Mutant("two", "wrong", (("good", "bad"),))


def test_mutant_replaces_its_text() -> None:
    assert mutated(MUTANT, {"a": b"good", "b": b"other"}) == {"a": b"bad", "b": b"other"}


@pytest.mark.parametrize("files", [{"a": b"other"}, {"a": b"good good"}, {"a": b"good", "b": b"good"}])
def test_outdated_mutant_is_rejected(files: Any) -> None:
    with pytest.raises(ValueError, match=r"occurs \d times in the patched files, not once"):
        mutated(MUTANT, files)


def test_cells_of_a_mutant_include_required_patches(series: SeriesStates) -> None:
    tests = [a_test("two::t", owner="two"), a_test("one::t", owner="one")]
    (cell,) = mutant_cells(series, tests, [MUTANT])
    assert cell.patches == ("one", "two", "two!wrong")


@pytest.mark.parametrize(
    ("outcomes", "killed"),
    [
        ((Outcome.PASSED, Outcome.FAILED), True),
        ((Outcome.ERROR, Outcome.FAILED), True),
        ((Outcome.PASSED, Outcome.PASSED), False),
        ((Outcome.PASSED, Outcome.ERROR), None),
    ],
)
def test_only_a_failed_assertion_kills_a_mutant(series: SeriesStates, outcomes: Any, killed: Any) -> None:
    tests = [a_test("two::t", owner="two"), a_test("two::u", owner="two")]
    cells = mutant_cells(series, tests, [MUTANT])
    (result,) = mutant_results([CellResult(cell, outcome) for cell, outcome in zip(cells, outcomes, strict=True)])
    assert result.killed is killed


@pytest.mark.parametrize("text", ["[[mutants]]\nname = 'x'", "[[mutants]]\nname = 'x'\nedits = [['a']]", "mutants ="])
def test_invalid_mutants_file_is_rejected(tmp_path: Path, text: str) -> None:
    (tmp_path / "mutants.toml").write_text(text)
    with pytest.raises(InputError, match=r"mutants\.toml"):
        read_mutants(tmp_path)


def test_patch_without_mutants_file_has_none(tmp_path: Path) -> None:
    assert read_mutants(tmp_path) == ()

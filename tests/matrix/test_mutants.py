from pathlib import Path
from typing import Any

import pytest

from patchtool.domain.errors import InputError
from patchtool.matrix.cell import CellResult, Outcome
from patchtool.matrix.planning.cells import SeriesStates
from tests.matrix.conftest import a_test
from tests.matrix.mutants import Mutant, fates, mutant_cells, mutated, read_mutants

MUTANT = Mutant("two", "wrong", (("good", "bad"),))


def test_an_edit_is_made_where_its_text_stands() -> None:
    assert mutated(MUTANT, {"a": b"good", "b": b"other"}) == {"a": b"bad", "b": b"other"}


@pytest.mark.parametrize("files", [{"a": b"other"}, {"a": b"good good"}, {"a": b"good", "b": b"good"}])
def test_a_mutant_out_of_date_is_refused(files: Any) -> None:
    with pytest.raises(InputError, match=r"stands \d times in the patched files, not once"):
        mutated(MUTANT, files)


def test_a_mutants_cells_hold_what_its_patch_requires(series: SeriesStates) -> None:
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
def test_only_an_asserted_value_kills(series: SeriesStates, outcomes: Any, killed: Any) -> None:
    tests = [a_test("two::t", owner="two"), a_test("two::u", owner="two")]
    cells = mutant_cells(series, tests, [MUTANT])
    (fate,) = fates([CellResult(cell, outcome) for cell, outcome in zip(cells, outcomes, strict=True)])
    assert fate.killed is killed


@pytest.mark.parametrize("text", ["[[mutants]]\nname = 'x'", "[[mutants]]\nname = 'x'\nedits = [['a']]", "mutants ="])
def test_bad_files_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "mutants.toml").write_text(text)
    with pytest.raises(InputError, match=r"mutants\.toml"):
        read_mutants(tmp_path)
    assert read_mutants(tmp_path / "none") == ()

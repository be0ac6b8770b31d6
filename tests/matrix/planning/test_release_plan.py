"""Which cells the rows of the matrix file ask of a release, in which mode, and how long they may take."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from patchtool.domain.release import Release
from patchtool.domain.state import State
from patchtool.matrix.cell import Cell, Colour, Mode, Test, Tier
from patchtool.matrix.planning.cells import KnownRed, SeriesStates, ablation_cells
from patchtool.matrix.planning.matrix_file import Matrix, MatrixRow
from patchtool.matrix.planning.release_plan import plan_release
from patchtool.matrix.planning.served import Accuracy, ModelRow, ServedConfig
from tests.matrix.conftest import RELEASE

PATH = Path("matrix.toml")
TESTS = (
    Test("a", "t.py", "a", needs=("one",), mode=Mode.EAGER),
    Test("b", "t.py", "b", needs=("two",), mode=Mode.GRAPH),
    Test("c", "t.py", "c", needs=("three",)),
    Test("s", "t.py", "s", tiers=(Tier.STATIC,)),
)


def row(*subsets: tuple[str, ...], **said: Any) -> MatrixRow:
    return MatrixRow("" if subsets else "proofs", (Tier.EMULATED,), (None,), subsets, **said)


def cells(series: SeriesStates, *rows: MatrixRow, **said: Any) -> Sequence[Cell]:
    return plan_release(Matrix(rows, (), **said), series, TESTS, RELEASE, PATH).cells


def test_a_subset_is_predicted_as_ablation_does(series: SeriesStates) -> None:
    known = [KnownRed("0.5.13", "c", "upstream")]
    whole = {cell.id: cell for cell in ablation_cells(series, TESTS, known=known)}
    found = plan_release(Matrix((row((), ("one", "two")),), tuple(known)), series, TESTS, RELEASE, PATH).cells
    assert {(cell.patches, cell.test.name): cell.expected for cell in found} == {
        ((), "a"): Colour.RED,
        ((), "b"): Colour.RED,
        ((), "c"): Colour.RED,
        (("one", "two"), "a"): Colour.GREEN,
        (("one", "two"), "b"): Colour.GREEN,
        (("one", "two"), "c"): Colour.RED,
    }
    assert all((whole[cell.id].expected, whole[cell.id].reason) == (cell.expected, cell.reason) for cell in found)


def test_what_upstream_has_is_no_other_tree(series: SeriesStates) -> None:
    assert {cell.patches for cell in cells(series, row(("one", "three"), ("one",)))} == {("one",)}


@pytest.mark.parametrize("state", [State.ABSENT, State.CONFLICT, State.BLOCKED, State.CRASHED, State.AMBIGUOUS])
def test_a_tree_that_cannot_be_made_is_left_out_and_said(state: State) -> None:
    series = SeriesStates(RELEASE, {"one": State.APPLIED, "four": state}, {})
    plan = plan_release(Matrix((row(("one", "four"), ("one",)),), ()), series, TESTS, RELEASE, PATH)
    assert {cell.patches for cell in plan.cells} == {("one",)}
    assert plan.notes == (f"one+four is left out on v0.5.13: four is {state.value}",)


@pytest.mark.parametrize(("mode", "names"), [(Mode.EAGER, {"a", "c"}), (Mode.GRAPH, {"b", "c"})])
def test_a_rows_modes_choose_its_tests(series: SeriesStates, mode: Mode, names: set[str]) -> None:
    assert {cell.test.name for cell in cells(series, row(modes=(mode,)))} == names


def test_the_rows_time_comes_before_the_tiers_and_the_first_row_decides(series: SeriesStates) -> None:
    rows = row((), timeout=3), row((), ("one",)), MatrixRow("proofs", (Tier.STATIC,), (None,))
    found = cells(series, *rows, timeouts={Tier.STATIC: 1.0, Tier.EMULATED: 9.0, Tier.NPU: 5.0})
    assert {(cell.tier, cell.patches): cell.timeout for cell in found} == {
        (Tier.EMULATED, ()): 3.0,
        (Tier.EMULATED, ("one",)): 9.0,
        (Tier.STATIC, ()): 1.0,
        (Tier.STATIC, ("one", "two")): 1.0,
    }


def test_a_release_that_no_row_names_is_proven(series: SeriesStates) -> None:
    other = SeriesStates(Release("0.5.12"), series.states, series.requires)
    assert {cell.tier for cell in cells(other, row(()))} == {Tier.STATIC, Tier.EMULATED}


MODEL = ModelRow("m", "org/m", (), devices=4, accuracy=(Accuracy("gsm8k", 0.5),))


def test_models_are_served_in_every_mode_and_subset_of_their_row(series: SeriesStates) -> None:
    model = ModelRow(
        "m", "org/m", (), modes=tuple(Mode), patches=((), ("one",)), timeout=7, accuracy=(Accuracy("gsm8k", 0.5),)
    )
    npu = MatrixRow("proofs", (Tier.NPU,), (None,))
    found = cells(series, npu, served=ServedConfig((model, MODEL)))
    assert [(cell.patches, cell.test.name, cell.test.mode, cell.test.devices, cell.timeout) for cell in found] == [
        ((), "m::gsm8k[eager]", Mode.EAGER, 1, 7.0),
        ((), "m::gsm8k[graph]", Mode.GRAPH, 1, 7.0),
        (("one",), "m::gsm8k[eager]", Mode.EAGER, 1, 7.0),
        (("one",), "m::gsm8k[graph]", Mode.GRAPH, 1, 7.0),
        (("one", "two"), "m::gsm8k[graph]", Mode.GRAPH, 4, 14400.0),
    ]
    eager = cells(
        series, MatrixRow("proofs", (Tier.NPU,), (None,), modes=(Mode.EAGER,)), served=ServedConfig((model, MODEL))
    )
    assert {cell.test.mode for cell in eager} == {Mode.EAGER}

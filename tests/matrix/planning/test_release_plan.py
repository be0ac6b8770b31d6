"""The cells of a release by rows of the matrix file, with their modes and timeouts."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from patchtool.domain.release import Release
from patchtool.domain.state import State
from patchtool.matrix.cell import Cell, Colour, Mode, Test, Tier
from patchtool.matrix.planning.cells import SeriesStates, ablation_cells
from patchtool.matrix.planning.matrix_file import KnownRed, Matrix, MatrixRow, Timeouts
from patchtool.matrix.planning.release_plan import plan_release
from patchtool.matrix.planning.served_models import Accuracy, ServedConfig, ServedModel
from tests.matrix.conftest import RELEASE

PATH = Path("matrix.toml")
TESTS = (
    Test("a", "t.py", "a", needs=("one",), mode=Mode.EAGER),
    Test("b", "t.py", "b", needs=("two",), mode=Mode.GRAPH),
    Test("c", "t.py", "c", needs=("three",)),
    Test("s", "t.py", "s", tiers=(Tier.STATIC,)),
)
GSM8K = (Accuracy(dataset="gsm8k", threshold=0.5),)
MODEL = ServedModel(name="m", model="org/m", devices=4, accuracy=GSM8K)


def test_release_after_the_last_one_named_has_its_known_reds() -> None:
    reds = (
        KnownRed(tests=("a",), releases=("0.5.13",), reason="gone"),
        KnownRed(tests=("c",), releases=("0.5.13", "0.5.14"), reason="wipes it"),
    )
    matrix = Matrix(rows=(MatrixRow(plan="proofs", tiers=(Tier.EMULATED,), releases=("0.5.14",)),), known_red=reds)
    states = {"one": State.LANDED, "two": State.LANDED, "three": State.ABSENT}
    plans = {
        version: plan_release(matrix, SeriesStates(Release(version), states, {}), TESTS, RELEASE, PATH)
        for version in ("0.5.14", "0.5.15")
    }
    expected = {
        version: {cell.test.name: (cell.expected, cell.reason) for cell in plan.cells if cell.tier is Tier.EMULATED}
        for version, plan in plans.items()
    }
    green = (Colour.GREEN, "")
    assert expected["0.5.14"] == {"a": green, "b": green, "c": (Colour.RED, "wipes it")}
    assert expected["0.5.15"] == {"a": green, "b": green, "c": (Colour.RED, "wipes it (as on v0.5.14)")}


def row(*subsets: tuple[str, ...], tier: Tier = Tier.EMULATED, **options: Any) -> MatrixRow:
    return MatrixRow(plan="" if subsets else "proofs", tiers=(tier,), releases=("pin",), patches=subsets, **options)


def cells(series: SeriesStates, *rows: MatrixRow, **options: Any) -> Sequence[Cell]:
    return plan_release(Matrix(rows=rows, **options), series, TESTS, RELEASE, PATH).cells


def test_subset_has_the_same_expectations_as_in_ablation(series: SeriesStates) -> None:
    known_red = (KnownRed(tests=("c",), releases=("0.5.13",), reason="upstream"),)
    ablation = {cell.id: cell for cell in ablation_cells(series, TESTS, known_red=known_red)}
    found = cells(series, row((), ("one", "two")), known_red=known_red)
    assert {(cell.patches, cell.test.name): cell.expected for cell in found} == {
        ((), "a"): Colour.RED,
        ((), "b"): Colour.RED,
        ((), "c"): Colour.RED,
        (("one", "two"), "a"): Colour.GREEN,
        (("one", "two"), "b"): Colour.GREEN,
        (("one", "two"), "c"): Colour.RED,
    }
    assert all((ablation[cell.id].expected, ablation[cell.id].reason) == (cell.expected, cell.reason) for cell in found)


def test_subsets_that_differ_in_landed_patches_are_one_tree(series: SeriesStates) -> None:
    assert {cell.patches for cell in cells(series, row(("one", "three"), ("one",)))} == {("one",)}


@pytest.mark.parametrize("state", [State.ABSENT, State.CONFLICT, State.BLOCKED, State.CRASHED, State.AMBIGUOUS])
def test_subset_with_an_unavailable_patch_is_left_out_with_a_note(state: State) -> None:
    series = SeriesStates(RELEASE, {"one": State.APPLIED, "four": state}, {})
    plan = plan_release(Matrix(rows=(row(("one", "four"), ("one",)),)), series, TESTS, RELEASE, PATH)
    assert {cell.patches for cell in plan.cells} == {("one",)}
    assert plan.notes == (f"one+four is left out on v0.5.13: four is {state.value}",)


@pytest.mark.parametrize(("mode", "names"), [(Mode.EAGER, {"a", "c"}), (Mode.GRAPH, {"b", "c"})])
def test_modes_of_a_row_select_its_tests(series: SeriesStates, mode: Mode, names: set[str]) -> None:
    assert {cell.test.name for cell in cells(series, row(modes=(mode,)))} == names


def test_timeout_is_the_rows_or_else_the_tiers_and_the_first_row_decides(series: SeriesStates) -> None:
    rows = row((), timeout=3.0), row((), ("one",)), row(tier=Tier.STATIC)
    found = cells(series, *rows, timeout=Timeouts(static=1.0, emulated=9.0, npu=5.0))
    assert {(cell.tier, cell.patches): cell.timeout for cell in found} == {
        (Tier.EMULATED, ()): 3.0,
        (Tier.EMULATED, ("one",)): 9.0,
        (Tier.STATIC, ()): 1.0,
        (Tier.STATIC, ("one", "two")): 1.0,
    }


def test_release_without_a_row_runs_static_and_emulated_proofs(series: SeriesStates) -> None:
    other = SeriesStates(Release("0.5.12"), series.states, series.requires)
    assert {cell.tier for cell in cells(other, row(()))} == {Tier.STATIC, Tier.EMULATED}


def test_model_is_served_in_every_mode_and_subset_of_its_row(series: SeriesStates) -> None:
    model = ServedModel(name="m", model="org/m", modes=tuple(Mode), patches=((), ("one",)), timeout=7.0, accuracy=GSM8K)
    served = ServedConfig(model=(model, MODEL))
    found = cells(series, row(tier=Tier.NPU), served=served)
    assert [(cell.patches, cell.test.name, cell.test.mode, cell.test.devices, cell.timeout) for cell in found] == [
        ((), "m::gsm8k[eager]", Mode.EAGER, 1, 7.0),
        ((), "m::gsm8k[graph]", Mode.GRAPH, 1, 7.0),
        (("one",), "m::gsm8k[eager]", Mode.EAGER, 1, 7.0),
        (("one",), "m::gsm8k[graph]", Mode.GRAPH, 1, 7.0),
        (("one", "two"), "m::gsm8k[graph]", Mode.GRAPH, 4, 14400.0),
    ]
    eager = cells(series, row(tier=Tier.NPU, modes=(Mode.EAGER,)), served=served)
    assert {cell.test.mode for cell in eager} == {Mode.EAGER}

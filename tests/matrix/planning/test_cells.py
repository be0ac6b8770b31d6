"""Cells of proofs and ablations, and their expected colours."""

from dataclasses import replace
from typing import Any

import pytest

from patchtool.domain.state import State
from patchtool.matrix.cell import Colour, Subsystem
from patchtool.matrix.planning.cells import SeriesStates, ablation_cells, expected_colour, proof_cells
from patchtool.matrix.planning.matrix_file import KnownRed
from tests.matrix.conftest import RELEASE, a_test


@pytest.mark.parametrize(
    ("needs", "subset", "colour"),
    [
        ((), (), Colour.GREEN),
        (("one",), (), Colour.RED),
        (("one",), ("one",), Colour.GREEN),
        (("three",), (), Colour.GREEN),
        (("one", "two"), ("one",), Colour.RED),
        (("four",), (), None),
        (("unknown",), (), None),
    ],
)
def test_expected_colour_follows_from_subset_and_states(
    series: SeriesStates, needs: Any, subset: Any, colour: Any
) -> None:
    assert expected_colour(series, subset, a_test("t", needs=needs)) is colour


def test_proof_runs_a_patch_with_its_requirements(series: SeriesStates) -> None:
    assert series.with_required("two") == ("one", "two")
    own = a_test("two::t", owner="two", needs=("two",))
    subsets = [cell.patches for cell in proof_cells(series, [own])]
    assert subsets == [(), ("one", "two")]


def test_ablation_omits_subsets_that_lack_a_requirement(series: SeriesStates) -> None:
    cells = ablation_cells(series, [a_test("t")])
    assert [cell.patches for cell in cells] == [(), ("one",), ("one", "two")]


def test_ablation_of_a_scheduler_test_leaves_out_one_need_at_a_time() -> None:
    names = ("one", "two", "three", "four")
    series = SeriesStates(RELEASE, dict.fromkeys(names, State.APPLIED), {})
    test = replace(a_test("t", needs=("one", "three")), drives=Subsystem.SCHEDULER)
    cells = {cell.patches: cell.expected for cell in ablation_cells(series, [test])}
    assert cells == {("one",): Colour.RED, ("three",): Colour.RED, ("one", "three"): Colour.GREEN}
    assert len(ablation_cells(series, [replace(test, drives=Subsystem.BACKENDS)])) == 16


def test_known_red_is_expected_red_on_every_subset(series: SeriesStates) -> None:
    known_red = [KnownRed(tests=("t",), releases=("0.5.13",), reason="upstream")]
    cells = proof_cells(series, [a_test("t"), a_test("u")], known_red=known_red)
    assert {(cell.test.name, cell.expected, cell.reason) for cell in cells} == {
        ("t", Colour.RED, "upstream"),
        ("u", Colour.GREEN, ""),
    }


def test_cell_ids_are_unique_and_readable(series: SeriesStates) -> None:
    ids = [cell.id for cell in ablation_cells(series, [a_test("t"), a_test("u")])]
    assert len(set(ids)) == len(ids)
    assert ids[0] == f"{RELEASE}/emulated/pristine/t"
    assert ids[-1] == f"{RELEASE}/emulated/one+two/u"


def test_ablation_leaves_out_the_tests_of_patches_that_change_nothing(series: SeriesStates) -> None:
    tests = [a_test(f"{name}::t", owner=name) for name in series.states]
    assert {cell.test.owner for cell in ablation_cells(series, tests)} == {"one", "two"}
    assert {cell.test.owner for cell in proof_cells(series, tests)} == {"one", "two", "three", "four"}

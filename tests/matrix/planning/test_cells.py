from dataclasses import replace
from typing import Any

import pytest

from patchtool.domain.state import State
from patchtool.matrix.cell import Colour, Subsystem
from patchtool.matrix.planning.cells import KnownRed, SeriesStates, ablation_cells, expected_colour, proof_cells
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
        (("nowhere",), (), None),
    ],
)
def test_expectation_follows_from_the_subset(series: SeriesStates, needs: Any, subset: Any, colour: Any) -> None:
    assert expected_colour(series, subset, a_test("t", needs=needs)) is colour


def test_a_patch_is_proven_with_what_it_requires(series: SeriesStates) -> None:
    assert series.with_required("two") == ("one", "two")
    own = a_test("two::t", owner="two", needs=("two",))
    subsets = [cell.patches for cell in proof_cells(series, [own])]
    assert subsets == [(), ("one", "two")]


def test_ablation_leaves_out_subsets_that_lack_a_requirement(series: SeriesStates) -> None:
    cells = ablation_cells(series, [a_test("t")])
    assert [cell.patches for cell in cells] == [(), ("one",), ("one", "two")]


def test_a_scheduler_is_ablated_by_leaving_one_need_out() -> None:
    names = ("one", "two", "three", "four")
    series = SeriesStates(RELEASE, dict.fromkeys(names, State.APPLIED), {})
    dear = replace(a_test("t", needs=("one", "three")), drives=Subsystem.SCHEDULER)
    cells = {cell.patches: cell.expected for cell in ablation_cells(series, [dear])}
    assert cells == {("one",): Colour.RED, ("three",): Colour.RED, ("one", "three"): Colour.GREEN}
    assert len(ablation_cells(series, [replace(dear, drives=Subsystem.BACKENDS)])) == 16


def test_a_known_red_is_expected_red_everywhere(series: SeriesStates) -> None:
    known = [KnownRed("0.5.13", "t", "upstream")]
    cells = proof_cells(series, [a_test("t"), a_test("u")], known=known)
    assert {(cell.test.name, cell.expected, cell.reason) for cell in cells} == {
        ("t", Colour.RED, "upstream"),
        ("u", Colour.GREEN, ""),
    }


def test_cell_ids_are_unique_and_speak(series: SeriesStates) -> None:
    ids = [cell.id for cell in ablation_cells(series, [a_test("t"), a_test("u")])]
    assert len(set(ids)) == len(ids)
    assert ids[0] == f"{RELEASE}/emulated/pristine/t"
    assert ids[-1] == f"{RELEASE}/emulated/one+two/u"

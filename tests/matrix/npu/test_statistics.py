"""Means, intervals and changes by question, against values from tables and worked out by hand."""

import math

import pytest

from patchtool.matrix.npu.statistics import Interval, change_by_question, mean_interval, mean_ratio


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        pytest.param([1.0, 3.0], 2 - 12.706, 2 + 12.706, id="two"),
        pytest.param([1.0, 2.0, 3.0], 2 - 4.303 / math.sqrt(3), 2 + 4.303 / math.sqrt(3), id="three"),
        pytest.param([5.0] * 4, 5.0, 5.0, id="equal"),
        pytest.param([0.0, 1.0] * 500, 0.5 - 0.031043, 0.5 + 0.031043, id="a thousand"),
    ],
)
def test_interval_of_a_mean(values: list[float], low: float, high: float) -> None:
    found = mean_interval(values)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-5)


def test_one_value_has_no_interval() -> None:
    assert not mean_interval([1.0]).known


def test_each_question_is_compared_with_itself() -> None:
    before = [{"a": 0.0, "b": 1.0, "c": 1.0}, {"a": 0.0, "b": 1.0, "c": 0.0}]
    after = [{"a": 1.0, "b": 1.0, "c": 0.0}, {"a": 1.0, "b": 1.0, "c": 1.0}]
    found = change_by_question(before, after)
    assert found is not None
    assert found[1] == 3
    assert found[0] == pytest.approx(mean_interval([1.0, 0.0, 0.0]))


def test_questions_that_a_run_lacks_do_not_count() -> None:
    found = change_by_question([{"a": 0.0, "b": 0.0}], [{"b": 1.0, "c": 1.0}, {"b": 1.0}])
    assert found is not None
    assert (found[0].mean, found[1]) == (1.0, 1)
    assert change_by_question([{"a": 1.0}], [{}]) is None


def test_ratio_is_the_same_either_way_round() -> None:
    one, other = mean_ratio([100.0, 200.0], [90.0, 170.0]), mean_ratio([90.0, 170.0], [100.0, 200.0])
    assert one.mean == pytest.approx(math.sqrt(0.9 * 0.85))
    assert Interval(1 / other.mean, 1 / other.high, 1 / other.low) == pytest.approx(one)

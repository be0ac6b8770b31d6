"""The two tables of a run on NPUs: accuracy and speed, before and after, beside what was published."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from patchtool.cli.reports.run import CellRecord

_ACCURACY = ("model", "dataset", "mode", "before", "after", "change", "95 % interval", "questions x runs", "published")
_SPEED = ("model", "load", "mode", "number", "before", "after", "change", "95 % interval", "runs", "published")


class Table(NamedTuple):
    """A table.

    Args:
        title: What it is about.
        head: Its columns.
        rows: Texts; empty where nothing is known.
    """

    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def served_tables(cells: Iterable[CellRecord]) -> list[Table]:
    """Arrange what served models measured; a table without rows is left out.

    Args:
        cells: Cells of all tiers.
    """
    measured = [cell for cell in cells if cell.tier == "npu" and cell.numbers]
    scores = [_score(cell) for cell in measured if "after" in cell.numbers]
    speeds = [row for cell in measured if "ttft_ms" in cell.numbers for row in _speeds(cell)]
    tables = [Table("Accuracy on NPUs", _ACCURACY, scores), Table("Speed on NPUs", _SPEED, speeds)]
    return [table for table in tables if table.rows]


def _score(cell: CellRecord) -> tuple[str, ...]:
    numbers = cell.numbers
    questions = f"{numbers['questions']} x {numbers['runs']}" if "questions" in numbers else f"? x {numbers['runs']}"
    published = ""
    if "published_before" in numbers:
        published = f"{_percent(numbers, 'published_before')} -> {_percent(numbers, 'published_after')}"
    return (
        *_names(cell),
        _percent(numbers, "before"),
        _percent(numbers, "after"),
        _points(numbers, "change"),
        _interval(_points(numbers, "change_low"), _points(numbers, "change_high")),
        questions,
        published,
    )


def _speeds(cell: CellRecord) -> list[tuple[str, ...]]:
    numbers = cell.numbers
    rows: list[tuple[str, ...]] = []
    for name, value, ratio in (
        ("time to first token, ms", "ttft_ms", "ttft_ratio"),
        ("output tokens per second", "tokens_per_s", "throughput_ratio"),
    ):
        ends = _interval(_ratio(numbers, f"published_{ratio}_low"), _ratio(numbers, f"published_{ratio}_high"))
        rows.append(
            (
                *_names(cell),
                name,
                _plain(numbers, f"before_{value}"),
                _plain(numbers, value),
                _ratio(numbers, ratio),
                _interval(_ratio(numbers, f"{ratio}_low"), _ratio(numbers, f"{ratio}_high")),
                _plain(numbers, "runs"),
                _ratio(numbers, f"published_{ratio}") or ends,
            )
        )
    return rows


def _names(cell: CellRecord) -> tuple[str, str, str]:
    model, _, rest = cell.test.partition("::")
    benchmark, _, mode = rest.partition("[")
    return model, benchmark, mode.rstrip("]")


def _number(numbers: Mapping[str, object], name: str) -> float | None:
    value = numbers.get(name)
    return value if isinstance(value, (int, float)) else None


def _percent(numbers: Mapping[str, object], name: str) -> str:
    value = _number(numbers, name)
    return "" if value is None else f"{100 * value:.2f}"


def _points(numbers: Mapping[str, object], name: str) -> str:
    value = _number(numbers, name)
    return "" if value is None else f"{100 * value:+.2f}"


def _ratio(numbers: Mapping[str, object], name: str) -> str:
    value = _number(numbers, name)
    return "" if value is None else f"{100 * (value - 1):+.1f} %"


def _plain(numbers: Mapping[str, object], name: str) -> str:
    value = _number(numbers, name)
    return "" if value is None else f"{value:g}"


def _interval(low: str, high: str) -> str:
    return f"{low} to {high}" if low and high else ""

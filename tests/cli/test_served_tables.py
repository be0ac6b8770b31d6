"""The two tables of a run on NPUs, in the text, in JUnit and on the page."""

from typing import Any

from patchtool.cli.page import test_page as page_of
from patchtool.cli.reports.junit import junit_xml
from patchtool.cli.reports.run import run_of
from patchtool.cli.reports.run_text import run_text
from patchtool.cli.reports.served_tables import served_tables
from tests.cli.matrices import cell, run

SCORE = {
    "before": 0.875,
    "after": 0.8975,
    "change": 0.0225,
    "change_low": 0.011,
    "change_high": 0.034,
    "questions": 1346,
    "runs": 3,
    "threshold": 0.89,
    "published_before": 0.875,
    "published_after": 0.8975,
}
SPEED = {
    "before_ttft_ms": 800.0,
    "ttft_ms": 720.5,
    "ttft_ratio": 0.9,
    "ttft_ratio_low": 0.88,
    "ttft_ratio_high": 0.92,
    "before_tokens_per_s": 1000.0,
    "tokens_per_s": 1048.0,
    "throughput_ratio": 1.048,
    "runs": 3,
    "published_ttft_ratio_low": 0.86,
    "published_ttft_ratio_high": 0.95,
    "published_throughput_ratio": 1.048,
}


def document() -> dict[str, Any]:
    return run(
        [
            cell("v0.5.13", ("fix",), "Qwen::ceval[graph]", tier="npu", numbers=SCORE),
            cell("v0.5.13", ("fix",), "Qwen::speed-1-2-3[graph]", tier="npu", numbers=SPEED),
        ],
        [],
    )


def test_tables_show_what_was_measured_beside_what_was_published() -> None:
    accuracy, speed = served_tables(run_of(document()).cells)
    names = ("Qwen", "ceval", "graph")
    assert accuracy.rows == [
        (*names, "87.50", "89.75", "+2.25", "+1.10 to +3.40", "1346 x 3", "87.50 -> 89.75"),
    ]
    assert [row[3:] for row in speed.rows] == [
        ("time to first token, ms", "800", "720.5", "-10.0 %", "-12.0 % to -8.0 %", "3", "-14.0 % to -5.0 %"),
        ("output tokens per second", "1000", "1048", "+4.8 %", "", "3", "+4.8 %"),
    ]


def test_tables_are_in_the_text_and_on_the_page() -> None:
    found = document()
    for text in (run_text(run_of(found)), page_of(found)):
        assert "Accuracy on NPUs" in text
        assert "Speed on NPUs" in text
        assert "-14.0 % to -5.0 %" in text
    assert b'<property name="published_after" value="0.8975" />' in junit_xml(run_of(found))


def test_cell_that_measured_nothing_is_in_no_table() -> None:
    found = run([cell("v0.5.13", ("fix",), "Qwen::ceval[graph]", tier="npu", outcome="skipped")], [])
    assert served_tables(run_of(found).cells) == []

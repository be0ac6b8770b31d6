"""Single steps of a measurement: starting programs, environments, and the files that clients write."""

import json
from pathlib import Path

import pytest

from patchtool.domain.release import Release
from patchtool.matrix.cell import Cell, Outcome, Test, Tier
from patchtool.matrix.npu import run_npu
from patchtool.matrix.npu.accuracy import Score, read_score
from patchtool.matrix.npu.environment import npu_environment
from patchtool.matrix.npu.errors import MeasurementError
from patchtool.matrix.npu.server import running_server
from patchtool.matrix.npu.speed import read_speed
from patchtool.matrix.options import RunOptions
from patchtool.matrix.release_trees import ReleaseTrees
from tests.matrix.waiting import LIMIT


def test_cell_is_skipped_with_the_reason(tmp_path: Path) -> None:
    test = Test("states::test_x", "test_states.py", "test_x", tiers=(Tier.NPU,))
    cell = Cell(Release("0.5.13"), (), Tier.NPU, test)
    trees = ReleaseTrees(cell.release, tmp_path, {})
    (result,) = run_npu([cell], trees, RunOptions(), devices=tmp_path)
    assert result.outcome is Outcome.SKIPPED
    assert "no NPU" in result.detail


def test_missing_program_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(MeasurementError, match="no/such cannot be started"),
        running_server(["no/such"], tmp_path / "x", {}, LIMIT),
    ):
        pass


def test_environment_has_variables_of_the_vendor_and_the_row_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "3")
    monkeypatch.setenv("PYTHONPATH", "/cann/python")
    monkeypatch.setenv("PATCHTOOL_STRAY", "1")
    found = npu_environment(tmp_path, Path("/tree"), {"ASCEND_USE_FIA": "1"})
    assert found["PYTHONPATH"] == "/tree:/cann/python"
    assert (found["ASCEND_RT_VISIBLE_DEVICES"], found["ASCEND_USE_FIA"]) == ("3", "1")
    assert "PATCHTOOL_STRAY" not in found


@pytest.mark.parametrize(
    ("report", "problem"),
    [
        pytest.param("{", "has no score", id="cut off"),
        pytest.param("[]", "has no score", id="a list"),
        pytest.param('{"score": "high"}', "has no score", id="text"),
        pytest.param('{"score": NaN}', "is not a score from 0 to 1", id="not a number"),
        pytest.param('{"score": 87.8}', "is not a score from 0 to 1", id="percent"),
    ],
)
def test_unusable_report_is_an_error(tmp_path: Path, report: str, problem: str) -> None:
    (tmp_path / "reports" / "m").mkdir(parents=True)
    (tmp_path / "reports" / "m" / "gsm8k.json").write_text(report)
    with pytest.raises(MeasurementError, match=problem):
        read_score(tmp_path, "gsm8k", "evalscope gsm8k")


def test_report_of_an_earlier_evalscope_is_read(tmp_path: Path) -> None:
    (tmp_path / "reports" / "m").mkdir(parents=True)
    (tmp_path / "reports" / "m" / "gsm8k.json").write_text('{"score": 0.835}')
    assert read_score(tmp_path, "gsm8k", "evalscope gsm8k") == Score(0.835)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        pytest.param("", "wrote no numbers", id="nothing"),
        pytest.param("Traceback", "wrote no numbers", id="garbage"),
        pytest.param('{"completed": 8}', "wrote no numbers", id="keys"),
        pytest.param('{"completed": 7, "mean_ttft_ms": 1.0, "output_throughput": 1.0}', "completed 7 of 8", id="part"),
        pytest.param('{"completed": 8, "mean_ttft_ms": 0.0, "output_throughput": 1.0}', "measured ttft 0.0", id="0"),
    ],
)
def test_unusable_speed_is_an_error(tmp_path: Path, line: str, problem: str) -> None:
    output = tmp_path / "speed.jsonl"
    output.write_text(line)
    with pytest.raises(MeasurementError, match=problem):
        read_speed(output, 8)


def test_last_line_is_read(tmp_path: Path) -> None:
    lines = [{"completed": 8, "mean_ttft_ms": ttft, "output_throughput": 50.0} for ttft in (9.0, 7.5)]
    output = tmp_path / "speed.jsonl"
    output.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert read_speed(output, 8).ttft == 7.5

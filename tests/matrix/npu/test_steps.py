"""Detection, ports, and what clients leave behind."""

import json
import socket
from pathlib import Path

import pytest

from patchtool.domain.release import Release
from patchtool.matrix.cell import Cell, Outcome, Test, Tier
from patchtool.matrix.npu import run_npu
from patchtool.matrix.npu.accuracy import read_score
from patchtool.matrix.npu.environment import npu_environment
from patchtool.matrix.npu.faults import StepFault
from patchtool.matrix.npu.server import served
from patchtool.matrix.npu.speed import read_pace
from patchtool.matrix.options import RunOptions
from patchtool.matrix.release_trees import ReleaseTrees


def test_cells_are_skipped_and_say_why(tmp_path: Path) -> None:
    test = Test("states::test_x", "test_states.py", "test_x", tiers=(Tier.NPU,))
    cell = Cell(Release("0.5.13"), (), Tier.NPU, test)
    subject = ReleaseTrees(cell.release, tmp_path, {})
    (result,) = run_npu([cell], subject, RunOptions(), devices=tmp_path)
    assert result.outcome is Outcome.SKIPPED
    assert "no NPU" in result.detail


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            pytest.raises(StepFault, match=f"port {port} is in use") as fault,
            served([], tmp_path / "x", {}, port=port),
        ):
            pass
    assert fault.value.outcome is Outcome.ERROR


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StepFault, match="no/such cannot be started"), served(["no/such"], tmp_path / "x", {}):
        pass


def test_the_environment_is_the_vendors_and_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
        pytest.param("{", "holds no score", id="cut off"),
        pytest.param("[]", "holds no score", id="a list"),
        pytest.param('{"score": "high"}', "holds no score", id="text"),
        pytest.param('{"score": NaN}', "no score from 0 to 1", id="not a number"),
        pytest.param('{"score": 87.8}', "no score from 0 to 1", id="percent"),
    ],
)
def test_reports_that_do_not_do(tmp_path: Path, report: str, problem: str) -> None:
    (tmp_path / "reports" / "m").mkdir(parents=True)
    (tmp_path / "reports" / "m" / "gsm8k.json").write_text(report)
    with pytest.raises(StepFault, match=problem):
        read_score(tmp_path, "gsm8k", "evalscope gsm8k")


def test_a_report_of_an_earlier_evalscope(tmp_path: Path) -> None:
    (tmp_path / "reports" / "m").mkdir(parents=True)
    (tmp_path / "reports" / "m" / "gsm8k.json").write_text('{"score": 0.835}')
    assert read_score(tmp_path, "gsm8k", "evalscope gsm8k") == 0.835


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        pytest.param("", "left no numbers", id="nothing"),
        pytest.param("Traceback", "left no numbers", id="garbage"),
        pytest.param('{"completed": 8}', "left no numbers", id="keys"),
        pytest.param('{"completed": 7, "mean_ttft_ms": 1.0, "output_throughput": 1.0}', "completed 7 of 8", id="part"),
        pytest.param('{"completed": 8, "mean_ttft_ms": 0.0, "output_throughput": 1.0}', "measured ttft 0.0", id="0"),
    ],
)
def test_speeds_that_do_not_do(tmp_path: Path, line: str, problem: str) -> None:
    output = tmp_path / "speed.jsonl"
    output.write_text(line)
    with pytest.raises(StepFault, match=problem):
        read_pace(output, 8)


def test_the_last_line_counts(tmp_path: Path) -> None:
    lines = [{"completed": 8, "mean_ttft_ms": ttft, "output_throughput": 50.0} for ttft in (9.0, 7.5)]
    output = tmp_path / "speed.jsonl"
    output.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert read_pace(output, 8).ttft == 7.5

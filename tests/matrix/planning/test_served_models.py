"""The ``served`` tables of the matrix file: what they may say, and the message with the line when they are wrong."""

from pathlib import Path

import pytest

from patchtool.domain.errors import InputError
from patchtool.domain.toml import read_toml
from patchtool.matrix.planning.matrix_file import Matrix
from patchtool.matrix.planning.served_models import ServedConfig

PROJECT_FILE = Path(__file__).parents[3] / "ci" / "matrix.toml"
ROW = '[[served.model]]\nname = "m"\nmodel = "org/m"\n'
GSM8K = '[[served.model.accuracy]]\ndataset = "gsm8k"\nthreshold = 1\n'


def read(text: str) -> ServedConfig:
    return read_toml(text.encode(), "m.toml", Matrix).served


def test_project_file_is_valid() -> None:
    config = read(PROJECT_FILE.read_text())
    assert {row.name: row.accuracy[0].dataset for row in config.models}["reports-Qwen3.6-27B"] == "gpqa_diamond"
    assert all("--speculative-algorithm" in row.flags for row in config.models)
    assert "sglang.launch_server" in config.commands.server


def test_models_inherit_shared_flags_and_environment() -> None:
    text = '[served]\nflags = ["--device", "npu"]\nenvironment = { A = "1", B = "2" }\n'
    text += ROW + 'flags = ["--tp-size", "2"]\nenvironment = { B = "3" }\n' + GSM8K
    (row,) = read(text).models
    assert row.flags == ("--device", "npu", "--tp-size", "2")
    assert row.environment == {"A": "1", "B": "3"}
    assert row.accuracy[0].threshold == 1.0


def test_file_without_models_serves_none() -> None:
    assert read("timeout = 60\n").models == ()


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        pytest.param("x = \n", 1, "not TOML", id="not TOML"),
        pytest.param("[served]\ncolour = 1\n", 2, "unknown key 'colour'", id="unknown key"),
        pytest.param("timeout = 1\n[served]\nstart-timeout = true\n", 3, "start-timeout: expected number", id="type"),
        pytest.param(ROW + GSM8K + ROW + "mode = 1\n" + GSM8K, 10, "unknown key 'mode'", id="unknown key, second row"),
        pytest.param(ROW, 1, "nothing is measured of m", id="no benchmark"),
        pytest.param('[[served.model]]\nname = "m"\n' + GSM8K, 1, "model is missing", id="missing key"),
        pytest.param(
            ROW + GSM8K + ROW + GSM8K.replace("1\n", "87.8\n"), 12, "threshold: expected number <= 1.0", id="range"
        ),
        pytest.param("[served]\ntimeout = 5\n", 2, "unknown key 'timeout'", id="timeout of the tier"),
        pytest.param(ROW + "devices = 0\n" + GSM8K, 4, "devices: expected integer >= 1", id="no device"),
        pytest.param(ROW + 'modes = ["fast"]\n' + GSM8K, 4, "modes[0]: invalid enum value 'fast'", id="mode"),
        pytest.param(ROW + "timeout = 0\n" + GSM8K, 4, "timeout: expected number > 0.0", id="timeout"),
        pytest.param(ROW + 'flags = ["--disable-cuda-graph"]\n' + GSM8K, 4, "is set by the mode", id="flag of a mode"),
        pytest.param('[served]\nflags = ["--disable-cuda-graph"]\n', 2, "is set by the mode", id="shared flag"),
        pytest.param(
            ROW + 'environment = { ASCEND_RT_VISIBLE_DEVICES = "0" }\n' + GSM8K, 4, "is set for each run", id="devices"
        ),
        pytest.param(ROW + "environment = { A = 1 }\n" + GSM8K, 4, "expected string, got integer", id="variable"),
        pytest.param("[served]\nmodel = 3\n", 2, "model: expected array, got integer", id="not tables"),
        pytest.param("[served.commands]\nclient = []\n", 2, "unknown key 'client'", id="commands"),
    ],
)
def test_error_names_line_and_rule(text: str, line: int, problem: str) -> None:
    with pytest.raises(InputError) as error:
        read(text)
    assert error.value.message.startswith(f"m.toml:{line}: ")
    assert problem in error.value.message

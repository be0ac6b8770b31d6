"""What the matrix file says of served models, and what it may not say, with the line."""

from pathlib import Path

import pytest

from patchtool.domain.errors import InputError
from patchtool.matrix.planning.served import parse_served

OURS = Path(__file__).parents[3] / "ci" / "matrix.toml"
ROW = '[[served.model]]\nname = "m"\nmodel = "org/m"\n'
GSM8K = '[[served.model.accuracy]]\ndataset = "gsm8k"\nthreshold = 1\n'


def test_the_projects_own_file() -> None:
    found = parse_served(OURS.read_bytes(), "ci/matrix.toml")
    assert {row.name: row.accuracy[0].dataset for row in found.models}["Qwen3.6-27B"] == "gpqa_diamond"
    assert all("--speculative-algorithm" in row.flags for row in found.models)
    assert "sglang.launch_server" in found.commands.server


def test_rows_take_the_shared_flags_and_environment() -> None:
    text = '[served]\nflags = ["--device", "npu"]\nenvironment = { A = "1", B = "2" }\n'
    text += ROW + 'flags = ["--tp-size", "2"]\nenvironment = { B = "3" }\n' + GSM8K
    (row,) = parse_served(text.encode(), "m.toml").models
    assert row.flags == ("--device", "npu", "--tp-size", "2")
    assert row.environment == {"A": "1", "B": "3"}
    assert row.accuracy[0].threshold == 1.0


def test_a_file_without_models() -> None:
    assert parse_served(b"timeout = 60\n", "m.toml").models == ()


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        pytest.param("x = \n", 1, "not TOML", id="not TOML"),
        pytest.param("[served]\ncolour = 1\n", 2, "unknown key 'colour'", id="unknown"),
        pytest.param("a = 1\n[served]\nstart-timeout = true\n", 3, "timeout must be a number", id="kind"),
        pytest.param(ROW + GSM8K + ROW + "mode = 1\n" + GSM8K, 10, "unknown key 'mode'", id="unknown in the second"),
        pytest.param(ROW, 1, "nothing is measured", id="nothing measured"),
        pytest.param('[[served.model]]\nname = "m"\n' + GSM8K, 1, "model is missing", id="missing"),
        pytest.param(ROW + GSM8K + ROW + GSM8K.replace("1\n", "87.8\n"), 12, "from 0 to 1", id="nested in the second"),
        pytest.param("[served]\ntimeout = 5\n", 2, "unknown key 'timeout'", id="the tier's"),
        pytest.param(ROW + "devices = 0\n" + GSM8K, 4, "at least 1, not 0", id="no device"),
        pytest.param(ROW + 'modes = ["fast"]\n' + GSM8K, 4, "no mode 'fast'", id="mode"),
        pytest.param(ROW + "timeout = 0\n" + GSM8K, 4, "above 0", id="time"),
        pytest.param(ROW + 'flags = ["--disable-cuda-graph"]\n' + GSM8K, 4, "is a mode's", id="flag of a mode"),
        pytest.param(
            ROW + 'environment = { ASCEND_RT_VISIBLE_DEVICES = "0" }\n' + GSM8K, 4, "is chosen", id="devices by hand"
        ),
        pytest.param("[served]\nmodel = 3\n", 2, "model must be tables", id="not tables"),
        pytest.param("[served.commands]\nclient = []\n", 2, "unknown key 'client'", id="commands"),
    ],
)
def test_what_it_may_not_say(text: str, line: int, problem: str) -> None:
    with pytest.raises(InputError) as error:
        parse_served(text.encode(), "m.toml")
    assert error.value.message.startswith(f"m.toml:{line}: ")
    assert problem in error.value.message

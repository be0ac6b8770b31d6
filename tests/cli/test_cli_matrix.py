"""``test`` with several matrix files and options, on the real 0.5.13."""

import shutil

import pytest

from tests.cli.harness import REPOSITORY, CommandLine

ROW = '[[rows]]\npatches = {}\ntiers = ["static"]\nreleases = ["pin"]\n'


def written(cli: CommandLine, text: str) -> None:
    (cli.project / "ci").mkdir()
    (cli.project / "ci" / "matrix.toml").write_text(text)


@pytest.mark.slow
def test_row_with_subsets_runs_only_those(cli: CommandLine) -> None:
    written(cli, ROW.format('[[], ["mtp_tracking", "ssm_index_layout"]]'))
    cells = cli("test", "--json").document["cells"]
    assert {tuple(cell["patches"]) for cell in cells} == {(), ("ssm_index_layout", "mtp_tracking")}
    assert {(cell["tier"], cell["outcome"], cell["verdict"]) for cell in cells} == {("static", "passed", "as-expected")}


@pytest.mark.parametrize(
    ("patches", "said", "hint"),
    [
        ('[["mtp_traking"]]', "matrix.toml:2: there is no patch 'mtp_traking'", "the series has ssm_index_layout"),
        ('["mtp_tracking"]', "matrix.toml:2: patches[0]: expected array, got string", ""),
    ],
)
def test_invalid_row_is_reported_with_line_and_hint(cli: CommandLine, patches: str, said: str, hint: str) -> None:
    written(cli, ROW.format(patches))
    answer = cli("test")
    assert answer.code == 2
    assert said in answer.err
    assert hint in answer.err


def test_unknown_mode_exits_2(cli: CommandLine) -> None:
    (cli.project / "ci").mkdir()
    shutil.copy(REPOSITORY / "ci" / "matrix.toml", cli.project / "ci")
    answer = cli("test", "--mode", "fast")
    assert answer.code == 2
    assert "there is no mode 'fast'" in answer.err
    assert "hint: modes: eager, graph" in answer.err


@pytest.mark.slow
def test_plan_says_what_a_run_would_start_and_lacks(cli: CommandLine) -> None:
    (cli.project / "ci").mkdir()
    shutil.copy(REPOSITORY / "ci" / "matrix.toml", cli.project / "ci")
    wanted = ("test", "--plan", "--tier", "npu", "-k", "reports")
    answer = cli(*wanted, "--json")
    plan = answer.document["plan"]
    assert (answer.code, answer.document["cells"]) == (4, [])
    assert [(server["row"], len(server["patches"])) for server in plan["servers"]] == [
        ("reports-Qwen3.6-35B-A3B-w4a8", 1),
        ("reports-Qwen3.6-35B-A3B-w4a8", 3),
        ("reports-Qwen3.6-27B", 3),
        ("reports-Qwen3.6-27B", 5),
    ]
    assert {"NPUs", "CANN", "torch-npu"} <= {need["what"] for need in plan["needs"] if need["missing"]}
    said = cli(*wanted).out
    assert "would run 4 cells of the npu tier" in said
    assert "-m sglang.launch_server --host 127.0.0.1 --port PORT" in said


@pytest.mark.parametrize("option", ["--models", "--datasets"])
def test_missing_folder_exits_2(cli: CommandLine, option: str) -> None:
    answer = cli("test", option, "nowhere")
    assert answer.code == 2
    assert f"{option} nowhere: there is no such folder" in answer.err


def test_resume_is_for_releases_only(cli: CommandLine) -> None:
    answer = cli("test", "--resume", "--tree", ".")
    assert answer.code == 2
    assert "--tree and --resume exclude each other" in answer.err

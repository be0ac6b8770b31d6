"""Served runs from end to end, against a small real server and clients that speak the documented formats."""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from patchtool.domain.release import Release
from patchtool.domain.state import State
from patchtool.matrix.cell import Cell, CellResult, Outcome
from patchtool.matrix.npu import run_npu
from patchtool.matrix.options import RunOptions
from patchtool.matrix.planning.cells import SeriesStates
from patchtool.matrix.planning.served import parse_served, served_cells
from patchtool.matrix.release_trees import ReleaseTrees

HERE = Path(__file__).parent
LOAD = "prompts = 2\ninput-tokens = 8\noutput-tokens = 8\nconcurrency = 1\n"


class Host:
    """A machine with a device file and an interpreter on which the probe succeeds."""

    def __init__(self, folder: Path, free: Sequence[float] = (0.97,)) -> None:
        self.folder = folder
        (folder / "davinci0").touch()
        self.python = folder / "python"
        probed = json.dumps({"free": list(free), "name": "none", "versions": ["0", "0"]})
        lines = ["#!/bin/sh", f"[ \"$1\" = -c ] && echo '{probed}' && exit", f'exec {sys.executable} "$@"', ""]
        self.python.write_text("\n".join(lines))
        self.python.chmod(0o755)
        self.pids = folder / "pids"

    def run(
        self,
        measures: str,
        *,
        pristine: str = "RIGHT = 5",
        patched: str = "RIGHT = 8",
        flags: Sequence[str] = (),
        timeout: float = 20,
        stopped: Callable[[], bool] = bool,
        by: Callable[[Cell], str] = lambda cell: cell.test.function.partition("::")[2].removesuffix("[graph]"),
    ) -> dict[str, CellResult]:
        tree = self.folder / "pristine"
        (tree / "sglang").mkdir(parents=True)
        (tree / "sglang" / "__init__.py").write_text(pristine)
        (tree / "sglang" / "other.py").write_text("SAME = True")
        overlays: Mapping[tuple[str, ...], Mapping[str, bytes]] = {
            ("fix",): {"python/sglang/__init__.py": patched.encode()}
        }
        subject = ReleaseTrees(Release("0.5.13"), tree, overlays)
        words = {
            "server": ["{python}", str(HERE / "small_server.py"), "--host", "{host}", "--port", "{port}"],
            "evaluate": ["{python}", str(HERE / "small_evaluate.py")],
            "speed": ["{python}", str(HERE / "small_speed.py")],
        }
        commands = "".join(f"{name} = {json.dumps(value)}\n" for name, value in words.items())
        text = f"[served]\nstart-timeout = 10\n[served.commands]\n{commands}"
        text += '[[served.model]]\nname = "tiny"\nmodel = "org/tiny"\n'
        text += f"timeout = {timeout}\n"
        text += f'flags = {json.dumps(list(flags))}\nenvironment = {{ SMALL_SERVER_PID = "{self.pids}" }}\n{measures}'
        path = self.folder / "matrix.toml"
        path.write_text(text)
        series = SeriesStates(subject.release, {"fix": State.APPLIED}, {})
        cells = served_cells(series, parse_served(path.read_bytes(), "matrix.toml"), path)
        options = RunOptions(python=str(self.python))
        results = list(run_npu(cells, subject, options, stopped=stopped, devices=self.folder))
        assert (tree / "sglang" / "__init__.py").read_text() == pristine, "the pristine tree was written to"
        assert sorted(path.name for path in (tree / "sglang").iterdir()) == ["__init__.py", "other.py"]
        assert [result.cell for result in results] == list(cells)
        self.nothing_left()
        return {by(result.cell): result for result in results}

    def nothing_left(self) -> None:
        for line in self.pids.read_text().split() if self.pids.exists() else ():
            with pytest.raises(ProcessLookupError):
                os.killpg(int(line), 0)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def accuracy(dataset: str = "gsm8k", threshold: float = 0.7, drop: float = 0.0) -> str:
    return f'[[served.model.accuracy]]\ndataset = "{dataset}"\nthreshold = {threshold}\ndrop = {drop}\n'


def speed(ttft: float = 1.0, throughput: float = 1.0) -> str:
    return f"[[served.model.speed]]\n{LOAD}ttft = {ttft}\nthroughput = {throughput}\n"


def test_both_trees_are_measured_in_one_run(host: Host) -> None:
    found = host.run(accuracy() + speed())
    assert {name: result.outcome for name, result in found.items()} == {
        "gsm8k": Outcome.PASSED,
        "speed-8-8-1": Outcome.PASSED,
    }
    assert found["gsm8k"].numbers == {"pristine": 0.5, "patched": 0.8, "threshold": 0.7}
    assert found["speed-8-8-1"].numbers == {
        "ttft_ms": 125.0,
        "tokens_per_s": 800.0,
        "accepted_length": 2.5,
        "pristine_ttft_ms": 200.0,
        "pristine_tokens_per_s": 500.0,
    }


@pytest.mark.parametrize(
    ("measures", "trees", "detail"),
    [
        pytest.param(accuracy(threshold=0.9), {}, "got 0.8, want at least 0.9", id="threshold"),
        pytest.param(accuracy(drop=0.05), {"pristine": "RIGHT = 9"}, "got 0.8, pristine 0.9", id="drop"),
        pytest.param(speed(ttft=0.5), {}, "time to first token is 0.625 of pristine", id="ttft"),
        pytest.param(speed(throughput=2), {}, "throughput is 1.600 of pristine", id="throughput"),
    ],
)
def test_numbers_that_do_not_do_are_failures(host: Host, measures: str, trees: dict[str, Any], detail: str) -> None:
    ((_, result),) = host.run(measures, **trees).items()
    assert result.outcome is Outcome.FAILED
    assert detail in result.detail


def test_a_drop_within_bounds_passes(host: Host) -> None:
    assert host.run(accuracy(drop=0.1), pristine="RIGHT = 9")["gsm8k"].outcome is Outcome.PASSED


def test_a_pristine_release_that_does_not_start_is_said(host: Host) -> None:
    found = host.run(accuracy() + speed(), pristine='RIGHT, FAULT = 5, "does not start"')
    assert found["gsm8k"].outcome is Outcome.PASSED
    assert "held against the threshold only" in found["gsm8k"].detail
    assert "data_strides" in found["gsm8k"].detail
    assert found["speed-8-8-1"].outcome is Outcome.ERROR
    assert "nothing to compare with" in found["speed-8-8-1"].detail


@pytest.mark.parametrize(
    ("fault", "outcome", "detail"),
    [
        pytest.param("does not start", Outcome.ERROR, "the server ended with 1: AttributeError", id="does not start"),
        pytest.param("dies later", Outcome.ERROR, "the server ended with 70: RuntimeError: device lost", id="dies"),
        pytest.param("unhealthy", Outcome.TIMEOUT, "not healthy within 10 s (/health_generate answered 503)", id="503"),
        pytest.param("hangs", Outcome.TIMEOUT, "not healthy within 10 s (/health_generate: timed out)", id="hangs"),
        pytest.param("garbage", Outcome.TIMEOUT, "answered what is not HTTP", id="garbage"),
    ],
)
def test_servers_that_fail(host: Host, fault: str, outcome: Outcome, detail: str) -> None:
    result = host.run(accuracy(), patched=f'RIGHT, FAULT = 8, "{fault}"')["gsm8k"]
    assert result.outcome is outcome
    assert detail in result.detail
    assert result.detail.startswith("tree under test: ")


def test_children_of_a_server_are_ended_too(host: Host) -> None:
    assert host.run(accuracy(), flags=["--fault", "leaves children"])["gsm8k"].outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("dataset", "outcome", "detail"),
    [
        pytest.param("silent", Outcome.ERROR, "left 0 reports, not one", id="no report"),
        pytest.param("scoreless", Outcome.ERROR, "the report holds no score", id="no score"),
        pytest.param("hanging", Outcome.TIMEOUT, "evalscope hanging did not end within 2 s", id="hangs"),
    ],
)
def test_clients_that_fail_leave_the_others_their_numbers(
    host: Host, dataset: str, outcome: Outcome, detail: str
) -> None:
    found = host.run(accuracy(dataset) + accuracy(), timeout=2)
    assert found[dataset].outcome is outcome
    assert detail in found[dataset].detail
    assert found["gsm8k"].outcome is Outcome.PASSED


def test_a_run_that_is_called_off_ends_soon(host: Host) -> None:
    began = time.monotonic()
    result = host.run(accuracy("hanging"), timeout=60, stopped=lambda: time.monotonic() - began > 2)["hanging"]
    assert (result.outcome, result.detail) == (Outcome.ERROR, "tree under test: the run was called off")
    assert time.monotonic() - began < 15


def test_a_mode_is_the_servers(host: Host) -> None:
    found = host.run('modes = ["eager", "graph"]\n' + accuracy(threshold=0.1))
    assert {name: result.numbers["patched"] for name, result in found.items()} == {"gsm8k[eager]": 0.7, "gsm8k": 0.8}
    assert {name: result.numbers["pristine"] for name, result in found.items()} == {"gsm8k[eager]": 0.4, "gsm8k": 0.5}


def test_subsets_of_a_row_share_its_unmodified_server(host: Host) -> None:
    found = host.run('patches = [[], ["fix"]]\n' + accuracy(threshold=0.1), by=lambda cell: "+".join(cell.patches))
    assert {patches: dict(result.numbers) for patches, result in found.items()} == {
        "": {"patched": 0.5, "threshold": 0.1},
        "fix": {"pristine": 0.5, "patched": 0.8, "threshold": 0.1},
    }


@pytest.mark.parametrize(
    ("free", "visible", "seen"),
    [
        pytest.param((0.97, 0.4, 0.98, 0.99), "", "0,2", id="those that are free"),
        pytest.param((0.97, 0.4, 0.98), "4, 5,7", "4,7", id="of those that a scheduler gave"),
    ],
)
def test_a_row_gets_as_many_devices_as_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: Sequence[float], visible: str, seen: str
) -> None:
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", visible)
    code = 'import os\nRIGHT = 8 if os.environ["ASCEND_RT_VISIBLE_DEVICES"] == "{}" else 1'
    found = Host(tmp_path, free).run("devices = 2\n" + accuracy(), patched=code.format(seen))
    assert found["gsm8k"].outcome is Outcome.PASSED, found["gsm8k"].detail


@pytest.mark.parametrize(
    ("free", "outcome", "detail"),
    [
        pytest.param((1.0,), Outcome.SKIPPED, "needs 2 NPUs, and 1 can be seen here: 1 x none", id="fewer"),
        pytest.param((0.2, 1.0), Outcome.ERROR, "needs 2 free NPUs, and of 0, 1 those are free: 1", id="one is in use"),
        pytest.param((0.2, 0.3), Outcome.ERROR, "needs 2 free NPUs, and of 0, 1 those are free: none", id="all are"),
    ],
)
def test_too_few_devices_are_no_failure(tmp_path: Path, free: Sequence[float], outcome: Outcome, detail: str) -> None:
    host = Host(tmp_path, free)
    result = host.run("devices = 2\n" + accuracy())["gsm8k"]
    assert result.outcome is outcome
    assert result.detail.startswith(detail)
    assert not host.pids.exists(), "a server was started"

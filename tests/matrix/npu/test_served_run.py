"""Measurements from end to end, with a small server and clients that use the documented formats."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from patchtool.domain.release import Release
from patchtool.domain.state import State
from patchtool.domain.toml import read_toml
from patchtool.matrix.cell import Cell, CellResult, Outcome
from patchtool.matrix.npu import run_npu
from patchtool.matrix.options import RunOptions
from patchtool.matrix.planning.cells import SeriesStates
from patchtool.matrix.planning.matrix_file import Matrix
from patchtool.matrix.planning.release_plan import served_cells
from patchtool.matrix.release_trees import ReleaseTrees
from tests.matrix.waiting import LIMIT, group_is_gone, wait_until

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
LOAD = "prompts = 2\ninput-tokens = 8\noutput-tokens = 8\nconcurrency = 1\n"
GROWING = (2, 10, 50, 250)
"""Timeouts to try in turn where one thing must time out and another must not, however busy the machine is."""


class Host:
    """A machine with a device file and an interpreter on which the probe succeeds."""

    def __init__(self, folder: Path, free: Sequence[float] = (0.97,)) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        (folder / "davinci0").touch()
        self.python = folder / "python"
        probe = json.dumps({"free": list(free), "name": "none", "versions": ["0", "0"]})
        lines = ["#!/bin/sh", f"[ \"$1\" = -c ] && echo '{probe}' && exit", f'exec {sys.executable} "$@"', ""]
        self.python.write_text("\n".join(lines))
        self.python.chmod(0o755)
        self.pids = folder / "pids"

    def run(
        self,
        benchmarks: str,
        *,
        options: Mapping[str, Any] = MappingProxyType({}),
        pristine: str = "RIGHT = 5",
        patched: str = "RIGHT = 8",
        flags: Sequence[str] = (),
        start_timeout: float = LIMIT,
        timeout: float = LIMIT,
        key: Callable[[Cell], str] = lambda cell: cell.test.function.partition("::")[2].removesuffix("[graph]"),
    ) -> dict[str, CellResult]:
        trees = self._trees(pristine, patched)
        cells = self.cells(benchmarks, flags, start_timeout, timeout)
        run_options = RunOptions(python=str(self.python), **options)
        results = list(run_npu(cells, trees, run_options, devices=self.folder))
        package = trees.tree / "sglang"
        assert (package / "__init__.py").read_text() == pristine, "the pristine tree was written to"
        assert sorted(path.name for path in package.iterdir()) == ["__init__.py", "other.py"]
        assert [result.cell for result in results] == list(cells)
        groups = [int(line) for line in self.pids.read_text().split()] if self.pids.exists() else []
        wait_until(lambda: all(map(group_is_gone, groups)))
        return {key(result.cell): result for result in results}

    def cells(
        self, benchmarks: str, flags: Sequence[str] = (), start_timeout: float = LIMIT, timeout: float = LIMIT
    ) -> tuple[Cell, ...]:
        path = self.folder / "matrix.toml"
        path.write_text(self._matrix(benchmarks, flags, start_timeout, timeout))
        config = read_toml(path.read_bytes(), "matrix.toml", Matrix).served
        states = SeriesStates(Release("0.5.13"), {"fix": State.APPLIED, "more": State.APPLIED}, {})
        return served_cells(states, config, path)

    def fail(self, fault: str) -> None:
        """Have every server that starts from now on fail in some way."""
        (self.folder / "fault").write_text(fault)

    def _trees(self, pristine: str, patched: str) -> ReleaseTrees:
        tree = self.folder / "pristine"
        (tree / "sglang").mkdir(parents=True, exist_ok=True)
        (tree / "sglang" / "__init__.py").write_text(pristine)
        (tree / "sglang" / "other.py").write_text("SAME = True")
        overlay = {"python/sglang/__init__.py": patched.encode()}
        both = {"python/sglang/__init__.py": b"RIGHT = 9"}
        return ReleaseTrees(Release("0.5.13"), tree, {("fix",): overlay, ("fix", "more"): both})

    def _matrix(self, benchmarks: str, flags: Sequence[str], start_timeout: float, timeout: float) -> str:
        commands = {
            "server": ["{python}", str(HERE / "small_server.py"), "--host", "{host}", "--port", "{port}"],
            "evaluate": ["{python}", str(HERE / "small_evaluate.py")],
            "speed": ["{python}", str(HERE / "small_speed.py")],
        }
        text = f"[served]\nstart-timeout = {start_timeout}\n[served.commands]\n"
        text += "".join(f"{name} = {json.dumps(value)}\n" for name, value in commands.items())
        text += f'[[served.model]]\nname = "tiny"\nmodel = "org/tiny"\ntimeout = {timeout}\n'
        text += f"flags = {json.dumps(list(flags))}\n"
        variables = {"SMALL_SERVER_PID": self.pids, "SMALL_SERVER_FAULT": self.folder / "fault"}
        pairs = [f'{name} = "{path}"' for name, path in variables.items()]
        text += f"environment = {{ {', '.join(pairs)} }}\n"
        return text + ("" if "patches = " in benchmarks else 'patches = [["fix"]]\n') + benchmarks


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def accuracy(dataset: str = "gsm8k", threshold: float = 0.7, drop: float = 0.0) -> str:
    return f'[[served.model.accuracy]]\ndataset = "{dataset}"\nthreshold = {threshold}\ndrop = {drop}\n'


def speed(ttft: float = 1.0, throughput: float = 1.0) -> str:
    return f"[[served.model.speed]]\n{LOAD}ttft = {ttft}\nthroughput = {throughput}\n"


def test_both_trees_are_measured(host: Host) -> None:
    found = host.run(accuracy() + speed())
    assert {name: result.outcome for name, result in found.items()} == {
        "gsm8k": Outcome.PASSED,
        "speed-8-8-1": Outcome.PASSED,
    }
    assert found["gsm8k"].numbers == {
        "before": 0.5,
        "after": 0.8,
        "threshold": 0.7,
        "change": 0.3,
        "change_low": -0.045526,
        "change_high": 0.645526,
        "questions": 10,
        "runs": 1,
    }
    assert found["speed-8-8-1"].numbers == {
        "ttft_ms": 125.0,
        "tokens_per_s": 800.0,
        "accepted_length": 2.5,
        "before_ttft_ms": 200.0,
        "before_tokens_per_s": 500.0,
        "ttft_ratio": 0.625,
        "throughput_ratio": 1.6,
        "runs": 1,
    }


@pytest.mark.parametrize(
    ("benchmarks", "trees", "detail"),
    [
        pytest.param(accuracy(threshold=0.9), {}, "got 0.8, want at least 0.9", id="threshold"),
        pytest.param(accuracy(drop=0.05), {"pristine": "RIGHT = 9"}, "got 0.8, before 0.9", id="drop"),
        pytest.param(speed(ttft=0.5), {}, "time to first token is 0.625 of that before", id="ttft"),
        pytest.param(speed(throughput=2), {}, "throughput is 1.600 of that before", id="throughput"),
    ],
)
def test_number_beyond_its_threshold_is_a_failure(
    host: Host, benchmarks: str, trees: dict[str, Any], detail: str
) -> None:
    ((_, result),) = host.run(benchmarks, **trees).items()
    assert result.outcome is Outcome.FAILED
    assert detail in result.detail


def test_allowed_drop_passes(host: Host) -> None:
    assert host.run(accuracy(drop=0.1), pristine="RIGHT = 9")["gsm8k"].outcome is Outcome.PASSED


def test_pristine_release_that_does_not_start_is_reported(host: Host) -> None:
    found = host.run(accuracy() + speed(), pristine='RIGHT, FAULT = 5, "does not start"')
    assert found["gsm8k"].outcome is Outcome.PASSED
    assert "compared with the threshold only" in found["gsm8k"].detail
    assert "data_strides" in found["gsm8k"].detail
    assert found["speed-8-8-1"].outcome is Outcome.ERROR
    assert "nothing to compare with" in found["speed-8-8-1"].detail


@pytest.mark.parametrize(
    ("fault", "detail"),
    [
        pytest.param("does not start", "the server ended with 1: AttributeError", id="does not start"),
        pytest.param("dies later", "the server ended with 70: RuntimeError: device lost", id="ends later"),
    ],
)
def test_server_that_ends_is_an_error(host: Host, fault: str, detail: str) -> None:
    result = host.run(accuracy(), patched=f'RIGHT, FAULT = 8, "{fault}"')["gsm8k"]
    assert result.outcome is Outcome.ERROR
    assert result.detail.startswith(f"tree under test: {detail}")


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        pytest.param("unhealthy", "(/health_generate answered 503)", id="503"),
        pytest.param("hangs", "(/health_generate: timed out)", id="hangs"),
        pytest.param("garbage", "answered what is not HTTP", id="garbage"),
    ],
)
def test_server_that_is_never_healthy_is_a_timeout(tmp_path: Path, fault: str, problem: str) -> None:
    for limit in GROWING:  # on a busy machine the server may not even listen within the first one
        host = Host(tmp_path / str(limit))
        result = host.run(accuracy(), patched=f'RIGHT, FAULT = 8, "{fault}"', start_timeout=limit)["gsm8k"]
        assert result.outcome is Outcome.TIMEOUT
        assert result.detail.startswith(f"tree under test: the server was not healthy within {limit} s (")
        if problem in result.detail:
            return
    pytest.fail(result.detail)


def test_child_processes_of_a_server_are_ended(host: Host) -> None:
    assert host.run(accuracy(), flags=["--fault", "leaves children"])["gsm8k"].outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("dataset", "detail"),
    [
        pytest.param("silent", "evalscope silent: expected one report, got 0", id="no report"),
        pytest.param("scoreless", "the report has no score", id="no score"),
    ],
)
def test_failing_client_does_not_affect_others(host: Host, dataset: str, detail: str) -> None:
    found = host.run(accuracy(dataset) + accuracy())
    assert found[dataset].outcome is Outcome.ERROR
    assert detail in found[dataset].detail
    assert found["gsm8k"].outcome is Outcome.PASSED


def test_hanging_client_does_not_affect_others(tmp_path: Path) -> None:
    for limit in GROWING:  # on a busy machine the other client may time out as well
        found = Host(tmp_path / str(limit)).run(accuracy("hanging") + accuracy(), timeout=limit)
        assert found["hanging"].outcome is Outcome.TIMEOUT
        assert f"evalscope hanging did not end within {limit} s" in found["hanging"].detail
        if found["gsm8k"].outcome is Outcome.PASSED:
            return
    pytest.fail(found["gsm8k"].detail)


def test_server_runs_in_the_mode_of_its_cell(host: Host) -> None:
    found = host.run('modes = ["eager", "graph"]\n' + accuracy(threshold=0.1))
    assert {name: result.numbers["after"] for name, result in found.items()} == {"gsm8k[eager]": 0.7, "gsm8k": 0.8}
    assert {name: result.numbers["before"] for name, result in found.items()} == {"gsm8k[eager]": 0.4, "gsm8k": 0.5}


def test_subsets_of_a_row_share_its_pristine_measurement(host: Host) -> None:
    found = host.run('patches = [[], ["fix"]]\n' + accuracy(threshold=0.1), key=lambda cell: "+".join(cell.patches))
    names = ("before", "after", "threshold")
    assert {patches: [result.numbers.get(name) for name in names] for patches, result in found.items()} == {
        "": [None, 0.5, 0.1],
        "fix": [0.5, 0.8, 0.1],
    }


@pytest.mark.parametrize(
    ("free", "visible", "used"),
    [
        pytest.param((0.97, 0.4, 0.98, 0.99), "", "0,2", id="free ones"),
        pytest.param((0.97, 0.4, 0.98), "4, 5,7", "4,7", id="free ones of those that a scheduler assigned"),
    ],
)
def test_server_gets_as_many_free_devices_as_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: Sequence[float], visible: str, used: str
) -> None:
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", visible)
    code = 'import os\nRIGHT = 8 if os.environ["ASCEND_RT_VISIBLE_DEVICES"] == "{}" else 1'
    found = Host(tmp_path, free).run("devices = 2\n" + accuracy(), patched=code.format(used))
    assert found["gsm8k"].outcome is Outcome.PASSED, found["gsm8k"].detail


@pytest.mark.parametrize(
    ("free", "outcome", "detail"),
    [
        pytest.param((1.0,), Outcome.SKIPPED, "needs 2 NPUs, and 1 can be seen here: 1 x none", id="too few"),
        pytest.param((0.2, 1.0), Outcome.ERROR, "needs 2 free NPUs; visible: 0, 1; free: 1", id="one in use"),
        pytest.param((0.2, 0.3), Outcome.ERROR, "needs 2 free NPUs; visible: 0, 1; free: none", id="all in use"),
    ],
)
def test_too_few_devices_are_not_a_failure(
    tmp_path: Path, free: Sequence[float], outcome: Outcome, detail: str
) -> None:
    host = Host(tmp_path, free)
    result = host.run("devices = 2\n" + accuracy())["gsm8k"]
    assert result.outcome is outcome
    assert result.detail.startswith(detail)
    assert not host.pids.exists(), "a server was started"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        pytest.param("out of memory", "the server ended with 1: out of memory on the NPU: stop what else", id="memory"),
        pytest.param("crash while loading", "the server ended with -9: it was killed from outside", id="killed"),
        pytest.param("port taken", "the server ended with 1: a port was taken by another program", id="port"),
        pytest.param("HCCL", "the server ended with 1: HCCL could not connect the NPUs", id="HCCL"),
        pytest.param("no model", "the server ended with 1: the model is not there", id="no model"),
        pytest.param("wrong model", "serves org/other, not org/tiny: is another server on it?", id="wrong model"),
    ],
)
def test_failing_server_is_explained(host: Host, fault: str, words: str) -> None:
    host.fail(fault)
    result = host.run(accuracy())["gsm8k"]
    assert result.outcome is Outcome.ERROR
    assert words in result.detail


def test_slow_start_is_waited_for(host: Host) -> None:
    host.fail("slow start")
    assert host.run(accuracy())["gsm8k"].outcome is Outcome.PASSED


def test_evaluator_without_network_is_explained(host: Host) -> None:
    found = host.run(accuracy("remote") + accuracy())
    assert found["remote"].outcome is Outcome.ERROR
    assert "no network for a download: name the folder of datasets with --datasets DIR" in found["remote"].detail
    assert found["gsm8k"].outcome is Outcome.PASSED


def test_another_subset_can_be_the_tree_before(host: Host) -> None:
    ((_, result),) = host.run('before = ["fix"]\npatches = [["fix", "more"]]\n' + accuracy()).items()
    assert (result.numbers["before"], result.numbers["after"]) == (0.8, 0.9)


def test_benchmarks_are_run_as_often_as_the_row_says(host: Host) -> None:
    found = host.run("runs = 3\n" + accuracy() + speed())
    assert found["gsm8k"].numbers["runs"] == found["speed-8-8-1"].numbers["runs"] == 3
    names = ("ttft_ratio", "ttft_ratio_low", "ttft_ratio_high")
    assert [found["speed-8-8-1"].numbers[name] for name in names] == [0.625] * 3


def test_thinking_on_and_off_are_two_benchmarks(host: Host) -> None:
    found = host.run(accuracy() + accuracy() + "thinking = true\n")
    assert {name: result.outcome for name, result in found.items()} == {
        "gsm8k": Outcome.PASSED,
        "gsm8k-thinking": Outcome.PASSED,
    }


def test_resumed_run_measures_only_what_is_missing(host: Host, tmp_path: Path) -> None:
    kept = {"measurements": tmp_path / "kept"}
    assert host.run(accuracy() + speed(), options=kept)["gsm8k"].outcome is Outcome.PASSED
    for result in sorted(kept["measurements"].glob("*/speed-8-8-1-1.json"))[:1]:
        result.write_text("{")
    started = len(host.pids.read_text().split())
    found = host.run(accuracy() + speed(), options={**kept, "resume": True})
    assert {result.outcome for result in found.values()} == {Outcome.PASSED}
    assert len(host.pids.read_text().split()) == started + 1, "of one tree everything was measured"
    host.fail("does not start")
    assert host.run(accuracy() + speed(), options={**kept, "resume": True})["gsm8k"].numbers["after"] == 0.8
    assert host.run(accuracy() + speed(), options=kept)["gsm8k"].outcome is Outcome.ERROR


def test_measurement_of_another_tree_or_row_is_not_resumed(host: Host, tmp_path: Path) -> None:
    kept = {"measurements": tmp_path / "kept", "resume": True}
    assert host.run(accuracy(), options=kept)["gsm8k"].numbers["after"] == 0.8
    assert host.run(accuracy(), patched="RIGHT = 9", options=kept)["gsm8k"].numbers["after"] == 0.9
    host.fail("does not start")
    assert host.run(accuracy(), flags=["--fault", ""], options=kept)["gsm8k"].outcome is Outcome.ERROR


def test_logs_are_kept(host: Host, tmp_path: Path) -> None:
    host.run(accuracy(), options={"measurements": tmp_path / "kept"})
    assert len(list((tmp_path / "kept").glob("*/server.log"))) == 2
    assert len(list((tmp_path / "kept").glob("*/gsm8k-1/gsm8k.log"))) == 2


def test_full_disk_costs_the_cells_of_its_model_only(host: Host, tmp_path: Path) -> None:
    (tmp_path / "kept").symlink_to("/dev/full")
    result = host.run(accuracy(), options={"measurements": tmp_path / "kept"})["gsm8k"]
    assert result.outcome is Outcome.ERROR
    assert str(tmp_path / "kept") in result.detail


@pytest.mark.parametrize(("wanted", "outcome"), [("0.post2", Outcome.PASSED), ("1.0", Outcome.SKIPPED)])
def test_release_that_needs_another_torch_npu_is_skipped(host: Host, wanted: str, outcome: Outcome) -> None:
    stack = f'[[served.stack]]\nreleases = ["0.5.13"]\ntorch-npu = "{wanted}"\n'
    result = host.run(accuracy() + stack)["gsm8k"]
    assert result.outcome is outcome
    assert ("0.5.13 needs torch_npu 1.0, and 0 is installed" in result.detail) is (outcome is Outcome.SKIPPED)

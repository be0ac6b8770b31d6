"""What a plan prints and what it finds missing, on hosts with stand-ins for ``npu-smi``, CANN and the interpreter."""

import json
import platform
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from patchtool.cli.reports.plan_text import plan_text
from patchtool.domain.release import Release
from patchtool.domain.state import State
from patchtool.domain.toml import read_toml
from patchtool.matrix.npu.plan import plan_document, plan_served
from patchtool.matrix.npu.served_group import SHAREGPT
from patchtool.matrix.options import RunOptions
from patchtool.matrix.planning.cells import SeriesStates
from patchtool.matrix.planning.matrix_file import Matrix
from patchtool.matrix.planning.release_plan import served_cells

SMI = """+------------------------------------------------------------------------------------------------+
| npu-smi 25.5.2                   Version: 25.5.2                                               |
+---------------------------+---------------+----------------------------------------------------+
| 0     910B3               | OK            | 90.2        36                0    / 0             |
+===========================+===============+====================================================+
"""
FILE = """
[served]
start-minutes = 5
environment = { ASCEND_USE_FIA = "1" }
[[served.stack]]
releases = ["0.5.13"]
cann = "9.0.0"
driver = "25.3.RC1"
torch = "2.10.0"
torch-npu = "2.10.0"
sgl-kernel-npu = "2026.05.01.post3"
[[served.model]]
name = "m"
model = "org/m"
devices = 2
runs = 3
before = ["one"]
patches = [["one", "two"]]
[[served.model.accuracy]]
dataset = "ceval"
threshold = 0.5
minutes = 30
[[served.model.speed]]
prompts = 8
input-tokens = 16
output-tokens = 4
concurrency = 2
ttft = 1.0
throughput = 1.0
minutes = 10
"""


class Host:
    """A host that has everything, of which a test takes something away."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.found: dict[str, Any] = {
            "packages": {"sgl-kernel-npu": "2026.5.1.post3", "evalscope": "1.14.0"},
            "versions": ["2.10.0+cpu", "2.10.0.post2"],
            "hccl": True,
            "free": [1.0, 1.0],
            "memory": [64 << 30, 64 << 30],
            "name": "Ascend910B3",
        }
        for number in range(2):
            self.write(f"dev/davinci{number}")
        self.smi(f"cat << 'END'\n{SMI}END")
        self.write(f"cann/{platform.machine()}-linux/ascend_toolkit_install.info", "path=/x\nversion=9.0.0\narch=x\n")
        self.write("models/m/model-1.safetensors", "weights")
        self.write("datasets/ceval/val.jsonl")
        self.write(f"datasets/{SHAREGPT}")
        self.write("matrix.toml", FILE)
        monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")
        monkeypatch.setenv("ASCEND_TOOLKIT_HOME", str(folder / "cann"))
        monkeypatch.setenv("HCCL_IF_BASE_PORT", str(free_ports()))

    def write(self, name: str, text: str = "", mode: int = 0o644) -> None:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)

    def remove(self, name: str) -> None:
        (self.folder / name).unlink()

    def smi(self, script: str) -> None:
        self.write("bin/npu-smi", f"#!/bin/sh\n{script}\n", 0o755)

    def plan(self, **options: Any) -> Any:
        self.write("python", f"#!{sys.executable}\nprint({json.dumps(self.found)!r})\n", 0o755)
        path = self.folder / "matrix.toml"
        config = read_toml(path.read_bytes(), "matrix.toml", Matrix).served
        states = SeriesStates(Release("0.5.13"), {"one": State.APPLIED, "two": State.APPLIED}, {})
        cells = served_cells(states, config, path)
        folders = {"models": self.folder / "models", "datasets": self.folder / "datasets", **options}
        run_options = RunOptions(python=str(self.folder / "python"), **folders)
        return plan_document(cells, plan_served(cells, run_options, devices=self.folder / "dev"))

    def missing(self, **options: Any) -> dict[str, str]:
        return {need["what"]: need["missing"] for need in self.plan(**options)["needs"] if need["missing"]}


def free_ports() -> int:
    """The first of sixteen ports on which nothing listens."""
    for first in range(20000, 60000, 16):
        try:
            for port in range(first, first + 16):
                with socket.socket() as probe:
                    probe.bind(("", port))
        except OSError:
            continue
        return first
    raise AssertionError("every port is taken")


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    return Host(tmp_path, monkeypatch)


def test_nothing_is_missing_on_a_complete_host(host: Host) -> None:
    assert host.missing() == {}
    found = {need["what"]: need["found"] for need in host.plan()["needs"]}
    assert (found["driver"], found["CANN"]) == ("25.5.2", "9.0.0")


def test_plan_has_every_command_and_the_time(host: Host) -> None:
    plan = host.plan()
    before, after = plan["servers"]
    assert (before["patches"], after["patches"]) == (["one"], ["one", "two"])
    assert before["model"] == str(host.folder / "models" / "m")
    assert before["environment"]["ASCEND_USE_FIA"] == "1"
    assert before["command"][:3] == [str(host.folder / "python"), "-m", "sglang.launch_server"]
    score, load = before["benchmarks"]
    assert f'{{"ceval": {{"local_path": "{host.folder}/datasets/ceval"}}}}' in score["command"]
    assert str(host.folder / "datasets" / SHAREGPT) in load["command"]
    assert plan["minutes"] == 2 * (5 + 3 * 30 + 3 * 10)
    text = plan_text(plan)
    assert "nothing is missing here" in text
    assert "ceval: ceval, 3 runs, about 90 min" in text
    assert text.endswith("2 servers, about 4.2 h by the estimates of the matrix file\n")


def change_versions(torch: str, torch_npu: str) -> Any:
    return lambda host: host.found.update(versions=[torch, torch_npu])


@pytest.mark.parametrize(
    ("change", "what", "missing"),
    [
        pytest.param(lambda h: h.found.update(free=[1.0, 0.2]), "NPUs", "make 2 NPUs free", id="NPU in use"),
        pytest.param(
            lambda h: h.smi("echo 'dcmi module initialize failed'; exit 1"), "driver", "install", id="no driver"
        ),
        pytest.param(
            lambda h: h.smi("echo 'Version: 24.1.rc1'"),
            "driver",
            "update",
            id="old",
        ),
        pytest.param(
            lambda h: h.write(f"cann/{platform.machine()}-linux/ascend_toolkit_install.info", "version=8.5.0\n"),
            "CANN",
            "source CANN's set_env.sh",
            id="CANN",
        ),
        pytest.param(change_versions("2.8.0", "2.10.0"), "torch", "install torch 2.10.0", id="torch"),
        pytest.param(change_versions("2.10.0", "2.8.0"), "torch-npu", "its cells are skipped", id="torch_npu"),
        pytest.param(
            lambda h: h.found["packages"].pop("sgl-kernel-npu"), "sgl-kernel-npu", "2026.05.01.post3", id="kernels"
        ),
        pytest.param(lambda h: h.found["packages"].pop("evalscope"), "evalscope", "pip install", id="evalscope"),
        pytest.param(lambda h: h.found.update(hccl=False), "HCCL", "install a torch_npu with HCCL", id="HCCL"),
        pytest.param(lambda h: h.found.update(memory=[4, 4]), "memory for m", "give the row more devices", id="memory"),
        pytest.param(lambda h: h.remove("models/m/model-1.safetensors"), "model org/m", "safetensors", id="weights"),
        pytest.param(
            lambda h: (h.folder / "datasets" / SHAREGPT).unlink(), "prompts of bench_serving", "download", id="load"
        ),
    ],
)
def test_missing_thing_is_named_with_what_to_do(host: Host, change: Any, what: str, missing: str) -> None:
    change(host)
    found = host.missing()
    assert list(found) == [what]
    assert missing in found[what]


def test_busy_port_of_hccl_is_found(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as listening:
        listening.bind(("", 0))
        listening.listen()
        monkeypatch.setenv("HCCL_IF_BASE_PORT", str(listening.getsockname()[1]))
        assert host.missing()["HCCL ports"] == "set HCCL_IF_BASE_PORT"


def test_host_without_npu_gets_a_plan_with_all_that_is_missing(host: Host, tmp_path: Path) -> None:
    for file in (host.folder / "dev").iterdir():
        file.unlink()
    host.found = {"packages": {}, "fault": "torch_npu: ModuleNotFoundError: No module named 'torch_npu'"}
    plan = host.plan(models=None, datasets=None)
    assert len(plan["servers"]) == 2
    found = {need["what"]: need["found"] for need in plan["needs"] if need["missing"]}
    assert "does not exist; torch_npu: ModuleNotFoundError" in found["NPUs"]
    assert {"torch", "torch-npu", "sgl-kernel-npu", "evalscope", "model org/m"} < set(found)

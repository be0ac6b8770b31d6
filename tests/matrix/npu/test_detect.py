"""Detecting NPUs with interpreters on which the probe ends in every way."""

import sys
from pathlib import Path

import pytest

from patchtool.matrix.npu import find_npu
from tests.matrix.waiting import LIMIT

EIGHT = '{"free": [1, 1, 1, 1, 1, 1, 1, 1], "name": "Ascend", "versions": ["2.8", "2.8"]}'


def fake_python(tmp_path: Path, body: str) -> str:
    path = tmp_path / "python"
    path.write_text(f"#!{sys.executable}\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def devices(tmp_path: Path) -> Path:
    folder = tmp_path / "dev"
    folder.mkdir()
    (folder / "davinci0").touch()
    return folder


def test_without_a_device_file_nothing_is_started(tmp_path: Path) -> None:
    (tmp_path / "davinci_manager").touch()
    found = find_npu("/nowhere/python", devices=tmp_path)
    assert not found.usable
    assert "does not exist" in found.reason


@pytest.mark.parametrize(
    ("body", "timeout", "usable", "reason"),
    [
        pytest.param("print('noise')\nprint('{\"fault\": \"torch: no\"}')", LIMIT, False, "torch: no", id="fault"),
        pytest.param(f"print('{EIGHT}')", LIMIT, True, "8 x Ascend", id="usable"),
        pytest.param("import os; os.abort()", LIMIT, False, "ended with -6", id="crash"),
        pytest.param("import time; time.sleep(3600)", 1.0, False, "did not answer within 1 s", id="hang"),
    ],
)
def test_every_end_of_the_probe_is_reported(
    tmp_path: Path, devices: Path, body: str, timeout: float, usable: bool, reason: str
) -> None:
    found = find_npu(fake_python(tmp_path, body), devices=devices, timeout=timeout)
    assert found.usable is usable
    assert reason in found.reason


def test_missing_interpreter_is_reported(devices: Path) -> None:
    assert "cannot be started" in find_npu("/nowhere/python", devices=devices).reason


@pytest.mark.slow
def test_probe_reports_the_stage_that_fails(devices: Path) -> None:
    found = find_npu(sys.executable, devices=devices, timeout=LIMIT)
    assert not found.usable
    assert found.reason.startswith(("torch", "device"))

import sys
from pathlib import Path

import pytest

from patchtool.matrix.npu import find_npu


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


def test_without_a_device_nothing_is_started(tmp_path: Path) -> None:
    (tmp_path / "davinci_manager").touch()
    found = find_npu("/nowhere/python", devices=tmp_path)
    assert not found.usable
    assert "does not exist" in found.reason


@pytest.mark.parametrize(
    ("body", "usable", "said"),
    [
        ("print('noise')\nprint('{\"fault\": \"torch: no\"}')", False, "torch: no"),
        (
            'print(\'{"free": [1, 1, 1, 1, 1, 1, 1, 1], "name": "Ascend", "versions": ["2.8", "2.8"]}\')',
            True,
            "8 x Ascend",
        ),
        ("import os; os.abort()", False, "ended with -6"),
        ("import time; time.sleep(30)", False, "did not answer within 1 s"),
    ],
)
def test_every_ending_of_the_probe_is_an_answer(
    tmp_path: Path, devices: Path, body: str, usable: bool, said: str
) -> None:
    found = find_npu(fake_python(tmp_path, body), devices=devices, timeout=1.0)
    assert found.usable is usable
    assert said in found.reason


def test_an_interpreter_that_is_not_there(devices: Path) -> None:
    assert "cannot be started" in find_npu("/nowhere/python", devices=devices).reason


def test_the_probe_itself_is_python_and_names_its_stage(devices: Path) -> None:
    found = find_npu(sys.executable, devices=devices)
    assert not found.usable
    assert found.reason.startswith(("torch", "device"))

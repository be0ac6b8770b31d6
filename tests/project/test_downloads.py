"""Every release is downloaded once, whichever folder its tests are in and however many processes run them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.adapters.index_server import Index
from tests.conftest import sha256

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS = Path(__file__).parents[1]
WHEEL = "sglang-9.9.9-py3-none-any.whl"
PROBE = f"""
import pytest

@pytest.mark.parametrize("_", range(4))
def test_wheel(wheel, _):
    assert wheel("9.9.9").name == {WHEEL!r}
"""
# Imported at start-up by pytest, its workers and pip: connections to any other server fail and are logged.
SITECUSTOMIZE = """
import os, sys

def hook(event, arguments):
    if event == "socket.connect":
        address = arguments[1]
        if isinstance(address, tuple) and f"{address[0]}:{address[1]}" != os.environ["ALLOWED_HOST"]:
            with open(os.environ["CONNECTION_LOG"], "a") as log:
                log.write(f"{address}\\n")
            raise ConnectionRefusedError(address)

sys.addaudithook(hook)
"""


class Suite:
    """The conftest files of this project, each beside a test that needs a wheel, and an index that counts requests."""

    def __init__(self, folder: Path) -> None:
        self.index = Index()
        self.connections = folder / "connections"
        self._folder = folder
        for conftest in TESTS.rglob("conftest.py"):
            copy = folder / "suite" / conftest.relative_to(TESTS)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(conftest, copy)
            copy.with_name("test_probe.py").write_text(PROBE)
        (folder / "suite" / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
        (folder / "sitecustomize.py").write_text(SITECUSTOMIZE)
        with zipfile.ZipFile(folder / WHEEL, "w") as wheel:
            wheel.writestr("sglang/__init__.py", "")
        self.index.html(f'<a href="/files/{WHEEL}#sha256={sha256(folder / WHEEL)}">{WHEEL}</a>')
        self.index.file(WHEEL, (folder / WHEEL).read_bytes())

    @property
    def downloads(self) -> int:
        return self.index.requests[f"/files/{WHEEL}"]

    @property
    def folders(self) -> int:
        return len(list(self._folder.rglob("test_probe.py")))

    def run(self) -> str:
        environment = {
            **os.environ,
            "ALLOWED_HOST": self.index.host,
            "CONNECTION_LOG": str(self.connections),
            "PATCHTOOL_TEST_CACHE": str(self._folder / "cache"),
            "PIP_INDEX_URL": self.index.url,
            "PIP_NO_INDEX": "",
            "PYTHONPATH": os.pathsep.join([str(self._folder), str(TESTS.parent)]),
        }
        argv = [sys.executable, "-m", "pytest", "-n", "2", "-p", "no:cacheprovider", "--basetemp", "temp", "suite"]
        done = subprocess.run(
            argv, cwd=self._folder, env=environment, capture_output=True, text=True, check=False
        )  # fmt: skip
        return done.stdout + done.stderr


@pytest.fixture
def suite(tmp_path: Path) -> Iterator[Suite]:
    suite = Suite(tmp_path)
    yield suite
    suite.index.close()


@pytest.mark.slow
def test_two_runs_of_two_processes_download_a_wheel_once(suite: Suite) -> None:
    for _ in range(2):
        output = suite.run()
        assert f"{4 * suite.folders} passed" in output, output
        assert suite.downloads == 1
    assert suite.folders > 5
    assert not suite.connections.exists(), suite.connections.read_text()

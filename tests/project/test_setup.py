"""``ci/setup``, what ``make`` does first: on failure nothing is left, and the missing Debian package is named."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

REPOSITORY = Path(__file__).parents[2]
PROGRAMS = ("sh", "rm", "touch", "mkdir", "sleep", "dirname", "uname")
VENV = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
# Machines that are not this one: a Python that says what a case says, and is the real one otherwise.
OLD = 'if [ "$1" = --version ]; then echo "Python 3.8.18"; else exit 1; fi'
NO_ENSUREPIP = f'case "$*" in *ensurepip*) exit 1 ;; *) exec {sys.executable} "$@" ;; esac'
NO_VENV = f'case "$*" in "-m venv"*) mkdir -p .venv/bin; exit 1 ;; *) exec {sys.executable} "$@" ;; esac'
SLOW_VENV = f'case "$*" in "-m venv"*) mkdir -p .venv/bin; sleep 60 ;; *) exec {sys.executable} "$@" ;; esac'


class Machine:
    """A folder to set up in, and a PATH with nothing on it but what a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.venv = self.project / ".venv"
        self._programs = folder / "bin"
        for each in (self.project, self._programs):
            each.mkdir()
        for name in PROGRAMS:
            self.link(name)

    def link(self, name: str) -> None:
        found = shutil.which(name)
        assert found
        (self._programs / name).symlink_to(found)

    def python(self, script: str = f'exec {sys.executable} "$@"') -> None:
        path = self._programs / "python3"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return {**kept, "PATH": str(self._programs), "PIP_NO_INDEX": "1"}

    def __call__(self, *what: str | Path, stamp: str = "ready-test") -> tuple[int, str]:
        done = subprocess.run(
            [REPOSITORY / "ci" / "setup", stamp, *what],
            cwd=self.project, env=self.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A wheel that needs no index."""
    path = tmp_path / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("tiny.py", "")
        wheel.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        wheel.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("tiny-1.0.dist-info/RECORD", "")
    return path


def no_git(machine: Machine) -> None:
    machine.python()


def no_python(machine: Machine) -> None:
    machine.link("git")


def with_python(script: str) -> Callable[[Machine], None]:
    def prepare(machine: Machine) -> None:
        machine.link("git")
        machine.python(script)

    return prepare


@pytest.mark.parametrize(
    ("prepare", "error", "package"),
    [
        pytest.param(no_git, "git is missing", "apt-get install git", id="no-git"),
        pytest.param(no_python, "python3 is missing", "apt-get install python3", id="no-python"),
        pytest.param(
            with_python(OLD), "python3 is Python 3.8.18, and 3.10 is the lowest", "apt-get install python3", id="old"
        ),
        pytest.param(
            with_python(NO_ENSUREPIP), "cannot make virtual environments", f"apt-get install {VENV}", id="no-ensurepip"
        ),
        pytest.param(with_python(NO_VENV), "making .venv failed", f"apt-get install {VENV}", id="venv-fails"),
    ],
)
def test_a_machine_without(
    machine: Machine, tiny: Path, prepare: Callable[[Machine], None], error: str, package: str
) -> None:
    prepare(machine)
    code, told = machine(tiny)
    assert code == 4
    assert f"error: {error}" in told or f"error: python3 {error}" in told
    assert f"hint: {package}" in told
    assert not machine.venv.exists()


def test_success_leaves_the_stamp_last_and_a_later_failure_leaves_nothing(machine: Machine, tiny: Path) -> None:
    machine.link("git")
    machine.python()
    code, told = machine(tiny)
    assert (code, told) == (0, "")
    others = [path for path in machine.venv.rglob("*") if path.name != "ready-test"]
    newest = max(path.lstat().st_mtime_ns for path in others if path.is_file())
    assert any(path.name == "tiny.py" for path in others)
    assert (machine.venv / "ready-test").stat().st_mtime_ns >= newest
    code, told = machine(tiny, "no-such-distribution-of-ours", stamp="ready-more")
    assert code == 4
    assert "error: installing no-such-distribution-of-ours failed, see above" in told
    assert "No matching distribution found" in told
    assert "hint: check the network and pip's configuration, then run make again" in told
    assert not machine.venv.exists()


def test_an_interrupt_leaves_nothing(machine: Machine, tiny: Path) -> None:
    machine.link("git")
    machine.python(SLOW_VENV)
    argv = [str(REPOSITORY / "ci" / "setup"), "ready-test", str(tiny)]
    child = subprocess.Popen(argv, cwd=machine.project, env=machine.environment, start_new_session=True)
    deadline = time.monotonic() + 30
    while not machine.venv.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(child.pid, signal.SIGINT)
    assert child.wait(timeout=30) == 130
    assert not machine.venv.exists()


def test_make_stops_there(machine: Machine) -> None:
    (machine.project / "ci").mkdir()
    for name in ("Makefile", "pyproject.toml", "ci/setup"):
        shutil.copy(REPOSITORY / name, machine.project / name)
    machine.link("make")
    machine.link("git")
    argv = ["make", "test", "PYTHON=python-of-nowhere"]
    done = subprocess.run(
        argv, cwd=machine.project, env=machine.environment, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "hint: apt-get install python3, or make PYTHON=/path/to/python3" in done.stderr
    assert "-m pytest" not in done.stdout
    assert not machine.venv.exists()

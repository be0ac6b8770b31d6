"""``ci/setup``, the first step of ``make``: a failure removes .venv and names the missing Debian package."""

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
# Replacements for python3: each fails in one way and otherwise runs the real interpreter.
OLD = 'if [ "$1" = --version ]; then echo "Python 3.8.18"; else exit 1; fi'
NO_ENSUREPIP = f'case "$*" in *ensurepip*) exit 1 ;; *) exec {sys.executable} "$@" ;; esac'
NO_VENV = f'case "$*" in "-m venv"*) mkdir -p .venv/bin; exit 1 ;; *) exec {sys.executable} "$@" ;; esac'
SLOW_VENV = f'case "$*" in "-m venv"*) mkdir -p .venv/bin; sleep 60 ;; *) exec {sys.executable} "$@" ;; esac'


class Machine:
    """A project folder, and a PATH with only the programs that a test adds."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.venv = self.project / ".venv"
        self._programs = folder / "bin"
        for directory in (self.project, self._programs):
            directory.mkdir()
        for name in PROGRAMS:
            self.link(name)

    def link(self, name: str) -> None:
        program = shutil.which(name)
        assert program
        (self._programs / name).symlink_to(program)

    def python(self, script: str = f'exec {sys.executable} "$@"') -> None:
        path = self._programs / "python3"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    @property
    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return {**inherited, "PATH": str(self._programs), "PIP_NO_INDEX": "1"}

    def __call__(self, *requirements: str | Path, stamp: str = "ready-test") -> tuple[int, str]:
        done = subprocess.run(
            [REPOSITORY / "ci" / "setup", stamp, *requirements],
            cwd=self.project, env=self.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A wheel without dependencies, which pip installs without an index."""
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
            with_python(OLD),
            "python3 is Python 3.8.18, and 3.10 is the oldest supported",
            "apt-get install python3",
            id="old",
        ),
        pytest.param(
            with_python(NO_ENSUREPIP),
            "cannot create virtual environments",
            f"apt-get install {VENV}",
            id="no-ensurepip",
        ),
        pytest.param(with_python(NO_VENV), "creating .venv failed", f"apt-get install {VENV}", id="venv-fails"),
    ],
)
def test_failure_names_the_missing_package_and_removes_the_venv(
    machine: Machine, tiny: Path, prepare: Callable[[Machine], None], error: str, package: str
) -> None:
    prepare(machine)
    code, output = machine(tiny)
    assert code == 4
    assert f"error: {error}" in output or f"error: python3 {error}" in output
    assert f"hint: {package}" in output
    assert not machine.venv.exists()


@pytest.mark.slow
def test_stamp_is_written_last_and_a_later_failure_removes_the_venv(machine: Machine, tiny: Path) -> None:
    machine.link("git")
    machine.python()
    code, output = machine(tiny)
    assert code == 0
    creating, installing = output.splitlines()
    assert creating.startswith("creating .venv with Python 3.")
    assert installing == f"installing {tiny} and what it depends on into .venv, which takes a minute or two"
    others = [path for path in machine.venv.rglob("*") if path.name != "ready-test"]
    newest = max(path.lstat().st_mtime_ns for path in others if path.is_file())
    assert any(path.name == "tiny.py" for path in others)
    assert (machine.venv / "ready-test").stat().st_mtime_ns >= newest
    code, output = machine(tiny, "no-such-distribution-of-ours", stamp="ready-more")
    assert code == 4
    assert "error: installing no-such-distribution-of-ours failed, see above" in output
    assert "No matching distribution found" in output
    assert "hint: check the network and pip's configuration, then run make again" in output
    assert not machine.venv.exists()


def test_interrupt_removes_the_venv(machine: Machine, tiny: Path) -> None:
    machine.link("git")
    machine.python(SLOW_VENV)
    argv = [str(REPOSITORY / "ci" / "setup"), "ready-test", str(tiny)]
    child = subprocess.Popen(argv, cwd=machine.project, env=machine.environment, start_new_session=True)
    while not machine.venv.exists():
        assert child.poll() is None
        time.sleep(0.05)
    os.killpg(child.pid, signal.SIGINT)
    assert child.wait() == 130
    assert not machine.venv.exists()


def test_make_stops_when_setup_fails(machine: Machine) -> None:
    (machine.project / "ci").mkdir()
    for name in ("Makefile", "pyproject.toml", "ci/setup"):
        shutil.copy(REPOSITORY / name, machine.project / name)
    machine.link("make")
    machine.link("git")
    argv = ["make", "test", "PYTHON=no-such-python"]
    done = subprocess.run(
        argv, cwd=machine.project, env=machine.environment, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "hint: apt-get install python3, or make PYTHON=/path/to/python3" in done.stderr
    assert "-m pytest" not in done.stdout
    assert not machine.venv.exists()

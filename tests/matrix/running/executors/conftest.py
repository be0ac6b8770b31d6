"""The interpreter that executors are told to start."""

import sys
from pathlib import Path

import pytest

from patchtool.matrix.options import RunOptions
from tests.matrix.running.executors.fakes import HERE


@pytest.fixture
def python(tmp_path: Path) -> str:
    """This interpreter, but asked for the worker it starts the one without torch."""
    script = tmp_path / "python"
    script.write_text(
        f'#!/bin/sh\nif [ "$1" = -m ]; then exec {sys.executable} {HERE / "plain_worker.py"}; fi\n'
        f'exec {sys.executable} "$@"\n'
    )
    script.chmod(0o755)
    return str(script)


@pytest.fixture
def options(python: str) -> RunOptions:
    return RunOptions(python=python, timeout=5, import_timeout=20)

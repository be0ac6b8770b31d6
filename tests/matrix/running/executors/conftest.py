"""The interpreter that executors start."""

import sys
from pathlib import Path

import pytest

from patchtool.matrix.options import RunOptions
from tests.matrix.running.executors.fakes import HERE
from tests.matrix.waiting import LIMIT


@pytest.fixture
def python(tmp_path: Path) -> str:
    """This interpreter, which starts the worker without torch in the place of the real one."""
    script = tmp_path / "python"
    script.write_text(
        f'#!/bin/sh\nif [ "$1" = -m ]; then exec {sys.executable} {HERE / "plain_worker.py"}; fi\n'
        f'exec {sys.executable} "$@"\n'
    )
    script.chmod(0o755)
    return str(script)


@pytest.fixture
def options(python: str) -> RunOptions:
    return RunOptions(python=python, timeout=LIMIT, import_timeout=LIMIT)

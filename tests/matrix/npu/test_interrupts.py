"""Ctrl-C ends a measurement with the server and everything that it started."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.matrix.waiting import LIMIT, group_is_gone, wait_until

HERE = Path(__file__).parent
PROJECT = HERE.parents[2]
WAITING: dict[str, tuple[str, tuple[str, ...]]] = {
    "for the client": ("client.log", ()),
    "for an unhealthy server": ("pids", ("--fault", "unhealthy")),
    "for a server that does not answer": ("pids", ("--fault", "hangs")),
    "with a server that ignores SIGTERM": ("client.log", ("--fault", "stubborn")),
}


@pytest.mark.slow
@pytest.mark.parametrize("interrupts", [1, 2])
@pytest.mark.parametrize("waiting", WAITING)
def test_interrupt_ends_all_processes(tmp_path: Path, waiting: str, interrupts: int) -> None:
    (tmp_path / "sglang").mkdir()
    (tmp_path / "sglang" / "__init__.py").write_text("RIGHT = 8")
    name, flags = WAITING[waiting]
    path = os.pathsep.join([str(tmp_path), str(PROJECT), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path, "SMALL_SERVER_PID": str(tmp_path / "pids")}
    argv = [sys.executable, str(HERE / "interrupted.py"), str(tmp_path), "--model-path", "m", *flags]
    with subprocess.Popen(argv, env=environment, start_new_session=True) as run:
        try:
            marker = tmp_path / name
            wait_until(lambda: marker.exists() and marker.stat().st_size > 0)
            for _ in range(interrupts):
                os.killpg(run.pid, signal.SIGINT)  # as a terminal does
                time.sleep(0.3)
            assert run.wait(LIMIT) == 130
            servers = [int(line) for line in (tmp_path / "pids").read_text().split()]
            wait_until(lambda: all(map(group_is_gone, servers)))
        finally:
            run.kill()

"""A local Ctrl-C ends a served measurement at once, with the server and all that it started."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
WAITING: dict[str, tuple[str, tuple[str, ...]]] = {
    "while a client asks": ("client.log", ()),
    "while the server is not healthy": ("pids", ("--fault", "unhealthy")),
    "while the server does not answer": ("pids", ("--fault", "hangs")),
    "with a server that will not end": ("client.log", ("--fault", "stubborn")),
}


def until(true: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"not within {seconds:g} s"
        time.sleep(0.05)


def gone(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize("interrupts", [1, 2])
@pytest.mark.parametrize("when", WAITING)
def test_an_interrupt_ends_it_all(tmp_path: Path, when: str, interrupts: int) -> None:
    (tmp_path / "sglang").mkdir()
    (tmp_path / "sglang" / "__init__.py").write_text("RIGHT = 8")
    sign, flags = WAITING[when]
    path = os.pathsep.join([str(tmp_path), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path, "SMALL_SERVER_PID": str(tmp_path / "pids")}
    argv = [sys.executable, str(HERE / "interrupted.py"), str(tmp_path), "--model-path", "m", *flags]
    with subprocess.Popen(argv, env=environment, start_new_session=True) as run:
        try:
            marked = tmp_path / sign
            until(lambda: marked.exists() and marked.stat().st_size > 0, 30)
            began = time.monotonic()
            for _ in range(interrupts):
                os.killpg(run.pid, signal.SIGINT)  # as a terminal does
                time.sleep(0.3)
            assert run.wait(20) == 130
            assert time.monotonic() - began < 8
            servers = [int(line) for line in (tmp_path / "pids").read_text().split()]
            until(lambda: all(map(gone, servers)), 2)
        finally:
            run.kill()

"""What counts as the own time of a process, with processes that compute, sleep, and are kept from computing."""

import os
import signal
import subprocess
import sys
import time

import pytest

from patchtool.matrix.running.own_time import OwnTime
from tests.matrix.waiting import LIMIT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere all that passes counts")
COMPUTE = "while True: pass"


def started(code: str) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(
        [sys.executable, "-c", f"print(flush=True)\n{code}"], stdout=subprocess.PIPE, start_new_session=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


def seconds_until_exceeded(process: "subprocess.Popen[bytes]", limit: float) -> float:
    own_time, begun = OwnTime(process.pid), time.monotonic()
    while not own_time.exceeds(limit):
        assert time.monotonic() - begun < LIMIT
        time.sleep(0.05)
    return time.monotonic() - begun


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(COMPUTE, id="computes"),
        pytest.param("import time; time.sleep(3600)", id="sleeps"),
        pytest.param("import os; os.system('sleep 3600')", id="its child sleeps"),
        pytest.param(
            f"import subprocess, sys; subprocess.run([sys.executable, '-c', {COMPUTE!r}])", id="child computes"
        ),
        pytest.param("import time\nwhile True: time.sleep(0.01)", id="polls"),
    ],
)
def test_process_that_takes_too_long_is_found(code: str) -> None:
    process = started(code)
    try:
        assert seconds_until_exceeded(process, 0.5) >= 0.5
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_waiting_for_a_cpu_does_not_count() -> None:
    """Eight processes share one CPU, so that each computes for an eighth of the time that passes."""
    cpu = {min(os.sched_getaffinity(0))}
    processes = [started(f"import os; os.sched_setaffinity(0, {cpu})\n{COMPUTE}") for _ in range(8)]
    try:
        before = cpu_seconds(processes[0].pid)
        seconds_until_exceeded(processes[0], 0.5)
        assert cpu_seconds(processes[0].pid) - before >= 0.4, "it was stopped before it computed for its limit"
    finally:
        for process in processes:
            process.kill()
            process.wait()


def cpu_seconds(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_ended_process_does_not_count_for_ever() -> None:
    process = started("pass")
    process.wait()
    assert seconds_until_exceeded(process, 0.2) >= 0.2

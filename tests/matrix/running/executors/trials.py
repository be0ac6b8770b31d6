"""Trivial tests that cells of fake trees run."""

import os
import time
from typing import NoReturn


def test_green() -> None:
    pass


def test_red() -> NoReturn:
    raise AssertionError("got 1, want 2")


def test_patched() -> None:
    from pathlib import Path

    assert (Path(os.environ["OVERLAY"]) / "sglang/fix.py").exists(), "not patched"


def test_slow() -> None:
    time.sleep(0.4)


def test_hangs() -> None:
    time.sleep(600)


def test_exits() -> None:
    os._exit(9)


def test_out_of_memory() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    if not _fits():
        os.kill(os.getpid(), 9)


def _fits() -> bool:
    try:
        return len(bytearray(4 << 30)) < 0
    except MemoryError:
        return False


def test_kills_worker() -> None:
    os.kill(os.getppid(), 9)
    time.sleep(600)


def test_environment() -> None:
    assert "PATCHTOOL_STRAY" not in os.environ, "a variable of the caller came through"
    assert os.environ["PYTHONHASHSEED"] == "0"


def test_kills_task() -> None:
    """The process that Ray started is the worker's parent."""
    from pathlib import Path

    lines = Path(f"/proc/{os.getppid()}/status").read_text().splitlines()
    os.kill(int(dict(line.split(":", 1) for line in lines)["PPid"]), 9)
    time.sleep(600)

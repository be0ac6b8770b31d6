"""Trivial tests that cells of fake trees run."""

import os
import time
from pathlib import Path
from typing import NoReturn

HANG = 3600.0


def test_green() -> None:
    pass


def test_red() -> NoReturn:
    raise AssertionError("got 1, want 2")


def test_patched() -> None:
    assert (Path(os.environ["OVERLAY"]) / "sglang/fix.py").exists(), "not patched"


def test_slow() -> None:
    time.sleep(0.4)


def test_hangs() -> None:
    _tree("hanging").write_text(str(os.getpgrp()))
    time.sleep(HANG)


def test_meets_second() -> None:
    _meet("first", "second")


def test_meets_first() -> None:
    _meet("second", "first")


def _meet(own: str, other: str) -> None:
    """Return once the other test runs at the same time."""
    _tree(own).touch()
    while not _tree(other).exists():
        time.sleep(0.05)


def _tree(name: str) -> Path:
    import sglang

    return Path(str(sglang.__file__)).with_name(name)


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


def test_environment() -> None:
    assert "PATCHTOOL_STRAY" not in os.environ, "a variable of the caller was inherited"
    assert os.environ["PYTHONHASHSEED"] == "0"


def test_kills_worker() -> None:
    os.kill(int(os.environ["WORKER"]), 9)
    time.sleep(HANG)


def test_kills_task() -> None:
    os.kill(int(os.environ["TASK"]), 9)
    time.sleep(HANG)

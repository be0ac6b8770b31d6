"""Scratch folders: removed whatever happens, and those of killed runs with them."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from patchtool.adapters.scratch import scratch_folder


def test_folder_of_a_killed_run_is_removed_and_one_in_use_is_not(tmp_path: Path) -> None:
    (tmp_path / ".patchtool-scratch-0123456789ab" / "deep").mkdir(parents=True)
    with scratch_folder(tmp_path) as first, scratch_folder(tmp_path) as second:
        (second / "file").write_text("")
        assert {*tmp_path.iterdir()} == {first, second}
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.EROFS], ids=errno.errorcode.get)
@pytest.mark.parametrize("name", ["unlink", "rmdir"])
def test_error_that_passes_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    real, left = getattr(os, name), [number]

    def fail_once(*args: object, **options: object) -> None:
        if left:
            raise OSError(left.pop(), "injected")
        real(*args, **options)

    monkeypatch.setattr(os, name, fail_once)
    with scratch_folder(tmp_path) as folder:
        (folder / "inner").mkdir()
        (folder / "inner/file").write_text("")
    assert not left
    assert not [*tmp_path.iterdir()]


def test_folder_that_cannot_be_locked_is_removed_and_the_error_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOLCK, "injected")

    monkeypatch.setattr("patchtool.adapters.scratch.fcntl.flock", fail)
    with pytest.raises(OSError, match="injected"), scratch_folder(tmp_path):
        pass
    assert not [*tmp_path.iterdir()]


def test_signal_at_the_start_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.mkdir

    def mkdir(*args: object, **options: object) -> None:
        real(*args, **options)  # type: ignore[arg-type]
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(os, "mkdir", mkdir)
    with pytest.raises(KeyboardInterrupt), scratch_folder(tmp_path):
        pass
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("interrupted", [1, 2, 3, 4, 5, 6])
def test_signal_that_comes_while_signals_are_held_back_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupted: int
) -> None:
    real, calls = signal.pthread_sigmask, 0

    def sigmask(how: int, signals: Iterable[int]) -> set[signal.Signals | int]:
        nonlocal calls
        calls += 1
        before = real(how, signals)
        if calls == interrupted:
            raise KeyboardInterrupt  # as CPython does when such a call returns
        return before

    before = real(signal.SIG_BLOCK, ())
    monkeypatch.setattr(signal, "pthread_sigmask", sigmask)
    with pytest.raises(KeyboardInterrupt), scratch_folder(tmp_path):
        pass
    assert calls >= interrupted
    assert real(signal.SIG_SETMASK, before) == before
    assert not [*tmp_path.iterdir()]


HELD = """
from atexit import _run_exitfuncs
from os import _exit
from patchtool.adapters.scratch import scratch_folder

def generator():
    with scratch_folder():
        yield

held = generator()
next(held)
{end}
"""


@pytest.mark.parametrize("end", ["", "raise SystemExit(1)", "_run_exitfuncs(); _exit(0)"])
def test_folder_of_a_generator_that_is_not_closed_is_removed(tmp_path: Path, end: str) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", HELD.format(end=end)], env=environment, capture_output=True, check=False
    )
    assert done.stderr == b""
    assert not [*tmp_path.iterdir()]

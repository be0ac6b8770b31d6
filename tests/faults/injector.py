"""Run the tool in a process that fails, or is killed, at its n-th change of a file or start of a program."""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import struct
import subprocess
import sys
from contextlib import suppress
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SOURCE = Path(__file__).with_name("faults.c")
_PLAN = struct.Struct("iiiiqq256sqq")  # `struct plan` of faults.c, whose calls follow
_CALL = struct.Struct("iiqq")
_LISTED = 4096
_SIZE = _PLAN.size + _CALL.size * _LISTED
_SUBREAPER = 36
_DEADLINE = 60


class Action(IntEnum):
    """What happens at the chosen call; the order is that of faults.c."""

    COUNT = 0
    KILL = 1
    KILL_GROUP = 2
    HALF_WRITE = 3
    FAIL = 4
    FAIL_FROM = 5
    SIGNAL = 6
    SIGNAL_GROUP = 7


class Kind(IntEnum):
    """What a call does; the order is that of faults.c."""

    NAMES = 0
    BYTES = 1
    REMOVES = 2
    SYNCS = 3
    STARTS = 4


class Call(NamedTuple):
    """One call that can fail.

    Args:
        pid: The process.
        kind: What it does.
        held: The stretch, from 1, in which the process that was started first holds signals back; else 0.
        errors: Bit n where it may fail with error number n.
    """

    pid: int
    kind: Kind
    held: int
    errors: int


class Fault(NamedTuple):
    """One fault.

    Args:
        action: What happens.
        argument: The error number or the signal.
        number: At which call, from 1.
    """

    action: Action = Action.COUNT
    argument: int = 0
    number: int = 0

    def __str__(self) -> str:
        name = self.action.name.lower().replace("_", " ")
        if self.action in (Action.FAIL, Action.FAIL_FROM):
            name += f" {os.strerror(self.argument)}"
        if self.action in (Action.SIGNAL, Action.SIGNAL_GROUP):
            name += f" {signal.Signals(self.argument).name}"
        return f"{name} at {self.number}" if self.number else name


NO_FAULT = Fault()


class Ended(NamedTuple):
    """How a run ended.

    Args:
        code: Its exit code, negative for a signal.
        text: What it printed.
        pid: The process that was started first.
        calls: The calls of all processes.
        what: The call that failed.
    """

    code: int
    text: str
    pid: int
    calls: tuple[Call, ...]
    what: str


def build(folder: Path) -> Path:
    """Compile the library; raises where there is no compiler."""
    library = folder / "faults.so"
    command = ["cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    return library


def environment(library: Path, plan: Path) -> Mapping[str, str]:
    """What a process needs in its environment for `Injector`."""
    plan.write_bytes(bytes(_SIZE))
    return {"LD_PRELOAD": str(library), "FAULTS": str(plan)}


class Injector:
    """Faults in children of this process, which was started with `environment`."""

    def __init__(self) -> None:
        with Path(os.environ["FAULTS"]).open("r+b") as file:
            self._plan = mmap.mmap(file.fileno(), _SIZE)
        # The programs that a killed child leaves become children of this process, so that it can wait for them.
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)

    def run(self, work: Callable[[], int], fault: Fault = NO_FAULT) -> Ended:
        """Run a function in a child, with one fault, and wait for it and for every program that it started."""
        reading, writing = os.pipe()
        self._write(0, fault)
        child = os.fork()
        if child == 0:
            os.close(reading)
            self._child(work, writing, fault)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            text = pipe.read().decode(errors="replace")
        code = 0
        with suppress(ChildProcessError):  # there is no further one
            while True:
                pid, status = os.waitpid(-1, 0)
                code = os.waitstatus_to_exitcode(status) if pid == child else code
        *_, count, _, what, _, _ = _PLAN.unpack_from(self._plan)
        if count > _LISTED:
            raise AssertionError(f"{count} calls are more than the plan lists")
        listed = _CALL.iter_unpack(self._plan[_PLAN.size : _PLAN.size + count * _CALL.size])
        calls = tuple(Call(pid, Kind(kind), *rest) for pid, kind, *rest in listed)
        self._write(0, NO_FAULT)
        return Ended(code, text, child, calls, what.rstrip(b"\0").decode(errors="replace"))

    def _write(self, armed: int, fault: Fault, pid: int = 0) -> None:
        _PLAN.pack_into(self._plan, 0, armed, fault.action, fault.argument, pid, 0, fault.number, b"", 0, 0)

    def _child(self, work: Callable[[], int], output: int, fault: Fault) -> NoReturn:
        code = 99
        try:
            os.setpgid(0, 0)
            signal.alarm(_DEADLINE)  # what hangs is killed, and found
            os.dup2(output, 1)
            os.dup2(output, 2)
            sys.stdout = os.fdopen(1, "w", closefd=False)
            sys.stderr = os.fdopen(2, "w", closefd=False)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self._write(1, fault, os.getpid())
            code = work()
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)

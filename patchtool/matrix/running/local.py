"""Running cells on this machine: a worker process per release imports its tree once, and forks for every cell."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import patchtool
from patchtool.domain.errors import EnvironmentFault
from patchtool.matrix.cell import CellResult, Outcome
from patchtool.matrix.running.environment import cell_environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from patchtool.matrix.cell import Cell, Subsystem
    from patchtool.matrix.options import RunOptions
    from patchtool.matrix.release_trees import ReleaseTrees

_GRACE = 10.0
"""Seconds that a worker has beside its cell's time to say that this is over."""
_TICK = 0.2


def run_emulated(cells: Sequence[Cell], subject: ReleaseTrees, options: RunOptions) -> Iterator[CellResult]:
    """Run cells of one release and give each result as it comes.

    Args:
        cells: Of the emulated tier and of one release.
        subject: Its trees.
        options: How.
    """
    jobs = max(1, min(options.jobs, len(cells)))
    shares = _shares(cells)
    done: queue.SimpleQueue[CellResult | BaseException] = queue.SimpleQueue()
    stop = threading.Event()
    with tempfile.TemporaryDirectory(prefix="patchtool-cells-") as scratch, ThreadPoolExecutor(jobs) as pool:
        for number in range(jobs):
            turned = shares[number % len(shares) :] + shares[: number % len(shares)]
            pool.submit(_work, turned, subject, Path(scratch, str(number)), options, done, stop)
        try:
            for _ in cells:
                result = done.get()
                if isinstance(result, BaseException):
                    raise result
                yield result
        finally:
            stop.set()


def _work(
    shares: Sequence[deque[Cell]],
    subject: ReleaseTrees,
    scratch: Path,
    options: RunOptions,
    done: queue.SimpleQueue[CellResult | BaseException],
    stop: threading.Event,
) -> None:
    """Run cells of one share after the other; what goes wrong here is raised where the results are read."""
    try:
        scratch.mkdir()
        for share in shares:
            while share:
                for result in _Worker(subject, scratch, options, stop).run(_taken(share, options.fork)):
                    done.put(result)
                    if stop.is_set():
                        return
    except BaseException as error:  # noqa: BLE001
        done.put(error)


def _shares(cells: Sequence[Cell]) -> list[deque[Cell]]:
    """The cells by what their worker imports, which must neither slow nor break another: one import serves a share."""
    shares: dict[Subsystem, deque[Cell]] = {}
    for cell in cells:
        shares.setdefault(cell.test.drives, deque()).append(cell)
    return list(shares.values())


def _taken(share: deque[Cell], all_of_it: bool) -> Iterator[Cell]:
    """The next cells of a share that others take from too."""
    with contextlib.suppress(IndexError):
        yield share.popleft()
        while all_of_it:
            yield share.popleft()


class _Worker:
    """One worker process and the cells it is given."""

    def __init__(self, subject: ReleaseTrees, scratch: Path, options: RunOptions, stop: threading.Event) -> None:
        self._subject = subject
        self._scratch = scratch
        self._options = options
        self._stop = stop
        self._log = scratch / "stderr"

    def run(self, cells: Iterator[Cell]) -> Iterator[CellResult]:
        """Run cells of one share; when the worker ends early, what is left of it is reported as not run."""
        first = next(cells, None)
        if first is None:  # another worker took it
            return
        cells = chain([first], cells)
        try:
            process = self._start()
        except OSError as error:
            yield from (CellResult(cell, Outcome.ERROR, 0.0, f"no worker could be started: {error}") for cell in cells)
            return
        with process:
            try:
                yield from self._converse(process, first.test.drives, cells)
            finally:
                # the worker leads a session of its own: this also ends what a hanging cell started
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)

    def _start(self) -> subprocess.Popen[bytes]:
        code = Path(patchtool.__file__).parents[1]
        with self._log.open("ab") as errors:
            return subprocess.Popen(
                [self._options.python, "-m", "patchtool.matrix.running.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=cell_environment(code, self._scratch, self._options.cache),
                cwd=self._scratch,
                start_new_session=True,
            )

    def _converse(
        self, process: subprocess.Popen[bytes], drives: Subsystem, cells: Iterator[Cell]
    ) -> Iterator[CellResult]:
        options = self._options
        setup = {
            "tree": str(self._subject.tree),
            "replaced": self._subject.replaced,
            "fork": options.fork,
            "drives": drives.value,
        }
        ready = self._ask(process, setup, options.import_timeout)
        fault = "" if ready.get("ready") else f"the tree could not be imported: {ready.get('detail')}"
        # without forks the cell imports the tree itself, and nobody but us watches its time
        grace = _GRACE if options.fork else 0
        for cell in cells:
            answer: dict[str, Any] = {"outcome": "error", "detail": fault}
            if not fault:
                answer = self._ask(process, self._job(cell), self._seconds(cell) + grace)
            if "outcome" not in answer:
                raise EnvironmentFault(f"the worker answered {answer!r}")
            if answer.get("last"):
                fault = fault or str(answer["detail"])
            yield CellResult(
                cell,
                Outcome(answer["outcome"]),
                round(float(answer.get("seconds", 0.0)), 3),
                str(answer["detail"]),
                dict(answer.get("numbers", {})),
                tuple(answer.get("looked_at", ())),
            )

    def _job(self, cell: Cell) -> dict[str, object]:
        return {
            "tree": str(self._subject.tree),
            "overlay": str(self._subject.write_overlay(cell.patches, self._scratch)),
            "file": cell.test.path,
            "function": cell.test.function,
            "timeout": self._seconds(cell),
        }

    def _seconds(self, cell: Cell) -> float:
        return cell.timeout or self._options.timeout

    def _ask(self, process: subprocess.Popen[bytes], question: Mapping[str, object], limit: float) -> dict[str, Any]:
        """Send one line and read one; an answer of our own, and the last, when the worker is gone or silent."""
        if process.stdin is None or process.stdout is None:
            raise EnvironmentFault("the worker has no pipes")
        with contextlib.suppress(BrokenPipeError):  # then there is no answer either, and the log says why
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
        until = time.monotonic() + limit
        while not (heard := select.select([process.stdout], [], [], _TICK)[0]):
            if self._stop.is_set() or time.monotonic() > until:
                break
        if not heard:
            return {"outcome": "timeout", "detail": f"no answer within {limit:g} s", "last": True}
        line = process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"outcome": "error", "detail": self._end(), "last": True}
        return answer

    def _end(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines()
        return f"the worker ended: {' | '.join(lines[-5:])}"

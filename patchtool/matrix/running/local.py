"""Running cells of the emulated tier in workers: a worker imports a tree once and forks for every cell.

The imports take seconds and a cell takes a fraction of one, so a worker is kept for all the cells it can serve.
"""

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
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import patchtool
from patchtool.domain.errors import EnvironmentFault
from patchtool.matrix.cell import CellResult, Outcome
from patchtool.matrix.running.environment import cell_environment
from patchtool.matrix.running.own_time import OwnTime

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from patchtool.matrix.cell import Cell, Subsystem
    from patchtool.matrix.options import RunOptions
    from patchtool.matrix.release_trees import ReleaseTrees

_GRACE = 30.0
"""Seconds beyond a cell's timeout in which its worker must report that the cell timed out."""
_POLL = 0.2
_LOG_LINES = 5
_shared = lru_cache(maxsize=64)(lambda paths: paths)
"""The same object for equal lists of files: the cells of one tree load the same hundreds of them."""


def run_emulated(cells: Sequence[Cell], trees: ReleaseTrees, options: RunOptions) -> Iterator[CellResult]:
    """Run cells of one release and yield each result as soon as it is known.

    Args:
        cells: Cells of the emulated tier and of one release.
        trees: The release's trees.
        options: How to run them.
    """
    jobs = max(1, min(options.jobs, len(cells)))
    queues = _queues(cells)
    results: queue.SimpleQueue[CellResult | BaseException] = queue.SimpleQueue()
    stop = threading.Event()
    with tempfile.TemporaryDirectory(prefix="patchtool-cells-") as scratch, ThreadPoolExecutor(jobs) as pool:
        for number in range(jobs):
            first = number % len(queues)
            pool.submit(
                _work, queues[first:] + queues[:first], trees, Path(scratch, str(number)), options, results, stop
            )
        try:
            for _ in cells:
                result = results.get()
                if isinstance(result, BaseException):
                    raise result
                yield result
        finally:
            stop.set()


def _work(
    queues: Sequence[deque[Cell]],
    trees: ReleaseTrees,
    scratch: Path,
    options: RunOptions,
    results: queue.SimpleQueue[CellResult | BaseException],
    stop: threading.Event,
) -> None:
    """Empty one queue after the other; an exception is raised again where the results are read."""
    try:
        scratch.mkdir()
        for waiting in queues:
            while waiting:
                for result in _Worker(trees, scratch, options, stop).run(_taken(waiting, options.fork)):
                    results.put(result)
                    if stop.is_set():
                        return
    except BaseException as error:  # noqa: BLE001
        results.put(error)


def _queues(cells: Sequence[Cell]) -> list[deque[Cell]]:
    """Sort cells by what their worker imports: one import serves a whole queue, and none that another would break."""
    queues: dict[Subsystem, deque[Cell]] = {}
    for cell in cells:
        queues.setdefault(cell.test.drives, deque()).append(cell)
    return list(queues.values())


def _taken(waiting: deque[Cell], all_of_them: bool) -> Iterator[Cell]:
    """Take cells, or one cell, from a queue that other threads take from as well."""
    with contextlib.suppress(IndexError):
        yield waiting.popleft()
        while all_of_them:
            yield waiting.popleft()


class _Worker:
    """One worker process and its conversation."""

    def __init__(self, trees: ReleaseTrees, scratch: Path, options: RunOptions, stop: threading.Event) -> None:
        self._trees = trees
        self._scratch = scratch
        self._options = options
        self._stop = stop
        self._log = scratch / "stderr"

    def run(self, cells: Iterator[Cell]) -> Iterator[CellResult]:
        """Run cells of one queue; after the worker has ended, the remaining ones are errors."""
        first = next(cells, None)
        if first is None:  # another thread took it
            return
        cells = chain([first], cells)
        try:
            process = self._start()
        except OSError as error:
            yield from (CellResult(cell, Outcome.ERROR, 0.0, f"no worker could be started: {error}") for cell in cells)
            return
        with process:
            try:
                yield from self._results(process, first.test.drives, cells)
            finally:
                # the worker leads a session, so this also ends what a hanging cell started
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)

    def _start(self) -> subprocess.Popen[bytes]:
        code = Path(patchtool.__file__).parents[1]
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [self._options.python, "-m", "patchtool.matrix.running.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=cell_environment(code, self._scratch, self._options.cache),
                cwd=self._scratch,
                start_new_session=True,
            )

    def _results(
        self, process: subprocess.Popen[bytes], drives: Subsystem, cells: Iterator[Cell]
    ) -> Iterator[CellResult]:
        options = self._options
        setup = {
            "tree": str(self._trees.tree),
            "replaced": self._trees.replaced_modules,
            "fork": options.fork,
            "drives": drives.value,
        }
        ready = self._request(process, setup, options.import_timeout)
        fault = "" if ready.get("ready") else f"the tree could not be imported: {ready.get('detail')}"
        # without forks the cell runs in the worker itself, which then cannot report a timeout
        grace = _GRACE if options.fork else 0
        for cell in cells:
            reply: dict[str, Any] = {"outcome": "error", "detail": fault}
            if not fault:
                reply = self._request(process, self._job(cell), self._timeout(cell) + grace)
            if "outcome" not in reply:
                raise EnvironmentFault(f"the worker sent {reply!r} instead of a result")
            if reply.get("ended"):
                fault = fault or str(reply["detail"])
            yield CellResult(
                cell,
                Outcome(reply["outcome"]),
                round(float(reply.get("seconds", 0.0)), 3),
                str(reply["detail"]),
                dict(reply.get("numbers", {})),
                _shared(tuple(f"{self._trees.package.root}{path}" for path in reply.get("loaded", ()))),
            )

    def _job(self, cell: Cell) -> dict[str, object]:
        return {
            "tree": str(self._trees.tree),
            "overlay": str(self._trees.write_overlay(cell.patches, self._scratch)),
            "file": cell.test.path,
            "function": cell.test.function,
            "timeout": self._timeout(cell),
        }

    def _timeout(self, cell: Cell) -> float:
        return cell.timeout or self._options.timeout

    def _request(self, process: subprocess.Popen[bytes], request: Mapping[str, object], limit: float) -> dict[str, Any]:
        """Send one line and read one; a worker that ended or timed out is reported as ``ended``."""
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # then there is no reply either, and the log says why
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        own_time = OwnTime(process.pid)
        while not (readable := select.select([process.stdout], [], [], _POLL)[0]):
            if self._stop.is_set() or own_time.exceeds(limit):
                break
        if not readable:
            return {"outcome": "timeout", "detail": f"no answer within {limit:g} s", "ended": True}
        if line := process.stdout.readline():
            reply: dict[str, Any] = json.loads(line)
            return reply
        log = self._log.read_text(errors="replace").splitlines()[-_LOG_LINES:]
        return {"outcome": "error", "detail": f"the worker ended: {' | '.join(log)}", "ended": True}

"""Running cells of the emulated tier in workers: a worker imports a tree once and forks for every cell."""

from __future__ import annotations

import contextlib
import queue
import tempfile
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.matrix.cell import CellResult, Outcome, Subsystem
from patchtool.matrix.running.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from patchtool.matrix.cell import Cell
    from patchtool.matrix.options import RunOptions
    from patchtool.matrix.release_trees import ReleaseTrees


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
        workers = Workers(trees, Path(scratch), options, stop)
        for number in range(jobs):
            first, home = number * len(queues) // jobs, Path(scratch, str(number))
            pool.submit(_work, queues[first:] + queues[:first], workers, home, options.fork, results, stop)
        try:
            for _ in cells:
                result = results.get()
                if isinstance(result, BaseException):
                    raise result
                yield result
        finally:
            stop.set()
            workers.end()


def _work(
    queues: Sequence[deque[Cell]],
    workers: Workers,
    home: Path,
    all_of_them: bool,
    results: queue.SimpleQueue[CellResult | BaseException],
    stop: threading.Event,
) -> None:
    """Empty one queue after the other; an exception is raised again where the results are read."""
    try:
        home.mkdir()
        for waiting in queues:
            while waiting:
                for result in _run(workers, home, _taken(waiting, all_of_them)):
                    results.put(result)
                    if stop.is_set():
                        return
    except BaseException as error:  # noqa: BLE001
        results.put(error)


def _queues(cells: Sequence[Cell]) -> list[deque[Cell]]:
    """Sort cells by what their worker imports: one import serves a whole queue, and none that another would break."""
    queues: dict[tuple[Subsystem, tuple[str, ...]], deque[Cell]] = {}
    for cell in cells:
        queues.setdefault((cell.test.drives, cell.patches), deque()).append(cell)
    return list(queues.values())


def _taken(waiting: deque[Cell], all_of_them: bool) -> Iterator[Cell]:
    """Take cells, or one cell, from a queue that other threads take from as well."""
    with contextlib.suppress(IndexError):
        yield waiting.popleft()
        while all_of_them:
            yield waiting.popleft()


def _run(workers: Workers, home: Path, cells: Iterator[Cell]) -> Iterator[CellResult]:
    """Run cells of one queue; after the worker has ended, the remaining ones are errors."""
    first = next(cells, None)
    if first is None:  # another thread took it
        return
    cells = chain([first], cells)
    with contextlib.ExitStack() as ending:
        try:
            worker = ending.enter_context(workers.worker(first, home))
        except OSError as error:
            yield from (CellResult(cell, Outcome.ERROR, 0.0, f"no worker could be started: {error}") for cell in cells)
            return
        for cell in cells:
            yield workers.result(cell, worker, home)

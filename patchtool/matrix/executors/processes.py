"""Running cells on this machine, several workers at a time."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING

from patchtool.matrix.executors.settings import Batch, Settings, cores, share_out, subjects_of
from patchtool.matrix.executors.tiers import run_batch

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from patchtool.matrix.cell import Cell, CellResult
    from patchtool.matrix.local import Subject


class LocalExecutor:
    """Runs every batch in a worker process of its own; a thread here waits for each."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def run(self, cells: Sequence[Cell], subjects: Sequence[Subject]) -> Generator[CellResult, None, None]:
        """Run cells; see ``Executor``."""
        trees = subjects_of(cells, subjects)
        workers = self._settings.workers or cores()
        waiting: queue.SimpleQueue[Batch] = queue.SimpleQueue()
        for batch in share_out(cells, workers):
            waiting.put(batch)
        heard: queue.SimpleQueue[CellResult | BaseException | None] = queue.SimpleQueue()
        stop = threading.Event()

        def work() -> None:
            try:
                while not stop.is_set():
                    batch = waiting.get_nowait()
                    options = self._settings.options_for(batch.tier)
                    for result in run_batch(batch, trees[batch.release], options, stop.is_set):
                        heard.put(result)
            except queue.Empty:
                heard.put(None)
            except BaseException as error:  # noqa: BLE001  raised again where the results are read
                heard.put(error)

        threads = [threading.Thread(target=work, daemon=True) for _ in range(min(workers, waiting.qsize()))]
        for thread in threads:
            thread.start()
        try:
            yield from _drain(heard, len(threads))
        finally:
            stop.set()
            for thread in threads:
                thread.join()


def _drain(heard: queue.SimpleQueue[CellResult | BaseException | None], open_ends: int) -> Iterator[CellResult]:
    while open_ends:
        said = heard.get()
        if isinstance(said, BaseException):
            raise said
        if said is None:
            open_ends -= 1
        else:
            yield said

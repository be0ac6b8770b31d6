"""Running cells on this machine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from patchtool.matrix.running.executors.settings import ExecutorSettings, cores
from patchtool.matrix.running.run import run_cells

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from patchtool.matrix.cell import Cell, CellResult
    from patchtool.matrix.release_trees import ReleaseTrees


class LocalExecutor:
    """Runs cells in worker processes, as many at a time as there are cores."""

    def __init__(self, settings: ExecutorSettings) -> None:
        self._settings = settings

    def run(self, cells: Sequence[Cell], trees: Sequence[ReleaseTrees]) -> Generator[CellResult, None, None]:
        """Run cells; see ``Executor``."""
        options = replace(self._settings.options, jobs=self._settings.workers or cores())
        yield from run_cells(cells, trees, options)

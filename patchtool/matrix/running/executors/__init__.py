"""Executors, each of which runs cells somewhere. A new one is one file here and one line in ``EXECUTORS``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from patchtool.domain.errors import InputError
from patchtool.matrix.running.executors.local_machine import LocalExecutor
from patchtool.matrix.running.executors.ray_cluster import RayExecutor

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from patchtool.matrix.cell import Cell, CellResult
    from patchtool.matrix.release_trees import ReleaseTrees
    from patchtool.matrix.running.executors.settings import ExecutorSettings


class Executor(Protocol):
    """Runs cells somewhere."""

    def run(self, cells: Sequence[Cell], trees: Sequence[ReleaseTrees]) -> Generator[CellResult, None, None]:
        """Run cells and yield each result as soon as it is known: every cell exactly once, in no particular order.

        Closing the generator, or an interrupt, ends what is still running.

        Args:
            cells: What to run.
            trees: The trees of every release among them.

        Raises:
            InputError: There is no tree for a cell's release and subset.
            EnvironmentFault: Nothing could be started at all.
        """


EXECUTORS: Mapping[str, Callable[[ExecutorSettings], Executor]] = {
    "local": LocalExecutor,
    "ray": RayExecutor,
}


def create_executor(name: str, settings: ExecutorSettings) -> Executor:
    """Create an executor by its name.

    Raises:
        InputError: There is none of this name.
    """
    if name not in EXECUTORS:
        raise InputError(f"{name!r} is not an executor", hint=f"known executors: {', '.join(EXECUTORS)}")
    return EXECUTORS[name](settings)

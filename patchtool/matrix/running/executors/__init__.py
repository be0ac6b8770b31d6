"""Ways to run cells. A new one is one file here and one line in ``EXECUTORS``."""

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

    def run(self, cells: Sequence[Cell], subjects: Sequence[ReleaseTrees]) -> Generator[CellResult, None, None]:
        """Run cells and give each result as it comes: every cell exactly once, in no particular order.

        Closing the iterator, or an interrupt, ends what is still running.

        Args:
            cells: What to run.
            subjects: Their trees.

        Raises:
            InputError: A cell has no tree.
            EnvironmentFault: Nothing could be started at all.
        """


EXECUTORS: Mapping[str, Callable[[ExecutorSettings], Executor]] = {"local": LocalExecutor, "ray": RayExecutor}


def create_executor(name: str, settings: ExecutorSettings) -> Executor:
    """Find an executor.

    Raises:
        InputError: There is none of this name.
    """
    if name not in EXECUTORS:
        raise InputError(f"{name!r} is not an executor", hint=f"known executors: {', '.join(EXECUTORS)}")
    return EXECUTORS[name](settings)

"""Running a batch on a node, with the driver's own code: what a task receives and sends back."""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import patchtool
from patchtool.matrix.cell import CellResult, Outcome
from patchtool.matrix.running.executors.bundle import packed_path
from patchtool.matrix.running.fingerprint import fingerprint
from patchtool.matrix.running.run import run_cells

if TYPE_CHECKING:
    from collections.abc import Iterator

    from patchtool.matrix.cell import Cell
    from patchtool.matrix.options import RunOptions
    from patchtool.matrix.release_trees import ReleaseTrees
    from patchtool.matrix.running.executors.settings import Batch
    from patchtool.matrix.running.fingerprint import Fingerprint


@dataclass(frozen=True)
class Payload:
    """The input of a task.

    Args:
        batch: The cells.
        trees: Their overlays; the pristine folder is the driver's, and replaced on the node.
        options: How to run; the interpreter is the driver's, and replaced on the node.
        python: Interpreter of the cells on the node; empty for the node's own.
        expected: What that interpreter must be.
    """

    batch: Batch
    trees: ReleaseTrees
    options: RunOptions
    python: str
    expected: Fingerprint


def run_payload(home: Path, tree: Path, payload: bytes) -> Iterator[bytes]:
    """Run a batch on this node and yield pickled results; on an unsuitable node every cell is an error.

    Args:
        home: Folder with our code and the tests.
        tree: Folder with the pristine tree.
        payload: A pickled ``Payload``.
    """
    task: Payload = pickle.loads(payload)  # noqa: S301  from our own driver, through Ray, which pickles all it carries
    python = task.python or sys.executable
    if problem := _node_problem(home, python, task.expected):
        for cell in task.batch.cells:
            yield pickle.dumps(CellResult(cell, Outcome.ERROR, 0.0, problem))
        return
    originals = {cell.id: cell for cell in task.batch.cells}
    cells = [_with_local_path(cell, home) for cell in task.batch.cells]
    folder = home.parent
    options = replace(
        task.options, python=python, jobs=1, cache=folder / "bytecode", measurements=folder / "measurements"
    )
    for result in run_cells(cells, [replace(task.trees, tree=tree)], options):
        yield pickle.dumps(replace(result, cell=originals[result.cell.id]))


def _node_problem(home: Path, python: str, expected: Fingerprint) -> str:
    if not Path(patchtool.__file__).is_relative_to(home):
        return "another patchtool was already imported on the node"
    found = fingerprint(python)
    if found.digest != expected.digest:
        return f"the node's environment differs from the driver's: {found.differences(expected)}"
    return ""


def _with_local_path(cell: Cell, home: Path) -> Cell:
    return replace(cell, test=replace(cell.test, path=str(home / packed_path(Path(cell.test.path)))))

"""A batch on its way to a node and its results on the way back; both ends run the same code, by its digest."""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import patchtool
from patchtool.matrix.cell import CellResult, Outcome
from patchtool.matrix.running.executors.bundle import test_path
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
    """All that a node needs to know.

    Args:
        batch: The cells.
        subject: Their overlays; its tree is the driver's and is replaced on the node.
        options: How to run; its interpreter is the driver's and is replaced on the node.
        python: Interpreter of the cells there; empty for the node's own.
        expected: What that interpreter must look like.
    """

    batch: Batch
    subject: ReleaseTrees
    options: RunOptions
    python: str
    expected: Fingerprint


def run_payload(home: Path, tree: Path, payload: bytes) -> Iterator[bytes]:
    """Run a batch on this node; every cell is answered, also where the node is not what it must be.

    Args:
        home: Where our code and the tests are unpacked.
        tree: Where the tree is unpacked.
        payload: A pickled ``Payload``.
    """
    asked: Payload = pickle.loads(payload)  # noqa: S301  from our own driver, through Ray, which pickles all it carries
    python = asked.python or sys.executable
    fault = _fault(home, python, asked.expected)
    if fault:
        for cell in asked.batch.cells:
            yield pickle.dumps(CellResult(cell, Outcome.ERROR, 0.0, fault))
        return
    originals = {cell.id: cell for cell in asked.batch.cells}
    batch = replace(asked.batch, cells=tuple(_at_home(cell, home) for cell in asked.batch.cells))
    options = replace(asked.options, python=python, jobs=1, cache=home.parent / "bytecode")
    for result in run_cells(batch.cells, [replace(asked.subject, tree=tree)], options):
        yield pickle.dumps(replace(result, cell=originals[result.cell.id]))


def _fault(home: Path, python: str, expected: Fingerprint) -> str:
    if not Path(patchtool.__file__).is_relative_to(home):
        return "the node had imported another patchtool before ours came"
    found = fingerprint(python)
    if found.digest != expected.digest:
        return f"the node's environment is not the one that was planned for: {found.against(expected)}"
    return ""


def _at_home(cell: Cell, home: Path) -> Cell:
    return replace(cell, test=replace(cell.test, path=str(home / test_path(Path(cell.test.path)))))

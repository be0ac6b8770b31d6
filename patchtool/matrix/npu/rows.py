"""Model rows as cells, and their runs: the unmodified release is served and measured, then the tree under test."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.matrix.cell import Cell, CellResult, Colour, Outcome, Test, Tier
from patchtool.matrix.npu.compare import Compared, compare_paces, compare_scores
from patchtool.matrix.npu.environment import npu_environment
from patchtool.matrix.npu.evaluate import score
from patchtool.matrix.npu.faults import StepFault
from patchtool.matrix.npu.models import Accuracy, ModelRow, Served, Speed, parse_served
from patchtool.matrix.npu.server import Server, served
from patchtool.matrix.npu.speed import Pace, pace
from patchtool.matrix.subject import LAYOUT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from patchtool.matrix.local import Options
    from patchtool.matrix.plan import Series
    from patchtool.matrix.subject import Subject


def row_cells(series: Series, matrix: Served, path: Path) -> tuple[Cell, ...]:
    """One cell per measurement of every model row, on the whole series.

    Args:
        series: As it stands on the release.
        matrix: What the matrix file says of served models.
        path: The matrix file; it travels with the cells as a test's file does.
    """
    return tuple(
        Cell(series.release, series.applied, Tier.NPU, _test(row, name, path), Colour.GREEN)
        for row in matrix.models
        for name in _measurements(row)
    )


def _test(row: ModelRow, name: str, path: Path) -> Test:
    return Test(f"{row.name}::{name}", str(path), f"{row.name}::{name}", tiers=(Tier.NPU,))


def _measurements(row: ModelRow) -> dict[str, Accuracy | Speed]:
    speeds = {f"speed-{each.input_tokens}-{each.output_tokens}-{each.concurrency}": each for each in row.speed}
    return {**{each.dataset: each for each in row.accuracy}, **speeds}


def run_rows(
    cells: Sequence[Cell], subject: Subject, options: Options, stopped: Callable[[], bool]
) -> Iterator[CellResult]:
    """Run the cells of model rows; those of one row share its servers.

    Args:
        cells: Made by ``row_cells``.
        subject: The release's trees.
        options: The interpreter.
        stopped: Asked while waiting.
    """
    groups: dict[tuple[str, str, tuple[str, ...]], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell.test.path, cell.test.function.partition("::")[0], cell.patches].append(cell)
    for (path, name, patches), group in groups.items():
        matrix = parse_served(Path(path).read_bytes(), Path(path).name)
        (row,) = [each for each in matrix.models if each.name == name]
        wanted = {cell.test.function.partition("::")[2]: cell for cell in group}
        asked = {name: each for name, each in _measurements(row).items() if name in wanted}
        with tempfile.TemporaryDirectory(prefix="patchtool-served-") as scratch:
            run = _Run(row, matrix, options, Path(scratch), stopped)
            began = time.monotonic()
            pristine = run.measure("pristine", subject.tree, asked) if patches else {}
            tree = lay_out(subject.tree, subject.overlays[patches], Path(scratch) / "tree") if patches else subject.tree
            patched = run.measure("patched", tree, asked)
            seconds = round((time.monotonic() - began) / len(group), 3)
            for each, cell in wanted.items():
                found = _compare(asked[each], pristine.get(each), patched[each])
                yield CellResult(cell, found.outcome, seconds, found.detail, found.numbers)


def _compare(
    asked: Accuracy | Speed, pristine: float | Pace | StepFault | None, patched: float | Pace | StepFault
) -> Compared:
    if isinstance(asked, Accuracy) and not isinstance(pristine, Pace) and not isinstance(patched, Pace):
        return compare_scores(asked, pristine, patched)
    if isinstance(asked, Speed) and not isinstance(pristine, float) and not isinstance(patched, float):
        return compare_paces(asked, pristine, patched)
    return Compared(Outcome.ERROR, "the numbers are not of the kind that was asked for")


@dataclass(frozen=True)
class _Run:
    row: ModelRow
    matrix: Served
    options: Options
    scratch: Path
    stopped: Callable[[], bool]

    def measure(
        self, name: str, tree: Path, asked: Mapping[str, Accuracy | Speed]
    ) -> dict[str, float | Pace | StepFault]:
        """Serve one tree and take every measurement; what has no number has the fault that kept it away."""
        folder = self.scratch / name
        folder.mkdir()
        found: dict[str, float | Pace | StepFault] = {}
        environment = npu_environment(folder, tree, self.row.environment)
        start = self._filled(self.matrix.commands.server)
        argv = [*start, "--model-path", self.row.model, *self.row.flags]
        limit = self.matrix.start_timeout
        try:
            with served(argv, folder / "server.log", environment, timeout=limit, stopped=self.stopped) as server:
                for each, what in asked.items():
                    server.alive()
                    found[each] = self._take(what, server, folder, environment)
        except StepFault as fault:
            return {each: found.get(each, fault) for each in asked}
        return found

    def _take(
        self, asked: Accuracy | Speed, server: Server, folder: Path, environment: Mapping[str, str]
    ) -> float | Pace | StepFault:
        commands, model, limit = self.matrix.commands, self.row.model, self.matrix.timeout
        try:
            if isinstance(asked, Accuracy):
                return score(self._filled(commands.evaluate), server, model, asked, folder, environment, limit)
            return pace(self._filled(commands.speed), server, model, asked, folder, environment, limit)
        except StepFault as fault:
            return fault

    def _filled(self, command: Sequence[str]) -> list[str]:
        return [word.replace("{python}", self.options.python) for word in command]


def lay_out(tree: Path, overlay: Mapping[str, bytes], target: Path) -> Path:
    """Make a whole patched tree; what is not patched is linked, not copied, where the file system can.

    Args:
        tree: The pristine one.
        overlay: Changed files in the git layout.
        target: Folder to make.
    """
    # bytecode of the pristine file would be taken for that of a patched one of the same size and second
    unwanted = shutil.ignore_patterns("__pycache__")
    shutil.copytree(tree / "sglang", target / "sglang", copy_function=_link, ignore=unwanted)
    for path, content in overlay.items():
        file = target / path.removeprefix(LAYOUT)
        file.unlink(missing_ok=True)  # the pristine tree's file has the same inode
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return target


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)

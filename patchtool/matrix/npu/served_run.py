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

from patchtool.matrix.cell import Cell, CellResult, Mode, Outcome
from patchtool.matrix.npu.accuracy import score
from patchtool.matrix.npu.environment import npu_environment
from patchtool.matrix.npu.faults import StepFault
from patchtool.matrix.npu.server import ServerProcess, served
from patchtool.matrix.npu.speed import Pace, pace
from patchtool.matrix.npu.thresholds import Compared, compare_paces, compare_scores
from patchtool.matrix.planning.served import (
    MODE_FLAGS,
    VISIBLE,
    Accuracy,
    ModelRow,
    ServedConfig,
    Speed,
    measurement_of,
    parse_served,
)
from patchtool.matrix.release_trees import LAYOUT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from patchtool.matrix.npu.detect import Npu
    from patchtool.matrix.options import RunOptions
    from patchtool.matrix.release_trees import ReleaseTrees


def run_rows(
    cells: Sequence[Cell],
    subject: ReleaseTrees,
    options: RunOptions,
    stopped: Callable[[], bool],
    look: Callable[[], Npu],
) -> Iterator[CellResult]:
    """Run the cells of model rows; those of one row and mode share its servers.

    Args:
        cells: Made by ``row_cells``.
        subject: The release's trees.
        options: The interpreter.
        stopped: Asked while waiting.
        look: Says which NPUs are free.
    """
    groups: dict[tuple[str, str, Mode], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell.test.path, cell.test.function.partition("::")[0], cell.test.mode or Mode.GRAPH].append(cell)
    for (path, name, mode), group in groups.items():
        matrix = parse_served(Path(path).read_bytes(), Path(path).name)
        (row,) = [each for each in matrix.models if each.name == name]
        found = look()
        if len(found.free) < row.devices:
            words = f"needs {row.devices} free NPUs, and of {', '.join(found.devices) or 'none'} those are free: "
            words += ", ".join(found.free) or (found.reason if not found.usable else "none")
            yield from (CellResult(cell, Outcome.ERROR, 0.0, words) for cell in group)
            continue
        with tempfile.TemporaryDirectory(prefix="patchtool-served-") as scratch:
            yield from _Run(row, mode, matrix, options, Path(scratch), stopped, found.free[: row.devices]).results(
                group, subject
            )


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
    mode: Mode
    matrix: ServedConfig
    options: RunOptions
    scratch: Path
    stopped: Callable[[], bool]
    devices: tuple[str, ...]

    def results(self, cells: Sequence[Cell], subject: ReleaseTrees) -> Iterator[CellResult]:
        """Measure the unmodified release once, then every subset, and hold them against each other."""
        began = time.monotonic()
        patched = [cell for cell in cells if cell.patches]
        pristine = self._measure("pristine", subject.tree, patched) if patched else {}
        for number, patches in enumerate(dict.fromkeys(cell.patches for cell in cells)):
            group = [cell for cell in cells if cell.patches == patches]
            folder = self.scratch / f"tree-{number}"
            tree = lay_out(subject.tree, subject.overlays[patches], folder) if patches else subject.tree
            found = self._measure(f"patched-{number}", tree, group)
            seconds, began = round((time.monotonic() - began) / len(group), 3), time.monotonic()
            for cell in group:
                name = measurement_of(cell)
                asked = self.row.measurements[name]
                said = _compare(asked, pristine.get(name) if patches else None, found[name])
                yield CellResult(cell, said.outcome, seconds, said.detail, said.numbers)

    def _measure(self, name: str, tree: Path, cells: Sequence[Cell]) -> dict[str, float | Pace | StepFault]:
        """Serve one tree and take every measurement; what has no number has the fault that kept it away."""
        folder = self.scratch / name
        folder.mkdir()
        found: dict[str, float | Pace | StepFault] = {}
        limits = {measurement_of(cell): cell.timeout or self.options.timeout for cell in cells}
        environment = npu_environment(folder, tree, {**self.row.environment, VISIBLE: ",".join(self.devices)})
        start = self._filled(self.matrix.commands.server)
        argv = [*start, "--model-path", self.row.model, *self.row.flags, *MODE_FLAGS[self.mode]]
        limit = self.matrix.start_timeout
        try:
            with served(argv, folder / "server.log", environment, timeout=limit, stopped=self.stopped) as server:
                for each, seconds in limits.items():
                    server.alive()
                    found[each] = self._take(self.row.measurements[each], server, folder, environment, seconds)
        except StepFault as fault:
            return {each: found.get(each, fault) for each in limits}
        return found

    def _take(
        self, asked: Accuracy | Speed, server: ServerProcess, folder: Path, environment: Mapping[str, str], limit: float
    ) -> float | Pace | StepFault:
        commands, model = self.matrix.commands, self.row.model
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

"""Running cells of served models: the pristine release is served and measured, then each tree under test."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.domain.toml import read_toml
from patchtool.matrix.cell import Cell, CellResult, Mode, Outcome
from patchtool.matrix.npu.accuracy import measure_accuracy
from patchtool.matrix.npu.environment import npu_environment
from patchtool.matrix.npu.errors import MeasurementError
from patchtool.matrix.npu.server import Client, ServerProcess, running_server
from patchtool.matrix.npu.speed import SpeedResult, measure_speed
from patchtool.matrix.npu.thresholds import Comparison, compare_accuracy, compare_speed
from patchtool.matrix.options import VISIBLE_NPUS
from patchtool.matrix.planning.matrix_file import Matrix
from patchtool.matrix.planning.served_models import MODE_FLAGS, Accuracy, ServedConfig, ServedModel, Speed
from patchtool.matrix.release_trees import LAYOUT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from patchtool.matrix.npu.detect import Npu
    from patchtool.matrix.options import RunOptions
    from patchtool.matrix.release_trees import ReleaseTrees

    Measurement = float | SpeedResult | MeasurementError


def run_served(
    cells: Sequence[Cell], trees: ReleaseTrees, options: RunOptions, find: Callable[[], Npu]
) -> Iterator[CellResult]:
    """Run cells of served models; those of one model and mode share its servers.

    Args:
        cells: Made by ``served_cells``.
        trees: The release's trees.
        options: The interpreter.
        find: Detects which NPUs are free.
    """
    groups: dict[tuple[str, str, Mode], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[cell.test.path, cell.test.function.partition("::")[0], cell.test.mode or Mode.GRAPH].append(cell)
    for (path, name, mode), group in groups.items():
        config = read_toml(Path(path).read_bytes(), Path(path).name, Matrix).served
        (model,) = [model for model in config.models if model.name == name]
        npu = find()
        if len(npu.free) < model.devices:
            free = ", ".join(npu.free) or ("none" if npu.usable else npu.reason)
            detail = f"needs {model.devices} free NPUs; visible: {', '.join(npu.devices) or 'none'}; free: {free}"
            yield from (CellResult(cell, Outcome.ERROR, 0.0, detail) for cell in group)
            continue
        with tempfile.TemporaryDirectory(prefix="patchtool-served-") as scratch:
            run = _ServedRun(model, mode, config, options, Path(scratch), npu.free[: model.devices])
            yield from run.results(group, trees)


def _benchmark_of(cell: Cell) -> str:
    return cell.test.function.partition("::")[2].rpartition("[")[0]


def _compare(benchmark: Accuracy | Speed, pristine: Measurement | None, patched: Measurement) -> Comparison:
    if isinstance(benchmark, Accuracy):
        assert not isinstance(pristine, SpeedResult)
        assert not isinstance(patched, SpeedResult)
        return compare_accuracy(benchmark, pristine, patched)
    assert not isinstance(pristine, float)
    assert not isinstance(patched, float)
    return compare_speed(benchmark, pristine, patched)


@dataclass(frozen=True)
class _ServedRun:
    model: ServedModel
    mode: Mode
    config: ServedConfig
    options: RunOptions
    scratch: Path
    devices: tuple[str, ...]

    def results(self, cells: Sequence[Cell], trees: ReleaseTrees) -> Iterator[CellResult]:
        """Measure the pristine release once, then every subset, and compare them."""
        started = time.monotonic()
        patched = [cell for cell in cells if cell.patches]
        pristine = self._measure("pristine", trees.tree, patched) if patched else {}
        for number, patches in enumerate(dict.fromkeys(cell.patches for cell in cells)):
            group = [cell for cell in cells if cell.patches == patches]
            folder = self.scratch / f"tree-{number}"
            tree = link_tree(trees.tree, trees.overlays[patches], folder) if patches else trees.tree
            measured = self._measure(f"patched-{number}", tree, group)
            seconds, started = round((time.monotonic() - started) / len(group), 3), time.monotonic()
            for cell in group:
                name = _benchmark_of(cell)
                result = _compare(self.model.benchmarks[name], pristine.get(name) if patches else None, measured[name])
                yield CellResult(cell, result.outcome, seconds, result.detail, result.numbers)

    def _measure(self, name: str, tree: Path, cells: Sequence[Cell]) -> dict[str, Measurement]:
        """Serve one tree and run every benchmark of these cells; one without a number has its error."""
        folder = self.scratch / name
        folder.mkdir()
        measured: dict[str, Measurement] = {}
        timeouts = {_benchmark_of(cell): cell.timeout or self.options.timeout for cell in cells}
        environment = npu_environment(folder, tree, {**self.model.environment, VISIBLE_NPUS: ",".join(self.devices)})
        command = self._command(self.config.commands.server)
        argv = [*command, "--model-path", self.model.model, *self.model.flags, *MODE_FLAGS[self.mode]]
        start_timeout = self.config.start_timeout
        try:
            with running_server(argv, folder / "server.log", environment, timeout=start_timeout) as server:
                for benchmark, timeout in timeouts.items():
                    server.check()
                    measured[benchmark] = self._run(benchmark, server, folder, environment, timeout)
        except MeasurementError as error:
            return {benchmark: measured.get(benchmark, error) for benchmark in timeouts}
        return measured

    def _run(
        self, name: str, server: ServerProcess, folder: Path, environment: Mapping[str, str], timeout: float
    ) -> Measurement:
        commands, benchmark = self.config.commands, self.model.benchmarks[name]
        command = self._command(commands.evaluate if isinstance(benchmark, Accuracy) else commands.speed)
        client = Client(command, server, self.model.model, folder, environment, timeout)
        try:
            if isinstance(benchmark, Accuracy):
                return measure_accuracy(client, benchmark)
            return measure_speed(client, benchmark)
        except MeasurementError as error:
            return error

    def _command(self, command: Sequence[str]) -> list[str]:
        return [argument.replace("{python}", self.options.python) for argument in command]


def link_tree(tree: Path, overlay: Mapping[str, bytes], target: Path) -> Path:
    """Create a complete patched tree, whose other files are hard links where the file system has them.

    Args:
        tree: The pristine tree.
        overlay: Changed files, by path in the git layout.
        target: Folder to create.
    """
    # Python would accept bytecode of the pristine file for a patched one of the same size and second
    bytecode = shutil.ignore_patterns("__pycache__")
    shutil.copytree(tree / "sglang", target / "sglang", copy_function=_link, ignore=bytecode)
    for path, content in overlay.items():
        file = target / path.removeprefix(LAYOUT)
        file.unlink(missing_ok=True)  # or the pristine file, which has the same inode, would be overwritten
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return target


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)

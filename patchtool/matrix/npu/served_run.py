"""Running cells of served models: the tree before and each tree under test are served, measured and compared."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from patchtool.matrix.cell import CellResult, Outcome
from patchtool.matrix.npu.accuracy import Score, read_score
from patchtool.matrix.npu.environment import npu_environment
from patchtool.matrix.npu.errors import MeasurementError
from patchtool.matrix.npu.records import TreeRecords, tree_records
from patchtool.matrix.npu.served_group import ServedGroup, benchmark_of, served_groups
from patchtool.matrix.npu.server import Client, ServerProcess, running_server
from patchtool.matrix.npu.speed import SpeedResult, read_speed
from patchtool.matrix.npu.thresholds import compare
from patchtool.matrix.options import VISIBLE_NPUS
from patchtool.matrix.planning.served_models import Accuracy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from patchtool.domain.package import Package
    from patchtool.matrix.cell import Cell
    from patchtool.matrix.npu.detect import Npu
    from patchtool.matrix.npu.thresholds import Runs
    from patchtool.matrix.options import RunOptions
    from patchtool.matrix.release_trees import ReleaseTrees


def run_served(
    cells: Sequence[Cell], trees: ReleaseTrees, options: RunOptions, find: Callable[[], Npu]
) -> Iterator[CellResult]:
    """Run cells of served models; those of one model and mode share its servers.

    Args:
        cells: Made by ``served_cells``.
        trees: The release's trees.
        options: The interpreter, and where models, datasets and measurements are.
        find: Detects which NPUs are free.
    """
    for group in served_groups(cells, options):
        npu, needed = find(), group.model.devices
        if len(npu.free) < needed:
            free = ", ".join(npu.free) or ("none" if npu.usable else npu.reason)
            detail = f"needs {needed} free NPUs; visible: {', '.join(npu.devices) or 'none'}; free: {free}"
            yield from (CellResult(cell, Outcome.ERROR, 0.0, detail) for cell in group.cells)
            continue
        left = {cell.id: cell for cell in group.cells}
        try:
            with tempfile.TemporaryDirectory(prefix="patchtool-served-") as scratch:
                run = _ServedRun(group, trees, npu, Path(scratch), npu.free[:needed])
                for result in run.results():
                    del left[result.cell.id]
                    yield result
        except OSError as error:  # a full disk costs the cells of this model, not those of the next
            detail = f"{error.filename or 'the scratch folder'}: {error.strerror or error}"
            yield from (CellResult(cell, Outcome.ERROR, 0.0, detail) for cell in left.values())


@dataclass(frozen=True)
class _ServedRun:
    group: ServedGroup
    trees: ReleaseTrees
    npu: Npu
    scratch: Path
    devices: tuple[str, ...]

    def results(self) -> Iterator[CellResult]:
        """Measure the tree before once, then every subset, and compare them."""
        started = time.monotonic()
        before: dict[str, Runs] = {}
        for patches in self.group.trees:
            measured = self._measure(patches)
            if patches == self.group.before:
                before = measured
            cells = [cell for cell in self.group.cells if cell.patches == patches]
            for cell in cells:
                name = benchmark_of(cell)
                compared = None if patches == self.group.before else before[name]
                result = compare(self.group.model.benchmarks[name], compared, measured[name])
                seconds = round((time.monotonic() - started) / len(cells), 3)
                yield CellResult(cell, result.outcome, seconds, result.detail, result.numbers)
            started = time.monotonic() if cells else started

    def _measure(self, patches: tuple[str, ...]) -> dict[str, Runs]:
        """Serve one tree and run every benchmark as often as its row says; one without numbers has its error."""
        group, records = self.group, tree_records(self.group, self.trees, patches, self.npu, self.scratch)
        records.open()
        runs = range(1, group.model.runs + 1)
        known = {name: [records.get(name, run) for run in runs] for name in group.benchmarks}
        if all(None not in results for results in known.values()):
            return {name: [each for each in results if each is not None] for name, results in known.items()}
        overlay = self.trees.overlays.get(patches, {})
        tree = (
            link_tree(self.trees.tree, overlay, self.scratch / records.folder.name, self.trees.package)
            if overlay
            else self.trees.tree
        )
        visible = {VISIBLE_NPUS: ",".join(self.devices)}
        environment = npu_environment(records.folder, tree, {**group.model.environment, **visible})
        command, log = group.server_command("{port}"), records.folder / "server.log"
        measured: dict[str, Runs] = {}
        try:
            with running_server(
                command, log, environment, group.config.start_timeout, model=group.model_path
            ) as server:
                for name in group.benchmarks:
                    server.check()
                    measured[name] = self._runs(name, server, records, {**environment, **group.offline})
        except MeasurementError as error:
            return {name: measured.get(name, error) for name in group.benchmarks}
        return measured

    def _runs(self, name: str, server: ServerProcess, records: TreeRecords, environment: Mapping[str, str]) -> Runs:
        """Run one benchmark as often as is missing; the first run that fails is the result."""
        results: list[Score | SpeedResult] = []
        for run in range(1, self.group.model.runs + 1):
            result = records.get(name, run)
            if result is None:
                try:
                    result = self._run(name, run, server, records.run_folder(name, run), environment)
                except MeasurementError as error:
                    of = f"run {run} of {self.group.model.runs}: " if self.group.model.runs > 1 else ""
                    return MeasurementError(error.outcome, f"{of}{error.detail}")
                records.put(name, run, result)
            results.append(result)
        return results

    def _run(
        self, name: str, run: int, server: ServerProcess, folder: Path, environment: Mapping[str, str]
    ) -> Score | SpeedResult:
        group, benchmark = self.group, self.group.model.benchmarks[name]
        command = group.benchmark_command(name, str(server.port), str(folder), run)
        cells = [cell for cell in group.cells if benchmark_of(cell) == name]
        timeout = cells[0].timeout or group.options.timeout
        client = Client(command, server, folder, environment, timeout)
        if isinstance(benchmark, Accuracy):
            step = f"evalscope {benchmark.dataset}"
            client.run(step, f"{name}.log")
            return read_score(folder, benchmark.dataset, step)
        client.run("bench_serving", f"{name}.log")
        return read_speed(folder / "speed.jsonl", benchmark.prompts)


def link_tree(tree: Path, overlay: Mapping[str, bytes], target: Path, package: Package) -> Path:
    """Create a complete patched tree, whose other files are hard links where the file system has them.

    Args:
        tree: The pristine tree.
        overlay: Changed files, by path in the git layout.
        target: Folder to create.
        package: The package.
    """
    # Python would accept bytecode of the pristine file for a patched one of the same size and second
    bytecode = shutil.ignore_patterns("__pycache__")
    shutil.copytree(tree / package.name, target / package.name, copy_function=_link, ignore=bytecode)
    for path, content in overlay.items():
        file = target / package.installed(path)
        file.unlink(missing_ok=True)  # or the pristine file, which has the same inode, would be overwritten
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return target


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)

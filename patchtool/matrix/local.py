"""Running cells on this machine: a worker process per release imports its tree once, and forks for every cell."""

from __future__ import annotations

import hashlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import patchtool
from patchtool.domain.errors import InputError
from patchtool.matrix.cell import CellResult, Outcome
from patchtool.matrix.emulation.overlay import module_name
from patchtool.matrix.environment import cell_environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from patchtool.domain.release import Release
    from patchtool.matrix.cell import Cell

GIT_LAYOUT = "python/"


@dataclass(frozen=True)
class Subject:
    """The trees of one release.

    Args:
        release: The release.
        tree: Folder that holds the pristine ``sglang/``.
        overlays: Changed files of each patch subset, by path in the git layout; the empty subset needs none.
    """

    release: Release
    tree: Path
    overlays: Mapping[tuple[str, ...], Mapping[str, bytes]]


@dataclass(frozen=True)
class Options:
    """How to run.

    Args:
        python: The interpreter of the cells, with what upstream imports.
        timeout: Seconds a cell may take.
        import_timeout: Seconds a tree's imports may take.
        fork: Import once per tree and worker; off, every cell imports its own.
        jobs: Workers side by side.
        cache: Where compiled bytecode is kept; None for nowhere.
    """

    python: str = sys.executable
    timeout: float = 60.0
    import_timeout: float = 180.0
    fork: bool = field(default_factory=lambda: hasattr(os, "fork"))
    jobs: int = 1
    cache: Path | None = None


def run_emulated(cells: Sequence[Cell], subject: Subject, options: Options) -> Iterator[CellResult]:
    """Run cells of one release and give each result as it comes.

    Args:
        cells: Of the emulated tier and of one release.
        subject: Its trees.
        options: How.
    """
    jobs = max(1, min(options.jobs, len(cells)))
    done: queue.SimpleQueue[CellResult | BaseException] = queue.SimpleQueue()
    stop = threading.Event()
    with tempfile.TemporaryDirectory(prefix="patchtool-cells-") as scratch, ThreadPoolExecutor(jobs) as pool:
        for first in range(jobs):
            pool.submit(_work, cells[first::jobs], subject, Path(scratch, str(first)), options, done, stop)
        try:
            for _ in cells:
                result = done.get()
                if isinstance(result, BaseException):
                    raise result
                yield result
        finally:
            stop.set()


def _work(
    cells: Sequence[Cell],
    subject: Subject,
    scratch: Path,
    options: Options,
    done: queue.SimpleQueue[CellResult | BaseException],
    stop: threading.Event,
) -> None:
    """Run a share of the cells; what goes wrong here is raised where the results are read."""
    try:
        scratch.mkdir()
        for batch in [cells] if options.fork else [[cell] for cell in cells]:
            for result in _Worker(subject, scratch, options).run(batch):
                done.put(result)
                if stop.is_set():
                    return
    except BaseException as error:  # noqa: BLE001
        done.put(error)


class _Worker:
    """One worker process and the cells it is given."""

    def __init__(self, subject: Subject, scratch: Path, options: Options) -> None:
        self._subject = subject
        self._scratch = scratch
        self._options = options

    def run(self, cells: Sequence[Cell]) -> Iterator[CellResult]:
        """Run cells; when the worker dies, what is left is reported as not run."""
        log = self._scratch / "stderr"
        with log.open("ab") as errors:
            process = subprocess.Popen(
                [self._options.python, "-m", "patchtool.matrix.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=cell_environment(Path(patchtool.__file__).parents[1], self._scratch, self._options.cache),
                cwd=self._scratch,
                start_new_session=True,
            )
        with process:
            try:
                yield from self._converse(process, cells, log)
            finally:
                process.kill()

    def _converse(self, process: subprocess.Popen[bytes], cells: Sequence[Cell], log: Path) -> Iterator[CellResult]:
        tree = self._subject.tree
        replaced = sorted({module_name(_in_tree(path)) for files in self._subject.overlays.values() for path in files})
        ready = self._ask(process, {"tree": str(tree), "replaced": replaced, "fork": self._options.fork})
        fault = "" if ready.get("ready") else f"the tree could not be imported: {ready.get('detail') or _tail(log)}"
        for cell in cells:
            if fault:
                yield CellResult(cell, Outcome.ERROR, 0.0, fault)
                continue
            answer = self._ask(process, self._job(cell))
            if not answer:
                fault = f"the worker ended: {_tail(log)}"
                answer = {"outcome": "error", "detail": fault}
            yield CellResult(
                cell,
                Outcome(answer["outcome"]),
                round(float(answer.get("seconds", 0.0)), 3),
                str(answer.get("detail", "")),
                dict(answer.get("numbers", {})),
            )

    def _job(self, cell: Cell) -> dict[str, object]:
        files = self._subject.overlays.get(cell.patches, {})
        return {
            "tree": str(self._subject.tree),
            "overlay": str(_write_overlay(self._scratch, files)),
            "file": cell.test.path,
            "function": cell.test.function,
            "timeout": self._options.timeout,
        }

    def _ask(self, process: subprocess.Popen[bytes], question: Mapping[str, object]) -> dict[str, Any]:
        """Send one line and read one; nothing when the worker is gone or silent."""
        if process.stdin is None or process.stdout is None:
            return {}
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            return {}
        limit = self._options.import_timeout + self._options.timeout
        line = _read_line(process.stdout, limit)
        answer: dict[str, Any] = json.loads(line) if line else {}
        return answer


def _read_line(stream: IO[bytes], seconds: float) -> bytes:
    import select

    return stream.readline() if select.select([stream], [], [], seconds)[0] else b""


def _write_overlay(scratch: Path, files: Mapping[str, bytes]) -> Path:
    """Lay changed files out in a folder named by their content."""
    digest = hashlib.sha256()
    for path, content in sorted(files.items()):
        digest.update(path.encode() + b"\0" + hashlib.sha256(content).digest())
    root = scratch / "overlays" / digest.hexdigest()[:16]
    for path, content in files.items():
        file = root / _in_tree(path)
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
    root.mkdir(parents=True, exist_ok=True)
    return root


def _in_tree(path: str) -> str:
    if not path.startswith(f"{GIT_LAYOUT}sglang/") or ".." in Path(path).parts:
        raise InputError(f"{path!r} is not a file of the tree in the git layout (python/sglang/…)")
    return path.removeprefix(GIT_LAYOUT)


def _tail(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return " | ".join(lines[-5:])

"""Running cells on this machine: a worker process per release imports its tree once, and forks for every cell."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

import patchtool
from patchtool.domain.errors import InputError
from patchtool.matrix.cell import Cell, CellResult, Outcome
from patchtool.matrix.emulation.overlay import module_name
from patchtool.matrix.environment import cell_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from patchtool.domain.release import Release

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
        fork: Import once per tree; off, every cell imports its own.
        cache: Where compiled bytecode is kept; None for nowhere.
    """

    python: str = sys.executable
    timeout: float = 60.0
    import_timeout: float = 180.0
    fork: bool = field(default_factory=lambda: hasattr(os, "fork"))
    cache: Path | None = None


def run_cells(
    cells: Sequence[Cell],
    subjects: Sequence[Subject],
    options: Options | None = None,
    stopped: Callable[[], bool] | None = None,
) -> Iterator[CellResult]:
    """Run cells of the emulated tier and give each result as it comes.

    Args:
        cells: What to run; those of one release run one after another.
        subjects: Their trees.
        options: How.
        stopped: Asked while waiting; once it is true the worker is ended and what is left is reported as not run.

    Raises:
        InputError: A cell's release or subset is not among the subjects.
    """
    chosen = options or Options()
    trees = {subject.release: subject for subject in subjects}
    by_release: dict[Release, list[Cell]] = defaultdict(list)
    for cell in cells:
        subject = trees.get(cell.release)
        if subject is None or (cell.patches and cell.patches not in subject.overlays):
            raise InputError(f"no tree was given for {cell.id}")
        by_release[cell.release].append(cell)
    for release, group in by_release.items():
        with tempfile.TemporaryDirectory(prefix="patchtool-cells-") as scratch:
            batches = [group] if chosen.fork else [[cell] for cell in group]
            for batch in batches:
                yield from _Worker(trees[release], Path(scratch), chosen, stopped or _never).run(batch)


class _Worker:
    """One worker process and the cells it is given."""

    def __init__(self, subject: Subject, scratch: Path, options: Options, stopped: Callable[[], bool]) -> None:
        self._subject = subject
        self._scratch = scratch
        self._options = options
        self._stopped = stopped

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

    def _ask(self, process: subprocess.Popen[bytes], question: Mapping[str, object]) -> dict[str, object]:
        """Send one line and read one; nothing when the worker is gone or silent."""
        if process.stdin is None or process.stdout is None:
            return {}
        try:
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
        except BrokenPipeError:
            return {}
        limit = self._options.import_timeout + self._options.timeout
        line = _read_line(process.stdout, limit, self._stopped)
        answer: dict[str, object] = json.loads(line) if line else {}
        return answer


def _never() -> bool:
    return False


def _read_line(stream: IO[bytes], seconds: float, stopped: Callable[[], bool]) -> bytes:
    import select

    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0 and not stopped():
        if select.select([stream], [], [], min(left, 0.2))[0]:
            return stream.readline()
    return b""


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

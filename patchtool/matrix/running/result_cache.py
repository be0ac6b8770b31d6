"""What cells said before, by everything that decides it: the tree, the test with the emulation, and the interpreter."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import patchtool
from patchtool.matrix.cell import CellResult, Outcome, Tier, Verdict

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping, Sequence

    from patchtool.domain.release import Release
    from patchtool.matrix.cell import Cell
    from patchtool.matrix.release_trees import ReleaseTrees
    from patchtool.matrix.running.executors import Executor
    from patchtool.matrix.running.fingerprint import Fingerprint
    from patchtool.matrix.verdict import CellVerdict

_PACKAGE = Path(patchtool.__file__).parent
_LAST = "last-run.json"


class ResultCache:
    """Results in a folder, one JSON file each. One that cannot be read is as good as none.

    Args:
        folder: Where they are kept.
        commits: Id of each release's pristine tree; a release without one is never found nor kept.
        environment: The cells' interpreter.
    """

    def __init__(self, folder: Path, commits: Mapping[Release, str], environment: Fingerprint) -> None:
        self._folder = folder
        self._commits = commits
        self._environment = environment

    def get(self, cell: Cell, subject: ReleaseTrees) -> CellResult | None:
        """What the cell said before, or None."""
        path = self._path(cell, subject)
        try:
            found = json.loads(path.read_bytes()) if path else {}
            outcome = Outcome(found["outcome"])
            return CellResult(cell, outcome, float(found["seconds"]), str(found["detail"]), dict(found["numbers"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, result: CellResult, subject: ReleaseTrees) -> None:
        """Keep a result, unless its cell could not run: that may be better next time."""
        path = self._path(result.cell, subject) if result.outcome.ran else None
        if path is not None:
            _write(
                path,
                {
                    "cell": result.cell.id,
                    "outcome": result.outcome.value,
                    "seconds": result.seconds,
                    "detail": result.detail,
                    "numbers": dict(result.numbers),
                },
            )

    def run(
        self, executor: Executor, cells: Sequence[Cell], subjects: Sequence[ReleaseTrees], *, fresh: bool = False
    ) -> Generator[CellResult, None, None]:
        """Give what is known, then run the rest and keep it.

        Args:
            executor: Runs cells.
            cells: What is wanted.
            subjects: Their trees.
            fresh: Run everything again.
        """
        trees = {subject.release: subject for subject in subjects}
        rest = []
        for cell in cells:
            known = None if fresh or cell.release not in trees else self.get(cell, trees[cell.release])
            if known is None:
                rest.append(cell)
            else:
                yield known
        if not rest:
            return
        with closing(executor.run(rest, subjects)) as results:
            for result in results:
                self.put(result, trees[result.cell.release])
                yield result

    def _path(self, cell: Cell, subject: ReleaseTrees) -> Path | None:
        commit = self._commits.get(cell.release)
        # what a real device says also depends on models, drivers and neighbours, which no digest here covers
        if not commit or cell.tier is Tier.NPU:
            return None
        overlay = subject.overlays.get(cell.patches, {})
        words = [
            cell.tier.value,
            tree_id(commit, overlay),
            _file_digest(Path(cell.test.path)),
            _emulation_digest(),
            cell.test.function,
            self._environment.digest,
        ]
        key = hashlib.sha256("\n".join(words).encode()).hexdigest()
        return self._folder / key[:2] / f"{key}.json"

    def remember(self, judged: Iterable[CellVerdict]) -> None:
        """Record which cells of this run were not as expected, for ``--rerun-failed``."""
        failed = sorted(each.result.cell.id for each in judged if each.verdict is not Verdict.AS_EXPECTED)
        _write(self._folder / _LAST, {"failed": failed})

    def last_failed(self) -> frozenset[str] | None:
        """Ids of the last run's cells that were not as expected, or None where no run is known."""
        try:
            return frozenset(map(str, json.loads((self._folder / _LAST).read_bytes())["failed"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None


def tree_id(commit: str, overlay: Mapping[str, bytes]) -> str:
    """Name a patched tree by its pristine commit and what lies over it."""
    digest = hashlib.sha256(commit.encode())
    for path, content in sorted(overlay.items()):
        digest.update(b"\n%s %s" % (path.encode(), hashlib.sha256(content).digest()))
    return digest.hexdigest()


@cache
def _emulation_digest() -> str:
    """Everything of the matrix that a cell's process runs."""
    digest = hashlib.sha256()
    folders = [(_PACKAGE / name).rglob("*.py") for name in ("emulation", "matrix/static", "matrix/suite")]
    for path in sorted([*(path for folder in folders for path in folder), _PACKAGE / "matrix/running/worker.py"]):
        digest.update(f"{path.relative_to(_PACKAGE).as_posix()} {_file_digest(path)}\n".encode())
    return digest.hexdigest()


def _file_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _write(path: Path, body: Mapping[str, Any]) -> None:
    """Write whole or not at all. A cache that cannot be written to is slower, no more."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".", suffix=".tmp", delete=False) as file:
            json.dump(body, file)
        os.replace(file.name, path)  # noqa: PTH105  as short as Path's

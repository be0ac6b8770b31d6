"""Results of earlier runs, cached by everything that decides them: tree, test, emulation and interpreter."""

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
_LAST_RUN = "last-run.json"


class ResultCache:
    """Results in a folder, one JSON file each; one that cannot be read counts as missing.

    Args:
        folder: The folder.
        commits: Commit of each release's pristine tree; results on other releases are not cached.
        environment: The cells' interpreter.
    """

    def __init__(self, folder: Path, commits: Mapping[Release, str], environment: Fingerprint) -> None:
        self._folder = folder
        self._commits = commits
        self._environment = environment
        self._lists: dict[str, tuple[str, ...]] = {}

    def get(self, cell: Cell, trees: ReleaseTrees) -> CellResult | None:
        """Return the cached result of a cell, or None."""
        path = self._path(cell, trees)
        try:
            entry = json.loads(path.read_bytes()) if path else {}
            outcome = Outcome(entry["outcome"])
            seconds, numbers, loaded = float(entry["seconds"]), dict(entry["numbers"]), self._loaded(entry["loaded"])
            return CellResult(cell, outcome, seconds, str(entry["detail"]), numbers, loaded)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, result: CellResult, trees: ReleaseTrees) -> None:
        """Cache a result, unless its cell could not run: the next run may succeed."""
        path = self._path(result.cell, trees) if result.outcome.ran else None
        if path is not None:
            entry = {
                "cell": result.cell.id,
                "outcome": result.outcome.value,
                "seconds": result.seconds,
                "detail": result.detail,
                "numbers": dict(result.numbers),
                "loaded": self._put_loaded(result.loaded),
            }
            _write(path, entry)

    def _put_loaded(self, paths: tuple[str, ...]) -> str:
        """Write a list of files, once for all cells that loaded the same ones; return its name."""
        name = hashlib.sha256("\n".join(paths).encode()).hexdigest()
        if not (file := self._list_file(name)).exists():
            _write(file, list(paths))
        self._lists[name] = paths
        return name

    def _loaded(self, name: str) -> tuple[str, ...]:
        if name not in self._lists:
            self._lists[name] = tuple(map(str, json.loads(self._list_file(name).read_bytes())))
        return self._lists[name]

    def _list_file(self, name: str) -> Path:
        return self._folder / "loaded" / name[:2] / f"{name}.json"

    def run(
        self, executor: Executor, cells: Sequence[Cell], trees: Sequence[ReleaseTrees], *, fresh: bool = False
    ) -> Generator[CellResult, None, None]:
        """Yield cached results, then run the other cells and cache theirs.

        Args:
            executor: Runs cells.
            cells: The cells.
            trees: The trees of their releases.
            fresh: Whether to ignore what is cached.
        """
        by_release = {each.release: each for each in trees}
        missing = []
        for cell in cells:
            cached = None if fresh or cell.release not in by_release else self.get(cell, by_release[cell.release])
            if cached is None:
                missing.append(cell)
            else:
                yield cached
        if not missing:
            return
        with closing(executor.run(missing, trees)) as results:
            for result in results:
                self.put(result, by_release[result.cell.release])
                yield result

    def _path(self, cell: Cell, trees: ReleaseTrees) -> Path | None:
        commit = self._commits.get(cell.release)
        # a measurement on an NPU also depends on models, drivers and other load, which no digest here includes
        if not commit or cell.tier is Tier.NPU:
            return None
        parts = [
            cell.tier.value,
            tree_id(commit, trees.overlays.get(cell.patches, {})),
            _file_digest(Path(cell.test.path)),
            _emulation_digest(),
            cell.test.function,
            self._environment.digest,
        ]
        key = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        return self._folder / key[:2] / f"{key}.json"

    def record_run(self, verdicts: Iterable[CellVerdict]) -> None:
        """Record which cells of this run were not as expected, for ``--rerun-failed``."""
        failed = sorted(each.result.cell.id for each in verdicts if each.verdict is not Verdict.AS_EXPECTED)
        _write(self._folder / _LAST_RUN, {"failed": failed})

    def last_failed(self) -> frozenset[str] | None:
        """Return ids of the last run's cells that were not as expected, or None when no run is recorded."""
        try:
            return frozenset(map(str, json.loads((self._folder / _LAST_RUN).read_bytes())["failed"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None


def tree_id(commit: str, overlay: Mapping[str, bytes]) -> str:
    """Identify a patched tree by its pristine commit and the content of its overlay."""
    digest = hashlib.sha256(commit.encode())
    for path, content in sorted(overlay.items()):
        digest.update(b"\n%s %s" % (path.encode(), hashlib.sha256(content).digest()))
    return digest.hexdigest()


@cache
def _emulation_digest() -> str:
    """Hash all code of this package that a cell runs."""
    digest = hashlib.sha256()
    folders = [(_PACKAGE / name).rglob("*.py") for name in ("emulation", "matrix/static", "matrix/suite")]
    for path in sorted([*(path for folder in folders for path in folder), _PACKAGE / "matrix/running/worker.py"]):
        digest.update(f"{path.relative_to(_PACKAGE).as_posix()} {_file_digest(path)}\n".encode())
    return digest.hexdigest()


def _file_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _write(path: Path, body: Mapping[str, Any] | Sequence[str]) -> None:
    """Write a file atomically; a cache that cannot be written to only costs time."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".", suffix=".tmp", delete=False) as file:
            json.dump(body, file)
        os.replace(file.name, path)  # noqa: PTH105  as short as Path's

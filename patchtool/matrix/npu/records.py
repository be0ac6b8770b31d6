"""Measurements that are kept: hours of work that a failure must not cost."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from patchtool.matrix.npu.accuracy import Score
from patchtool.matrix.npu.speed import SpeedResult

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from patchtool.matrix.npu.detect import Npu
    from patchtool.matrix.npu.served_group import ServedGroup
    from patchtool.matrix.release_trees import ReleaseTrees


@dataclass(frozen=True)
class TreeRecords:
    """The logs and results of one served tree, in a folder named by all that decides them.

    Args:
        folder: The folder.
        resume: Whether results of an earlier run count; otherwise they are removed.
    """

    folder: Path
    resume: bool

    def open(self) -> None:
        """Create the folder, without what must not be used."""
        if not self.resume and self.folder.exists():
            shutil.rmtree(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def run_folder(self, benchmark: str, run: int) -> Path:
        """Create an empty folder for the output of one run."""
        folder = self.folder / f"{benchmark}-{run}"
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir()
        return folder

    def get(self, benchmark: str, run: int) -> Score | SpeedResult | None:
        """Return the result of a run that an earlier one completed; one that cannot be read counts as missing."""
        try:
            entry = json.loads(self._result(benchmark, run).read_bytes()) if self.resume else {}
            return Score(**entry["score"]) if "score" in entry else SpeedResult(**entry["speed"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, benchmark: str, run: int, result: Score | SpeedResult) -> None:
        """Keep the result of a run; it appears whole or not at all."""
        name = "score" if isinstance(result, Score) else "speed"
        file = self._result(benchmark, run)
        temporary = file.with_suffix(".tmp")
        temporary.write_text(json.dumps({name: asdict(result)}))
        temporary.replace(file)

    def _result(self, benchmark: str, run: int) -> Path:
        return self.folder / f"{benchmark}-{run}.json"


def tree_records(
    group: ServedGroup, trees: ReleaseTrees, patches: Sequence[str], npu: Npu, scratch: Path
) -> TreeRecords:
    """Return the records of one tree of a group.

    Args:
        group: The group.
        trees: The release's trees.
        patches: The tree's subset.
        npu: The devices and the packages on this host.
        scratch: Where they are without a folder for measurements.
    """
    options = group.options
    files = trees.overlays.get(tuple(patches), {})
    parts: Mapping[str, Any] = {
        "release": str(trees.release),
        "tree": str(trees.tree),
        "files": {path: hashlib.sha256(content).hexdigest() for path, content in sorted(files.items())},
        "model": to_builtins(group.model),
        "path": group.model_path,
        "mode": group.mode.value,
        "commands": to_builtins(group.config.commands),
        "datasets": str(options.datasets or ""),
        "python": options.python,
        "npu": [npu.reason, sorted(npu.packages.items())],
    }
    key = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
    return TreeRecords((options.measurements or scratch) / key, options.resume)

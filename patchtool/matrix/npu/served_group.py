"""Cells of one served model and mode, which share its servers, and the commands that a run of them starts."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchtool.domain.toml import read_toml
from patchtool.matrix.cell import Cell, Mode
from patchtool.matrix.planning.matrix_file import Matrix
from patchtool.matrix.planning.served_models import MODE_FLAGS, Accuracy, ServedConfig, ServedModel, Speed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from patchtool.matrix.options import RunOptions

HOST = "127.0.0.1"
SHAREGPT = "ShareGPT_V3_unfiltered_cleaned_split.json"
"""The file that bench_serving cuts its prompts from, and downloads where it is not given."""


@dataclass(frozen=True)
class ServedGroup:
    """The cells of one model in one mode.

    Args:
        config: What all models share.
        model: The model.
        mode: The mode.
        cells: At least one.
        options: How to run them.
    """

    config: ServedConfig
    model: ServedModel
    mode: Mode
    cells: tuple[Cell, ...]
    options: RunOptions

    @property
    def before(self) -> tuple[str, ...]:
        """The subset that the others are compared with."""
        return self.cells[0].before

    @property
    def trees(self) -> tuple[tuple[str, ...], ...]:
        """The subsets to serve, each once; the one that others are compared with first."""
        subsets = tuple(dict.fromkeys(cell.patches for cell in self.cells))
        return tuple(dict.fromkeys((self.before, *subsets))) if set(subsets) != {self.before} else subsets

    @property
    def benchmarks(self) -> dict[str, Accuracy | Speed]:
        """What is measured of each tree, by name."""
        names = dict.fromkeys(benchmark_of(cell) for cell in self.cells)
        return {name: self.model.benchmarks[name] for name in names}

    @property
    def model_path(self) -> str:
        """What the server loads: the model's folder where there is one, or its name."""
        folder = _folder_of(self.model.model, self.options.models)
        return str(folder) if folder else self.model.model

    def server_command(self, port: str) -> list[str]:
        """Return the command that serves one tree."""
        command = [part.replace("{port}", port) for part in self._program(self.config.commands.server)]
        return [*command, "--model-path", self.model_path, *self.model.flags, *MODE_FLAGS[self.mode]]

    def benchmark_command(self, name: str, port: str, folder: str, run: int) -> list[str]:
        """Return the command of one run of a benchmark.

        Args:
            name: The benchmark.
            port: The server's.
            folder: For its output.
            run: Number of the run, from 1.
        """
        benchmark, commands = self.model.benchmarks[name], self.config.commands
        if isinstance(benchmark, Accuracy):
            options = _accuracy_options(benchmark, self.model_path, port, folder, self.options.datasets)
            return [*self._program(commands.evaluate), "eval", *_flat(options), "--no-timestamp"]
        options = _speed_options(benchmark, self.model_path, port, folder, run, self.options.datasets)
        return [*self._program(commands.speed), *_flat(options), "--disable-tqdm"]

    @property
    def offline(self) -> dict[str, str]:
        """Variables that keep clients from downloading what ``--datasets`` has."""
        return {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"} if self.options.datasets else {}

    def _program(self, command: Sequence[str]) -> list[str]:
        return [part.replace("{python}", self.options.python).replace("{host}", HOST) for part in command]


def served_groups(cells: Sequence[Cell], options: RunOptions) -> list[ServedGroup]:
    """Group cells of served models by model, mode and what they are compared with.

    Args:
        cells: Made by ``served_cells``.
        options: How to run them.
    """
    groups: dict[tuple[str, str, Mode, tuple[str, ...]], list[Cell]] = defaultdict(list)
    for cell in cells:
        name = cell.test.function.partition("::")[0]
        groups[cell.test.path, name, cell.test.mode or Mode.GRAPH, cell.before].append(cell)
    found = []
    for (path, name, mode, _), group in groups.items():
        config = config_of(path)
        (model,) = [model for model in config.models if model.name == name]
        found.append(ServedGroup(config, model, mode, tuple(group), options))
    return found


def config_of(path: str) -> ServedConfig:
    """Read the served models of a matrix file."""
    return read_toml(Path(path).read_bytes(), Path(path).name, Matrix).served


def benchmark_of(cell: Cell) -> str:
    """Return the name of the benchmark of a served cell."""
    return cell.test.function.partition("::")[2].rpartition("[")[0]


def dataset_path(dataset: str, datasets: Path) -> Path:
    """Return where ``--datasets`` has a dataset of evalscope."""
    return datasets / dataset


def _folder_of(model: str, models: Path | None) -> Path | None:
    """Find a model's folder, by its whole name or the last part of it."""
    candidates = [models / model, models / model.rpartition("/")[2]] if models else []
    return next((path for path in candidates if path.is_dir()), None)


def _accuracy_options(benchmark: Accuracy, model: str, port: str, folder: str, datasets: Path | None) -> dict[str, str]:
    """Options of evalscope; written for 1.14."""
    generation: dict[str, Any] = {
        "temperature": 0.0,
        "max_tokens": benchmark.max_tokens,
        "extra_body": {"chat_template_kwargs": {"enable_thinking": benchmark.thinking}},
    }
    local = {"local_path": str(dataset_path(benchmark.dataset, datasets))} if datasets else {}
    return {
        "--model": model,
        "--api-url": f"http://{HOST}:{port}/v1",
        "--api-key": "EMPTY",
        "--eval-type": "openai_api",
        "--datasets": benchmark.dataset,
        "--generation-config": json.dumps(generation),
        "--work-dir": folder,
        **({"--limit": str(benchmark.limit)} if benchmark.limit else {}),
        **({"--dataset-args": json.dumps({benchmark.dataset: local})} if local else {}),
    }


def _speed_options(
    benchmark: Speed, model: str, port: str, folder: str, run: int, datasets: Path | None
) -> dict[str, str]:
    """Options of ``bench_serving``; every run has prompts of its own, which the prefix cache does not have yet."""
    return {
        "--backend": "sglang",
        "--host": HOST,
        "--port": port,
        "--model": model,
        "--dataset-name": "random",
        "--random-range-ratio": "1",
        "--num-prompts": str(benchmark.prompts),
        "--random-input-len": str(benchmark.input_tokens),
        "--random-output-len": str(benchmark.output_tokens),
        "--max-concurrency": str(benchmark.concurrency),
        "--seed": str(run),
        "--output-file": str(Path(folder) / "speed.jsonl"),
        **({"--dataset-path": str(datasets / SHAREGPT)} if datasets else {}),
    }


def _flat(options: dict[str, str]) -> list[str]:
    return [text for option in options.items() for text in option]

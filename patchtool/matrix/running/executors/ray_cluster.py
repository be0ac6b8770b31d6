"""Running cells as tasks on a Ray cluster, whose nodes may be lost at any time."""

from __future__ import annotations

import logging
import os
import socket
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchtool.domain.errors import EnvironmentFault, InputError
from patchtool.matrix.cell import CellResult, Outcome, Tier
from patchtool.matrix.release_trees import trees_by_release
from patchtool.matrix.running.executors.settings import ExecutorSettings, cores, make_batches, resources
from patchtool.matrix.running.fingerprint import fingerprint

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from patchtool.matrix.cell import Cell
    from patchtool.matrix.release_trees import ReleaseTrees

TESTED_RAY = "2.60.0"
_CONNECT_TIMEOUT = 10.0


class RayExecutor:
    """Runs every batch as a task, on a running cluster or on one that is started for the run."""

    def __init__(self, settings: ExecutorSettings) -> None:
        self._settings = settings

    def run(self, cells: Sequence[Cell], trees: Sequence[ReleaseTrees]) -> Generator[CellResult, None, None]:
        """Run cells; see ``Executor``."""
        from patchtool.matrix.running.executors.pending_batches import PendingBatches

        by_release = trees_by_release(cells, trees)
        ray = _import_ray()
        settings = self._settings
        expected = settings.expected or fingerprint(settings.options.python)
        with _connection(ray, settings):
            kinds = {(cell.tier, cell.test.devices) for cell in cells}
            shortages = {kind: _shortage(ray, resources(*kind)) for kind in kinds}
            runnable = []
            for cell in cells:
                if reason := shortages[cell.tier, cell.test.devices]:
                    outcome = Outcome.SKIPPED if cell.tier is Tier.NPU else Outcome.ERROR
                    yield CellResult(cell, outcome, 0.0, reason)
                else:
                    runnable.append(cell)
            workers = settings.workers or int(ray.cluster_resources().get("CPU", 1))
            yield from PendingBatches(ray, settings, by_release, expected).results(make_batches(runnable, workers))


def _import_ray() -> Any:
    try:
        import ray
    except ModuleNotFoundError as error:
        hint = f"pip install 'ray=={TESTED_RAY}', or --executor local"
        raise EnvironmentFault("Ray is not installed here", hint=hint, cause=str(error)) from None
    return ray


@contextmanager
def _connection(ray: Any, settings: ExecutorSettings) -> Iterator[None]:
    """Connect to a cluster, unless the caller is connected already."""
    address = settings.address or "auto"
    if address.startswith("ray://"):
        raise InputError(
            f"{address} is a Ray client address, over which results cannot be streamed",
            hint="run on a node of the cluster with --address auto or HOST:PORT, for example as a Ray job",
        )
    if ray.is_initialized():
        yield
        return
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == "local":
        # a tool must not report usage statistics about its user
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        options |= {"num_cpus": settings.workers or cores(), "include_dashboard": False}
    try:
        _check_listening(address)
        ray.init(address=address, **options)
    except Exception as error:
        raise EnvironmentFault(
            f"no Ray cluster answers at {address}",
            hint="name one with --address HOST:PORT, or start one here with --address local",
            cause=str(error),
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _check_listening(address: str) -> None:
    """Connect once: Ray itself waits minutes for an address where nothing listens."""
    if address == "auto":
        file = Path(os.environ.get("RAY_TMPDIR", "/tmp")) / "ray" / "ray_current_cluster"  # noqa: S108  Ray's default
        address = os.environ.get("RAY_ADDRESS") or (file.read_text() if file.is_file() else "")
    host, colon, port = address.rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_TIMEOUT).close()


def _shortage(ray: Any, required: Mapping[str, float]) -> str:
    """Report the resource that no single node has enough of, for which Ray would silently wait for ever."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    for name, amount in required.items():
        if not any(node.get(name, 0) >= amount for node in nodes):
            return f"no node of the cluster has {amount:g} {name}"
    return ""

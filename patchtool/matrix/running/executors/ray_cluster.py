"""Running cells as tasks of a Ray cluster, its nodes' workers lost and all."""

from __future__ import annotations

import logging
import os
import socket
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchtool.domain.errors import EnvironmentFault, InputError
from patchtool.matrix.cell import Cell, CellResult, Outcome, Tier
from patchtool.matrix.running.executors.settings import ExecutorSettings, cores, needs, share_out, subjects_of
from patchtool.matrix.running.fingerprint import fingerprint

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from patchtool.matrix.release_trees import ReleaseTrees

TRIED = "2.60.0"
"""The version of Ray that this was run with."""
_KNOCK = 10.0


class RayExecutor:
    """Runs every batch as a task on a cluster that is there, or on one that is started for the run."""

    def __init__(self, settings: ExecutorSettings) -> None:
        self._settings = settings

    def run(self, cells: Sequence[Cell], subjects: Sequence[ReleaseTrees]) -> Generator[CellResult, None, None]:
        """Run cells; see ``Executor``."""
        from patchtool.matrix.running.executors.pending_batches import PendingBatches

        trees = subjects_of(cells, subjects)
        ray = _ray()
        settings = self._settings
        expected = settings.expected or fingerprint(settings.options.python)
        with _cluster(ray, settings):
            kinds = {(cell.tier, cell.test.devices) for cell in cells}
            lacking = {kind: _lacking(ray, needs(*kind)) for kind in kinds}
            able = []
            for cell in cells:
                if reason := lacking[cell.tier, cell.test.devices]:
                    yield _refused(cell, reason)
                else:
                    able.append(cell)
            workers = settings.workers or int(ray.cluster_resources().get("CPU", 1))
            flights = PendingBatches(ray, settings, trees, expected)
            yield from flights.results(share_out(able, workers))


def _ray() -> Any:
    try:
        import ray
    except ModuleNotFoundError as error:
        raise EnvironmentFault(
            "Ray is not installed here", hint=f"pip install 'ray=={TRIED}', or --executor local", cause=str(error)
        ) from None
    return ray


@contextmanager
def _cluster(ray: Any, settings: ExecutorSettings) -> Iterator[None]:
    """Be connected to a cluster meanwhile."""
    address = settings.address or "auto"
    if address.startswith("ray://"):
        raise InputError(
            f"{address} is a client's address, and results do not stream over it",
            hint="run on a node of the cluster with --address auto or HOST:PORT, for example as a Ray job",
        )
    if ray.is_initialized():
        yield  # the caller's connection stays the caller's
        return
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address == "local":
        # a tool does not report its user's cluster to anyone
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        options |= {"num_cpus": settings.workers or cores(), "include_dashboard": False}
    try:
        _knock(address)
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


def _knock(address: str) -> None:
    """See that somebody listens: Ray itself waits minutes for an address where nobody does."""
    if address == "auto":
        noted = Path(os.environ.get("RAY_TMPDIR", "/tmp")) / "ray" / "ray_current_cluster"  # noqa: S108  Ray's own place
        address = os.environ.get("RAY_ADDRESS") or (noted.read_text() if noted.is_file() else "")
    host, colon, port = address.rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_KNOCK).close()


def _lacking(ray: Any, wanted: Mapping[str, float]) -> str:
    """Which resource no living node has enough of: Ray would let such a request wait without a word.

    A batch runs on one node, so what the cluster has in all does not tell.
    """
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    for name, amount in wanted.items():
        if not any(node.get(name, 0) >= amount for node in nodes):
            return f"no node of the cluster has {amount:g} {name}"
    return ""


def _refused(cell: Cell, reason: str) -> CellResult:
    outcome = Outcome.SKIPPED if cell.tier is Tier.NPU else Outcome.ERROR
    return CellResult(cell, outcome, 0.0, reason)

"""Batches under way on a cluster: started, listened to, and started again when their worker is lost."""

from __future__ import annotations

import pickle
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchtool.matrix.cell import Cell, CellResult, Outcome, Tier
from patchtool.matrix.running.executors import node
from patchtool.matrix.running.executors.bundle import Bundle, pack_code, pack_tree
from patchtool.matrix.running.executors.remote import Payload

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from patchtool.domain.release import Release
    from patchtool.matrix.options import RunOptions
    from patchtool.matrix.release_trees import ReleaseTrees
    from patchtool.matrix.running.executors.settings import Batch, ExecutorSettings
    from patchtool.matrix.running.fingerprint import Fingerprint

_TICK = 0.5
_GRACE = 30.0
_CANCEL = 5.0
_HOPELESS = 2
_SERVED = 24 * 3600.0


@dataclass
class _Flight:
    """A batch on a worker.

    Args:
        batch: What is left to be answered when it starts.
        left: What is still to be answered.
        given_up: Cells given up one after another, without an answer between.
        begun: Whether its task has said that it runs.
        heard: When it last said anything.
    """

    batch: Batch
    left: dict[str, Cell]
    given_up: int = 0
    begun: bool = False
    heard: float = field(default_factory=time.monotonic)


class PendingBatches:
    """Every batch of a run.

    Args:
        ray: The module, connected.
        settings: How to run.
        trees: Subjects by release.
        expected: What the nodes' interpreters must look like.
    """

    def __init__(
        self, ray: Any, settings: ExecutorSettings, trees: Mapping[Release, ReleaseTrees], expected: Fingerprint
    ) -> None:
        self._ray = ray
        self._settings = settings
        self._trees = trees
        self._expected = expected
        self._flights: dict[Any, _Flight] = {}
        self._losses: Counter[str] = Counter()
        self._sent: dict[Path, tuple[str, Any]] = {}
        self._code: tuple[str, Any] = ("", None)
        # by value: the nodes need not have us installed
        ray.cloudpickle.register_pickle_by_value(node)
        self._serve = ray.remote(node.serve)

    def results(self, batches: Sequence[Batch]) -> Iterator[CellResult]:
        """Run batches and give each cell's result as it comes; what still runs ends with the iterator."""
        tests = sorted({Path(cell.test.path) for batch in batches for cell in batch.cells})
        self._code = self._send(pack_code(tests))
        try:
            for batch in batches:
                self._start(_Flight(batch, {cell.id: cell for cell in batch.cells}))
            while self._flights:
                ready, _ = self._ray.wait(list(self._flights), num_returns=1, timeout=_TICK)
                for each in ready:
                    yield from self._listen(each)
                yield from self._silent()
        finally:
            self._cancel(list(self._flights))

    def _send(self, archive: Bundle) -> tuple[str, Any]:
        # in a tuple Ray does not resolve the reference: a node that has the archive unpacked need not fetch it
        return archive.digest, self._ray.put(archive.data)

    def _start(self, flight: _Flight) -> None:
        batch = replace(flight.batch, cells=tuple(flight.left.values()))
        subject = self._trees[batch.release]
        if subject.tree not in self._sent:
            self._sent[subject.tree] = self._send(pack_tree(subject.tree))
        payload = Payload(batch, subject, self._settings.options, self._settings.node_python, self._expected)
        needs = batch.needs
        task = self._serve.options(
            num_cpus=needs.pop("CPU", 0),
            resources=needs,
            # what was answered must not be answered again, so we start the rest again ourselves
            max_retries=0,
            num_returns="streaming",
            scheduling_strategy="SPREAD",
            name=f"patchtool {batch.release} {batch.tier.value}",
        )
        reference = task.remote(self._code, self._sent[subject.tree], pickle.dumps(payload), self._settings.node_cache)
        self._flights[reference] = flight

    def _listen(self, reference: Any) -> Iterator[CellResult]:
        flight = self._flights[reference]
        try:
            said = self._ray.get(next(reference))
        except StopIteration:
            del self._flights[reference]
            if flight.left:
                yield from self._lost(flight, "its worker ended early")
            return
        except self._ray.exceptions.RayError as error:
            del self._flights[reference]
            yield from self._lost(flight, _words(error))
            return
        flight.begun, flight.heard = True, time.monotonic()
        if said != node.HELLO:
            result: CellResult = pickle.loads(said)  # noqa: S301  our own, see remote.py
            if flight.left.pop(result.cell.id, None) is not None:
                flight.given_up = 0
                yield result

    def _silent(self) -> Iterator[CellResult]:
        """Give up what says nothing for longer than a cell can take, and what no worker takes."""
        now = time.monotonic()
        options = self._settings.options
        running = [each for each in self._flights.values() if each.begun]
        lately = max((each.heard for each in self._flights.values()), default=now)
        for reference, flight in list(self._flights.items()):
            limit = _longest(flight, options) + _GRACE
            if flight.begun and now - flight.heard > limit:
                self._cancel([reference])
                del self._flights[reference]
                yield from self._lost(flight, f"its worker said nothing for {limit:g} s")
            elif not flight.begun and not running and now - lately > self._settings.start_timeout:
                self._cancel([reference])
                del self._flights[reference]
                reason = f"no worker of the cluster took it within {self._settings.start_timeout:g} s"
                yield from (CellResult(cell, Outcome.ERROR, 0.0, reason) for cell in flight.left.values())

    def _lost(self, flight: _Flight, reason: str) -> Iterator[CellResult]:
        """Start what is left again; the cell that was running then is given up when that happened too often."""
        first = next(iter(flight.left))
        self._losses[first] += 1
        times = self._losses[first]
        given_up = flight.given_up
        if times > self._settings.retries:
            given_up += 1
            # where nothing is ever answered the fault is not the cells'
            gone = [first] if given_up < _HOPELESS else list(flight.left)
            for each in gone:
                detail = f"started {times} times, and each time lost: {reason}" if each == first else f"lost: {reason}"
                yield CellResult(flight.left.pop(each), Outcome.ERROR, 0.0, detail)
        if flight.left:
            self._start(_Flight(flight.batch, flight.left, given_up))

    def _cancel(self, references: Sequence[Any]) -> None:
        """End tasks: first so that they can end their own children, then by force."""
        for force in (False, True):
            for each in references:
                self._ray.cancel(each, force=force)
            if not references or force:
                return
            ends = [each.completed() for each in references]
            self._ray.wait(ends, num_returns=len(ends), timeout=_CANCEL)


def _longest(flight: _Flight, options: RunOptions) -> float:
    """Seconds until a running batch must have said something; servers say nothing until all of a row is measured."""
    seconds = [cell.timeout or options.timeout for cell in flight.left.values()] or [options.timeout]
    if flight.batch.tier is Tier.NPU:
        return _SERVED + 2 * sum(seconds)
    return options.import_timeout + max(seconds)


def _words(error: Exception) -> str:
    """Ray's errors are pages long; what happened is in the first lines."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines[:2])[:300]}"

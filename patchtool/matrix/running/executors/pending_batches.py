"""The batches of a run on a cluster: started, monitored, and started again when their worker is lost."""

from __future__ import annotations

import pickle
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patchtool.matrix.cell import Cell, CellResult, Outcome, Tier
from patchtool.matrix.planning.served_models import MOST_RUNS
from patchtool.matrix.running.executors import node
from patchtool.matrix.running.executors.bundle import Bundle, pack_code, pack_tree
from patchtool.matrix.running.executors.remote import Payload
from patchtool.matrix.running.own_time import SLOWEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from patchtool.domain.release import Release
    from patchtool.matrix.options import RunOptions
    from patchtool.matrix.release_trees import ReleaseTrees
    from patchtool.matrix.running.executors.settings import Batch, ExecutorSettings
    from patchtool.matrix.running.fingerprint import Fingerprint

_POLL = 0.5
_GRACE = 30.0
_CANCEL_TIMEOUT = 5.0
_MAX_LOSSES_IN_A_ROW = 2
"""Cells given up one after another, without a result between, after which the whole batch is given up."""
_SERVED_ROW = 24 * 3600.0
"""Seconds for a row of served models beside its measurements: servers start, and nothing is reported until the end."""


@dataclass
class _PendingBatch:
    """A batch and its progress.

    Args:
        batch: The batch.
        left: Cells without a result.
        given_up: Cells given up one after another, without a result between.
        started: Whether its task has reported that it runs.
        last_message: When its task last reported anything.
    """

    batch: Batch
    left: dict[str, Cell]
    given_up: int = 0
    started: bool = False
    last_message: float = field(default_factory=time.monotonic)


class PendingBatches:
    """All batches of a run.

    Args:
        ray: The module, connected.
        settings: How to run.
        trees: Trees by release.
        expected: What the nodes' interpreters must be.
    """

    def __init__(
        self, ray: Any, settings: ExecutorSettings, trees: Mapping[Release, ReleaseTrees], expected: Fingerprint
    ) -> None:
        self._ray = ray
        self._settings = settings
        self._trees = trees
        self._expected = expected
        self._pending: dict[Any, _PendingBatch] = {}
        self._losses: Counter[str] = Counter()
        self._uploaded: dict[Path, tuple[str, Any]] = {}
        self._code: tuple[str, Any] = ("", None)
        # by value, because the nodes need not have patchtool installed
        ray.cloudpickle.register_pickle_by_value(node)
        self._task = ray.remote(node.run_batch)

    def results(self, batches: Sequence[Batch]) -> Iterator[CellResult]:
        """Run batches and yield each cell's result; closing the iterator cancels what still runs."""
        tests = sorted({Path(cell.test.path) for batch in batches for cell in batch.cells})
        self._code = self._upload(pack_code(tests))
        try:
            for batch in batches:
                self._start(_PendingBatch(batch, {cell.id: cell for cell in batch.cells}))
            while self._pending:
                ready, _ = self._ray.wait(list(self._pending), num_returns=1, timeout=_POLL)
                for reference in ready:
                    yield from self._receive(reference)
                yield from self._give_up_silent()
        finally:
            self._cancel(list(self._pending))

    def _upload(self, bundle: Bundle) -> tuple[str, Any]:
        # Ray does not resolve a reference in a tuple, so a node that has the bundle unpacked need not fetch it
        return bundle.digest, self._ray.put(bundle.data)

    def _start(self, pending: _PendingBatch) -> None:
        batch = replace(pending.batch, cells=tuple(pending.left.values()))
        trees = self._trees[batch.release]
        if trees.tree not in self._uploaded:
            self._uploaded[trees.tree] = self._upload(pack_tree(trees.tree, trees.package.name))
        payload = Payload(batch, trees, self._settings.options, self._settings.node_python, self._expected)
        resources = batch.resources
        task = self._task.options(
            num_cpus=resources.pop("CPU", 0),
            resources=resources,
            # Ray would run cells again that have a result; only the others must be retried, which `_lost` does
            max_retries=0,
            num_returns="streaming",
            scheduling_strategy="SPREAD",
            name=f"patchtool {batch.release} {batch.tier.value}",
        )
        tree = self._uploaded[trees.tree]
        reference = task.remote(self._code, tree, pickle.dumps(payload), self._settings.node_cache)
        self._pending[reference] = pending

    def _receive(self, reference: Any) -> Iterator[CellResult]:
        pending = self._pending[reference]
        try:
            message = self._ray.get(next(reference))
        except StopIteration:
            del self._pending[reference]
            if pending.left:
                yield from self._lost(pending, "its worker ended early")
            return
        except self._ray.exceptions.RayError as error:
            del self._pending[reference]
            yield from self._lost(pending, _summary(error))
            return
        pending.started, pending.last_message = True, time.monotonic()
        if message != node.STARTED:
            result: CellResult = pickle.loads(message)  # noqa: S301  our own, see remote.py
            if pending.left.pop(result.cell.id, None) is not None:
                pending.given_up = 0
                yield result

    def _give_up_silent(self) -> Iterator[CellResult]:
        """Give up batches that report nothing for longer than a cell can take, and those that no worker starts."""
        now = time.monotonic()
        any_started = any(pending.started for pending in self._pending.values())
        latest = max((pending.last_message for pending in self._pending.values()), default=now)
        for reference, pending in list(self._pending.items()):
            limit = _longest_silence(pending, self._settings.options) + _GRACE
            if pending.started and now - pending.last_message > limit:
                self._cancel([reference])
                del self._pending[reference]
                yield from self._lost(pending, f"its worker reported nothing for {limit:g} s")
            elif not pending.started and not any_started and now - latest > self._settings.start_timeout:
                self._cancel([reference])
                del self._pending[reference]
                reason = f"no worker of the cluster started it within {self._settings.start_timeout:g} s"
                yield from (CellResult(cell, Outcome.ERROR, 0.0, reason) for cell in pending.left.values())

    def _lost(self, pending: _PendingBatch, reason: str) -> Iterator[CellResult]:
        """Start the remaining cells again; give up the first, which was running, when that happened too often."""
        running = next(iter(pending.left))
        self._losses[running] += 1
        losses, given_up = self._losses[running], pending.given_up
        if losses > self._settings.retries:
            given_up += 1
            # when no cell ever has a result, the cells are not the cause
            for cell_id in [running] if given_up < _MAX_LOSSES_IN_A_ROW else list(pending.left):
                lost = f"started {losses} times, and lost each time" if cell_id == running else "lost"
                yield CellResult(pending.left.pop(cell_id), Outcome.ERROR, 0.0, f"{lost}: {reason}")
        if pending.left:
            self._start(_PendingBatch(pending.batch, pending.left, given_up))

    def _cancel(self, references: Sequence[Any]) -> None:
        """Cancel tasks: first so that they can end their own children, then by force."""
        for force in (False, True):
            for reference in references:
                self._ray.cancel(reference, force=force)
            if not references or force:
                return
            ends = [reference.completed() for reference in references]
            self._ray.wait(ends, num_returns=len(ends), timeout=_CANCEL_TIMEOUT)


def _longest_silence(pending: _PendingBatch, options: RunOptions) -> float:
    """Seconds until a running batch must have reported something."""
    timeouts = [cell.timeout or options.timeout for cell in pending.left.values()] or [options.timeout]
    if pending.batch.tier is Tier.NPU:
        return _SERVED_ROW + 2 * MOST_RUNS * sum(timeouts)
    # the node's own limits leave out what a process waits for a CPU, and end it only after so many times as long
    return SLOWEST * (options.import_timeout + max(timeouts))


def _summary(error: Exception) -> str:
    """Shorten an error of Ray, of which the first lines tell what happened."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines[:2])[:300]}"

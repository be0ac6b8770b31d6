"""Requests to a Scheduler, and their results, without its sockets."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from patchtool.emulation.upstream import UnsupportedReleaseError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_MAX_ITERATIONS = 500
"""Limit on iterations of the event loop, so that a Scheduler that never finishes is an error."""


class AllFinished(Exception):
    """All submitted requests are finished; ends the event loop."""


class RequestQueue:
    """Replaces a Scheduler's sockets.

    Args:
        scheduler: The release's own Scheduler, before its event loop runs.

    Attributes:
        requests: Every request that was in a batch, by name, in the release's own class.
        running: The requests of the current batch, in its order.

    Raises:
        UnsupportedReleaseError: The Scheduler receives requests in an unknown way.
    """

    def __init__(self, scheduler: Any) -> None:
        self.requests: dict[str, Any] = {}
        self.running: Sequence[Any] = ()
        self._messages: list[tuple[int, Any]] = []
        self._names: Collection[str] = ()
        self._scheduler = scheduler
        self._iterations = 0
        if not hasattr(scheduler, "event_loop_normal"):
            raise UnsupportedReleaseError("its Scheduler has no event_loop_normal")
        if hasattr(scheduler, "recv_requests"):
            scheduler.recv_requests = self._receive
        elif hasattr(getattr(scheduler, "request_receiver", None), "recv_requests"):
            scheduler.request_receiver = types.SimpleNamespace(recv_requests=self._receive)
        else:
            raise UnsupportedReleaseError("its Scheduler has neither recv_requests nor a request_receiver")
        self._original_run_batch = scheduler.run_batch
        scheduler.run_batch = self._run_batch
        discard = types.SimpleNamespace(send_output=_no_op, send_pyobj=_no_op)
        scheduler.send_to_detokenizer = scheduler.send_to_tokenizer = discard

    def submit(self, messages: Sequence[tuple[int, Any]], names: Collection[str]) -> None:
        """Queue messages for the event loop.

        Args:
            messages: Each in the form in which the tokenizer's process sends it, with the iteration of the event loop
                in which it arrives, from 1.
            names: The requests that must be finished at the end.
        """
        self._messages, self._names, self._iterations = list(messages), names, 0

    def _receive(self, *_: object, **__: object) -> list[Any]:
        """Return the messages that arrive in this iteration.

        Raises:
            AllFinished: All requests are finished, and no batch is in flight.
            RuntimeError: The limit on iterations is reached.
        """
        if not self._messages and self._scheduler.last_batch is None and all(map(self._is_finished, self._names)):
            raise AllFinished
        self._iterations += 1
        if self._iterations > _MAX_ITERATIONS:
            left = ", ".join(name for name in self._names if not self._is_finished(name))
            raise RuntimeError(f"the Scheduler did not finish within {_MAX_ITERATIONS} iterations: {left}")
        arrived = [message for iteration, message in self._messages if iteration <= self._iterations]
        self._messages = [each for each in self._messages if each[0] > self._iterations]
        return arrived

    def _is_finished(self, name: str) -> bool:
        return name in self.requests and bool(self.requests[name].finished())

    def _run_batch(self, batch: Any, *args: Any, **kwargs: Any) -> Any:
        self.running = batch.reqs
        self.requests |= {request.rid: request for request in batch.reqs}
        return self._original_run_batch(batch, *args, **kwargs)


def _no_op(*_: object, **__: object) -> None: ...

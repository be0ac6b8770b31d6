"""Requests to a Scheduler, and their results, without its sockets."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from patchtool.emulation.upstream import UnsupportedReleaseError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

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
        self._arrivals: list[Any] = []
        self._names: Collection[str] = ()
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

    def submit(self, requests: Mapping[str, Any]) -> None:
        """Queue requests for the event loop.

        Args:
            requests: By name, in the form in which the tokenizer's process sends them.
        """
        self._arrivals, self._names, self._iterations = list(requests.values()), requests.keys(), 0

    def _receive(self, *_: object, **__: object) -> list[Any]:
        """Return the requests that were submitted since the last iteration.

        Raises:
            AllFinished: All requests are finished.
            RuntimeError: The limit on iterations is reached.
        """
        if all(name in self.requests and self.requests[name].finished() for name in self._names):
            raise AllFinished
        self._iterations += 1
        if self._iterations > _MAX_ITERATIONS:
            raise RuntimeError(f"the Scheduler did not finish within {_MAX_ITERATIONS} iterations")
        arrivals, self._arrivals = self._arrivals, []
        return arrivals

    def _run_batch(self, batch: Any, *args: Any, **kwargs: Any) -> Any:
        self.running = batch.reqs
        self.requests |= {request.rid: request for request in batch.reqs}
        return self._original_run_batch(batch, *args, **kwargs)


def _no_op(*_: object, **__: object) -> None: ...

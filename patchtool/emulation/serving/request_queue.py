"""Where requests enter a Scheduler and where they are seen again, in the place of its sockets."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from patchtool.emulation.upstream import UnsupportedReleaseError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_ROUNDS = 500
"""More rounds of the loop than any run here takes."""


class AllFinished(Exception):
    """Every request has its tokens."""


class RequestQueue:
    """Takes the place of a Scheduler's sockets.

    Args:
        scheduler: The release's own, before its loop runs.

    Attributes:
        requests: Every request that was in a batch, by name, in the release's own class.
        running: Those of the batch at work, in its order.

    Raises:
        UnsupportedReleaseError: The Scheduler takes requests in a way that is not understood.
    """

    def __init__(self, scheduler: Any) -> None:
        self.requests: dict[str, Any] = {}
        self.running: Sequence[Any] = ()
        self._arrivals: list[Any] = []
        self._wanted: Collection[str] = ()
        self._rounds = 0
        if not hasattr(scheduler, "event_loop_normal"):
            raise UnsupportedReleaseError("its Scheduler has no event_loop_normal")
        if hasattr(scheduler, "recv_requests"):
            scheduler.recv_requests = self._receive
        elif hasattr(getattr(scheduler, "request_receiver", None), "recv_requests"):
            scheduler.request_receiver = types.SimpleNamespace(recv_requests=self._receive)
        else:
            raise UnsupportedReleaseError(
                "its Scheduler takes requests neither from recv_requests nor a request_receiver"
            )
        self._run = scheduler.run_batch
        scheduler.run_batch = self._watch
        nowhere = types.SimpleNamespace(send_output=_nothing, send_pyobj=_nothing)
        scheduler.send_to_detokenizer = scheduler.send_to_tokenizer = nowhere

    def open(self, arrivals: Sequence[Any], wanted: Collection[str]) -> None:
        """Hold requests ready for the loop.

        Args:
            arrivals: As the tokenizer's process would send them.
            wanted: Their names.
        """
        self._arrivals, self._wanted, self._rounds = list(arrivals), wanted, 0

    def _receive(self, *_: object, **__: object) -> list[Any]:
        """What came in since the last round.

        Raises:
            AllFinished: All that was wanted is done.
            RuntimeError: It takes too many rounds.
        """
        if all(name in self.requests and self.requests[name].finished() for name in self._wanted):
            raise AllFinished
        self._rounds += 1
        if self._rounds > _ROUNDS:
            raise RuntimeError(f"the Scheduler did not finish within {_ROUNDS} rounds")
        arrivals, self._arrivals = self._arrivals, []
        return arrivals

    def _watch(self, batch: Any, *args: Any, **kwargs: Any) -> Any:
        self.running = batch.reqs
        self.requests |= {request.rid: request for request in batch.reqs}
        return self._run(batch, *args, **kwargs)


def _nothing(*_: object, **__: object) -> None: ...

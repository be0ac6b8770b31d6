"""Graphs as a release's graph runner captures and replays them."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from patchtool.emulation.host_syncs import HostSyncs
from patchtool.emulation.kernels.attention import host_inputs
from patchtool.emulation.recording import Recording
from patchtool.emulation.testing import MismatchError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_SECONDS = 30.0
"""Time limit for the thread that updates the host values."""


class ReplayedGraph:
    """A graph whose replay reads the memory that was captured, and host values from ``update`` only.

    Attributes:
        recording: What was captured.
        replays: Number of replays of all graphs.
    """

    replays = 0

    def __init__(self) -> None:
        self.recording = Recording()
        self._updated = threading.Event()
        self._inputs: Mapping[str, Any] = {}

    def update(self, cpu_update_input: Sequence[Mapping[str, Any]]) -> None:
        """Set the host values for the next replay; upstream calls this from another thread."""
        self._inputs = cpu_update_input[0]
        self._updated.set()

    def replay(self) -> None:
        """Compute what was captured once more, with the result in the memory of the first.

        Raises:
            RuntimeError: Nothing was captured, or the host values were not updated.
        """
        if not self._updated.wait(_SECONDS):
            raise RuntimeError("a graph was replayed without host values")
        self._updated.clear()
        ReplayedGraph.replays += 1
        with host_inputs(self._inputs):
            self.recording.replay()


@contextmanager
def capture(graph: ReplayedGraph, **_: object) -> Iterator[None]:
    """``with torch.npu.graph(graph, …):`` captures what is computed in the block.

    Args:
        graph: The graph to capture into.

    Raises:
        MismatchError: The host would wait for the device, which the device forbids during a capture.
    """
    graph.recording, syncs = Recording(), HostSyncs()
    with syncs, graph.recording:
        yield
    if syncs.calls:
        raise MismatchError(f"the host waits for the device while a graph is captured: {dict(syncs.calls)}")

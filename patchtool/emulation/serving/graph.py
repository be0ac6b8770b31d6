"""Graphs that replay by running the captured closure again, on the static buffers that it captured."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

import torch

from patchtool.emulation.kernels.attention import host_inputs
from patchtool.emulation.upstream import UnsupportedReleaseError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import FrameType

_CLOSURES = ("run_once_fn", "forward_fn")
_OUTPUT = "out"
"""What the releases' runners call the closure that they capture and its output."""
_SECONDS = 30.0
"""What the thread that brings the host's values may take."""


class ReplayedGraph:
    """A graph: tensors are read again from where they were, host values only as far as ``update`` brings them.

    Attributes:
        replays: How often any graph was replayed.
    """

    replays = 0

    def __init__(self) -> None:
        self._arrived = threading.Event()
        self._inputs: Mapping[str, Any] = {}
        self._closure: Callable[[], Any] | None = None
        self._output: Any = None

    def hold(self, closure: Callable[[], Any], output: Any) -> None:
        """Remember what was captured."""
        self._closure, self._output = closure, output

    def update(self, cpu_update_input: Sequence[Mapping[str, Any]]) -> None:
        """Bring host values for the next replay; upstream calls this from a thread of its own."""
        self._inputs = cpu_update_input[0]
        self._arrived.set()

    def replay(self) -> None:
        """Run the closure again and write what comes out over the captured output.

        Raises:
            RuntimeError: Nothing was captured, or the host's values did not come.
        """
        if self._closure is None or not self._arrived.wait(_SECONDS):
            raise RuntimeError("a graph was replayed without a capture or without its host values")
        self._arrived.clear()
        ReplayedGraph.replays += 1
        with torch.no_grad(), host_inputs(self._inputs):
            new = self._closure()
        for name, old in vars(self._output).items():
            if isinstance(old, torch.Tensor):
                old.copy_(getattr(new, name))


class Capture:
    """``with torch.npu.graph(graph, …): out = closure()``; the closure has a name only in the caller's frame.

    Args:
        graph: What is captured into.
    """

    def __init__(self, graph: ReplayedGraph, **_: object) -> None:
        self._graph = graph
        self._caller: FrameType | None = None

    def __enter__(self) -> None:
        self._caller = sys._getframe(1)  # noqa: SLF001

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self._caller is not None:
            seen = self._caller.f_locals
            closure = next((seen[name] for name in _CLOSURES if callable(seen.get(name))), None)
            if closure is None or _OUTPUT not in seen:
                code = self._caller.f_code
                raise UnsupportedReleaseError(
                    f"{code.co_name} names neither {' nor '.join(_CLOSURES)}: what it captures is not understood"
                )
            self._graph.hold(closure, seen[_OUTPUT])
        self._caller = None

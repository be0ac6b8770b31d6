"""Graphs that replay by calling the captured closure again, on the static buffers that it refers to."""

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
"""Local names of the captured closure and of its output in the releases' graph runners."""
_SECONDS = 30.0
"""Time limit for the thread that updates the host values."""


class ReplayedGraph:
    """A graph whose replay reads tensors from their static buffers, and host values from ``update`` only.

    Attributes:
        replays: Number of replays of all graphs.
    """

    replays = 0

    def __init__(self) -> None:
        self._updated = threading.Event()
        self._inputs: Mapping[str, Any] = {}
        self._closure: Callable[[], Any] | None = None
        self._output: Any = None

    def capture(self, closure: Callable[[], Any], output: Any) -> None:
        """Set the closure to replay and its static output."""
        self._closure, self._output = closure, output

    def update(self, cpu_update_input: Sequence[Mapping[str, Any]]) -> None:
        """Set the host values for the next replay; upstream calls this from another thread."""
        self._inputs = cpu_update_input[0]
        self._updated.set()

    def replay(self) -> None:
        """Call the closure again and copy its result into the captured output.

        Raises:
            RuntimeError: Nothing was captured, or the host values were not updated.
        """
        if self._closure is None or not self._updated.wait(_SECONDS):
            raise RuntimeError("a graph was replayed without a capture or without host values")
        self._updated.clear()
        ReplayedGraph.replays += 1
        with torch.no_grad(), host_inputs(self._inputs):
            new = self._closure()
        for name, old in vars(self._output).items():
            if isinstance(old, torch.Tensor):
                old.copy_(getattr(new, name))


class Capture:
    """``with torch.npu.graph(graph, …): out = closure()``; the closure is found in the caller's local variables.

    Args:
        graph: The graph to capture into.
    """

    def __init__(self, graph: ReplayedGraph, **_: object) -> None:
        self._graph = graph
        self._caller: FrameType | None = None

    def __enter__(self) -> None:
        self._caller = sys._getframe(1)  # noqa: SLF001

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self._caller is not None:
            variables = self._caller.f_locals
            closure = next((variables[name] for name in _CLOSURES if callable(variables.get(name))), None)
            if closure is None or _OUTPUT not in variables:
                code = self._caller.f_code
                raise UnsupportedReleaseError(f"{code.co_name} has neither {' nor '.join(_CLOSURES)} to capture")
            self._graph.capture(closure, variables[_OUTPUT])
        self._caller = None

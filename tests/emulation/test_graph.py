"""Graphs that replay a closure, captured in the way of the releases' graph runners."""

from types import SimpleNamespace
from typing import Any

import pytest

pytestmark = pytest.mark.emulated
torch = pytest.importorskip("torch")

from patchtool.emulation.serving.graph import Capture, ReplayedGraph  # noqa: E402
from patchtool.emulation.upstream import UnsupportedReleaseError  # noqa: E402


def captured(closure: Any) -> tuple[ReplayedGraph, Any]:
    graph = ReplayedGraph()
    run_once_fn = closure
    with Capture(graph, pool=None, stream=None):
        out = run_once_fn()
    return graph, out


def test_replay_reads_static_buffers_and_writes_static_output() -> None:
    buffer = torch.tensor([1.0])
    graph, out = captured(lambda: SimpleNamespace(logits=buffer * 2, nothing=None))
    logits = out.logits
    buffer.fill_(21)
    graph.update(cpu_update_input=[{}])
    graph.replay()
    assert out.logits is logits
    assert logits.tolist() == [42]


def test_replay_without_capture_raises() -> None:
    graph = ReplayedGraph()
    graph.update(cpu_update_input=[{}])
    with pytest.raises(RuntimeError, match="without a capture"):
        graph.replay()


def test_capture_without_known_closure_names_the_function() -> None:
    def other_runner() -> None:
        with Capture(ReplayedGraph()):
            pass

    with pytest.raises(UnsupportedReleaseError, match="other_runner has neither run_once_fn nor forward_fn"):
        other_runner()


def test_error_inside_capture_propagates() -> None:
    def broken() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        captured(broken)

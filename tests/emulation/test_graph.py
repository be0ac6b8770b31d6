"""Graphs that replay a closure, captured as the releases' runners capture it."""

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


def test_a_replay_reads_the_static_buffers_and_writes_the_static_output() -> None:
    buffer = torch.tensor([1.0])
    graph, out = captured(lambda: SimpleNamespace(logits=buffer * 2, nothing=None))
    kept = out.logits
    buffer.fill_(21)
    graph.update(cpu_update_input=[{}])
    graph.replay()
    assert out.logits is kept
    assert kept.tolist() == [42]


def test_a_replay_without_a_capture_is_refused() -> None:
    graph = ReplayedGraph()
    graph.update(cpu_update_input=[{}])
    with pytest.raises(RuntimeError, match="without a capture"):
        graph.replay()


def test_a_capture_that_is_not_understood_names_its_function() -> None:
    def otherwise() -> None:
        with Capture(ReplayedGraph()):
            pass

    with pytest.raises(UnsupportedReleaseError, match="otherwise names neither run_once_fn nor forward_fn"):
        otherwise()


def test_an_error_inside_a_capture_comes_out() -> None:
    def broken() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        captured(broken)

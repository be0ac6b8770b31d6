"""Graphs replay what was computed during their capture, on the memory that was captured."""

from types import SimpleNamespace
from typing import Any

import pytest

pytestmark = pytest.mark.emulated
torch = pytest.importorskip("torch")

from patchtool.emulation.install import without_torch_modes  # noqa: E402
from patchtool.emulation.serving.graph import ReplayedGraph, capture  # noqa: E402
from patchtool.emulation.testing import MismatchError  # noqa: E402
from patchtool.emulation.upstream import UnsupportedReleaseError  # noqa: E402


def captured(function: Any) -> tuple[ReplayedGraph, Any]:
    graph = ReplayedGraph()
    with capture(graph, pool=None, stream=None):
        out = function()
    return graph, out


def replay(graph: ReplayedGraph) -> None:
    graph.update(cpu_update_input=[{}])
    graph.replay()


def test_replay_reads_and_writes_the_memory_of_the_capture() -> None:
    buffer = torch.tensor([1.0])
    graph, out = captured(lambda: SimpleNamespace(logits=buffer * 2, nothing=None))
    logits = out.logits
    buffer.fill_(21)
    replay(graph)
    assert out.logits is logits
    assert logits.tolist() == [42]


@pytest.mark.parametrize("rebind", ["attribute", "data", "set_", "list"])
def test_replay_does_not_see_a_buffer_that_was_rebound(rebind: str) -> None:
    backend = SimpleNamespace(buffer=torch.tensor([1.0]), buffers=[torch.tensor([10.0])])
    graph, out = captured(lambda: backend.buffer + backend.buffers[0])
    captured_buffer, new = backend.buffer.detach(), torch.tensor([2.0])
    if rebind == "attribute":
        backend.buffer = new
    elif rebind == "list":
        backend.buffers[0] = new
    elif rebind == "data":
        backend.buffer.data = new
    else:
        backend.buffer.set_(new)
    replay(graph)
    assert out.tolist() == [11]
    captured_buffer.fill_(5)
    replay(graph)
    assert out.tolist() == [15]


def test_replay_runs_no_python() -> None:
    host = SimpleNamespace(runs=0, factor=2)
    buffer = torch.tensor([1.0])

    def forward() -> Any:
        host.runs += 1
        return buffer * host.factor

    graph, out = captured(forward)
    host.factor = 100
    replay(graph)
    assert (host.runs, out.tolist()) == (1, [2])


@pytest.mark.parametrize("inference", [False, True])
def test_replay_repeats_views_allocations_and_writes_in_place(inference: bool) -> None:
    pool, index, rows = torch.zeros(4, 2), torch.tensor([1, 3]), torch.ones(2, 2)

    def forward() -> Any:
        total = torch.zeros(2)
        total += rows.view(-1)[:2]
        pool[index] = rows + total
        out = torch.empty(2)
        out[:] = pool.transpose(0, 1)[:, 3]
        return out, rows.view(4)

    with torch.inference_mode(inference):
        graph, (out, view) = captured(forward)
    index.copy_(torch.tensor([0, 3]))
    rows.fill_(5)
    replay(graph)
    replay(graph)
    assert pool.tolist() == [[10, 10], [2, 2], [0, 0], [10, 10]]
    assert (out.tolist(), view.tolist()) == ([10, 10], [5] * 4)


def test_kernel_is_replayed_as_a_whole() -> None:
    @without_torch_modes
    def fill(rows: Any, lengths: Any) -> Any:
        for row, length in zip(rows, lengths.tolist(), strict=True):
            row[:length] = length
        return rows.sum()

    rows, lengths = torch.zeros(2, 3), torch.tensor([1, 2])
    graph, total = captured(lambda: fill(rows, lengths))
    lengths.copy_(torch.tensor([3, 1]))
    rows.zero_()
    replay(graph)
    assert (rows.tolist(), total.item()) == ([[3, 3, 3], [1, 0, 0]], 10)


def test_operator_of_a_library_is_not_captured() -> None:
    library = torch.library.Library("patchtool_test", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
    twice = torch.ops.patchtool_test.twice

    with pytest.raises(UnsupportedReleaseError, match="captures patchtool_test::twice in a graph"):
        captured(lambda: twice(torch.tensor([1.0])))


@pytest.mark.parametrize(
    ("wait", "name"),
    [
        (lambda x: x.item(), "item"),
        (lambda x: x[x > 0], "a boolean mask as an index"),
        (lambda x: x.nonzero(), "nonzero"),
        (bool, "__bool__"),
    ],
)
def test_capture_in_which_the_host_waits_fails(wait: Any, name: str) -> None:
    x = torch.tensor([1.0])
    with pytest.raises(MismatchError, match=f"while a graph is captured: .*{name}"):
        captured(lambda: wait(x))


def test_replay_without_capture_raises() -> None:
    with pytest.raises(RuntimeError, match="without a capture"):
        replay(ReplayedGraph())


def test_error_inside_capture_propagates_and_ends_it() -> None:
    def broken() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        captured(broken)
    x = torch.tensor([1.0])
    graph, out = captured(lambda: x + 1)
    replay(graph)
    assert out.tolist() == [2]

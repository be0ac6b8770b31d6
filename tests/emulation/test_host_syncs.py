"""Every way in which a value of a tensor reaches Python is counted, and nothing else is."""

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.emulated

WAITING: dict[str, Callable[[Any], object]] = {
    "item": lambda x: x.sum().item(),
    "tolist": lambda x: x.tolist(),
    "bool": lambda x: bool(x.any()),
    "if": lambda x: 1 if x.sum() > 3 else 2,
    "not": lambda x: not x.any(),
    "and": lambda x: x.any() and True,
    "while": lambda x: [None for _ in range(1) if x[0]],
    "int": lambda x: int(x[0]),
    "float": lambda x: float(x[0]),
    "range": lambda x: range(x[1]),
    "list index": lambda x: [1, 2, 3][x[1]],
    "max": lambda x: max(x[0], x[1]),
    "in": lambda x: 3 in x,
    "mask": lambda x: x[x > 1],
    "mask among indices": lambda x: x[None][:, x > 1],
    "assignment to a mask": lambda x: x.__setitem__(x > 1, x[:1]),
    "nonzero": lambda x: x.nonzero(),
    "torch.nonzero": lambda x: torch.nonzero(x, as_tuple=True),
    "where": lambda x: torch.where(x > 1),
    "argwhere": lambda x: torch.argwhere(x),
    "masked_select": lambda x: torch.masked_select(x, x > 1),
    "unique": lambda x: x.unique(),
    "torch.unique": lambda x: torch.unique(x),
    "cpu": lambda x: x.cpu(),
    "to": lambda x: x.to("cpu"),
    "to a device": lambda x: x.to(device=torch.device("cpu")),
    "numpy": lambda x: x.numpy(),
    "asarray": lambda x: __import__("numpy").asarray(x),
    "equal": lambda x: torch.equal(x, x),
    "allclose": lambda x: torch.allclose(x, x),
    "repr": repr,
    "str": str,
    "format": lambda x: f"{x[0]}",
}
FREE: dict[str, Callable[[Any], object]] = {
    "comparison": lambda x: x > 1,
    "any": lambda x: x.any(),
    "indices": lambda x: x[torch.tensor([0, 1])],
    "slice": lambda x: x[1:],
    "where of three": lambda x: torch.where(x > 1, x, 0),
    "masked_fill": lambda x: x.masked_fill(x > 1, 0),
    "shape": lambda x: (x.shape, len(x), x.numel(), x.dtype),
    "to a type": lambda x: x.to(torch.float32),
    "copy": lambda x: x.clone().copy_(x),
}


def counted(function: Callable[[Any], object]) -> int:
    from patchtool.emulation.host_syncs import HostSyncs

    with HostSyncs() as syncs:
        function(torch.tensor([2, 1, 3]))
    return int(syncs.calls.total())


@pytest.mark.parametrize("name", WAITING)
def test_value_that_reaches_the_host_is_counted(name: str) -> None:
    assert counted(WAITING[name]) >= 1


@pytest.mark.parametrize("name", FREE)
def test_work_of_the_device_alone_is_not_counted(name: str) -> None:
    assert counted(FREE[name]) == 0

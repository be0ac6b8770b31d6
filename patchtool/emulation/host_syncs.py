"""Counting the places where a value of the device reaches the host, which then waits for the device.

The emulated device is the CPU, where nothing waits; what is counted is what would wait on hardware.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_VALUES = (
    "__array__",
    "__bool__",
    "__complex__",
    "__contains__",
    "__float__",
    "__format__",
    "__index__",
    "__int__",
    "__repr__",
    "__str__",
    "allclose",
    "cpu",
    "equal",
    "is_nonzero",
    "item",
    "numpy",
    "tolist",
)
"""Methods of a tensor that give its values to Python."""
_SIZES = ("argwhere", "masked_select", "nonzero", "unique", "unique_consecutive")
"""Operators whose result has as many elements as its input has certain values, so that the host must know how many."""
_INDEXING = (torch.Tensor.__getitem__, torch.Tensor.__setitem__)
_FUNCTIONS = {
    function: name
    for name in (*_VALUES, *_SIZES)
    for function in (getattr(torch.Tensor, name, None), getattr(torch, name, None))
    if function is not None
}


class HostSyncs(TorchFunctionMode):  # type: ignore[misc]
    """Counts calls that make a host wait for its device, by the name of the call.

    Attributes:
        calls: How often each was called.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run ``func``, and count it if it waits."""
        if name := _waits(func, args, kwargs or {}):
            self.calls[name] += 1
        return func(*args, **(kwargs or {}))


def _waits(func: Any, args: Any, kwargs: Any) -> str:
    """The name under which a call is counted; empty for one that does not wait."""
    if func in _FUNCTIONS:
        return _FUNCTIONS[func]
    if func in (torch.where, torch.Tensor.where) and len(args) + len(kwargs) == 1:
        return "nonzero"
    if func is torch.Tensor.to and any(_names_cpu(each) for each in (*args[1:], kwargs.get("device"))):
        return "cpu"
    if func in _INDEXING and _has_mask(args[1]):
        return "a boolean mask as an index"
    return ""


def _names_cpu(device: Any) -> bool:
    return (isinstance(device, str) and device == "cpu") or (isinstance(device, torch.device) and device.type == "cpu")


def _has_mask(index: Any) -> bool:
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(part, torch.Tensor) and part.dtype in (torch.bool, torch.uint8) for part in parts)
